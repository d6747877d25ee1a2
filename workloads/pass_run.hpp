// A pass of a pipeline rank as a list of steps, while its program is being written. Inside make_step.
#pragma once

#include <cstdint>
#include <vector>

#include "workloads/step_parts.hpp"

namespace stepsim {

using Ops = OpList;  // indices of ops

// One segment of a pass, with the block it belongs to.
struct PassStep {
  const Segment* segment;
  int segment_index;   // in its block's list
  int block;
  bool first, last;    // of its block
  double planned = 0;  // seconds, as planned
  double tail = 0;     // seconds from its start to the end of the pass along the longest chain, as planned
};

// Every microbatch takes the same.
std::vector<PassStep> steps_of_pass(const StepContext& context, PassKind kind, int stage);

struct PassRun {
  Pass pass;
  int stage = 0;
  const std::vector<PassStep>& steps;
  std::size_t next = 0;
  std::int32_t last_compute = -1;
  Ops waits = {};                                // the next compute op waits for these
  std::vector<std::int32_t> op_of_segment = {};  // collectives of the current block
  Ops open = {};                                 // collectives that nothing has waited for yet, in order

  bool finished() const { return next >= steps.size(); }
};

}  // namespace stepsim
