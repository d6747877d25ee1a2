// Bytes of memory a GPU needs, by kind; the peak from the order of passes.
#pragma once

#include <vector>

#include "sim/base/units.hpp"
#include "workloads/layers.hpp"
#include "workloads/schedule.hpp"

namespace stepsim {

struct MemoryUse {
  Bytes weights, gradients, master, moments;  // after ZeRO sharding
  Bytes activations;                          // kept ones, at the peak
  Bytes transient;                            // recomputed activations, logits, at the peak
  Bytes unsharded;                            // gathered parameters and unreduced gradients in flight (ZeRO-3)
  Bytes buffers;  // communication buffers: pipeline messages in flight, dispatch and combine
  Bytes total() const { return weights + gradients + master + moments + activations + transient + unsharded + buffers; }

  bool operator==(const MemoryUse&) const = default;
};

// How many ranks share the states of dense and of expert parameters (1: not sharded), by ZeRO stage and group.
struct ShardDegrees {
  int dense = 1;   // ranks over which a ZeRO-sharded dense state is cut
  int expert = 1;  // the same for routed experts
};

// Peak use of every pipeline rank. stage_blocks[stage] lists the block indices (into `blocks`) of that model stage.
std::vector<MemoryUse> memory_of(const ParallelPlan& plan, const Schedule& schedule, const BlockList& blocks,
                                 const std::vector<std::vector<int>>& stage_blocks, const ShardDegrees& shards,
                                 const ModelSpec& model);

}  // namespace stepsim
