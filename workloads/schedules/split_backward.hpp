// What ZB-H1 and ZB-H2 share: 1F1B whose backward pass is split, with weight gradients put off.
#pragma once

#include "workloads/schedule.hpp"

namespace stepsim {

struct SplitRank {
  int warm_up = 0;  // forward passes before the first forward/input-gradient turn
  int delay = 0;    // input gradients by which a weight gradient comes later than its own
};

// One forward pass, one input gradient, and the weight gradient of `delay` turns ago; what is put off ends the step.
std::vector<Pass> split_backward_passes(const SplitRank& rank, int microbatches);

}  // namespace stepsim
