// Facts in the free text beside a run.
#pragma once

#include <string>

#include "workloads/published/translation.hpp"

namespace stepsim {

struct RunFacts {
  bool tensor_overlap = false;       // tensor parallelism moves under the products that need it (user buffers)
  bool tensor_overlap_stated = false;
  bool reduce_overlap = false, no_reduce_overlap = false, only_reduce_overlap = false;
  bool embedding_counts = false;     // as a layer where layers are given to stages
  bool context_all_to_all = false;
  bool multi_token_prediction = false;  // of one layer, as DeepSeek-V3's
  bool packed_rows = false;          // tokens go to experts by NCCL's all-to-all (Megatron-Core's alltoall dispatcher)
  bool fp8_parameters = false;
  bool expert_overlap = false;       // dispatch and combine beside compute
  bool fused_loss = false;           // the cross-entropy is one kernel
};

// What no phrase of the table knows is left aside: notes are prose. Facts that cannot be simulated become problems or
// are listed as not understood.
RunFacts facts_of(const std::string& notes, Translation& out);

}  // namespace stepsim
