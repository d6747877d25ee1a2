// Which blocks of the model (0: embedding, 1..layers, layers + 1: head) each pipeline stage holds.
#pragma once

#include <vector>

#include "workloads/layers.hpp"
#include "workloads/plan.hpp"

namespace stepsim {

// As the plan's stage_layers says, the embedding before the first stage's layers and the head after the last one's; or,
// for "auto", the contiguous split whose slowest stage is fastest by `block_seconds` (forward and backward of each
// block) and, among those, the most even one (least sum of squares). Every stage gets at least one block.
std::vector<std::vector<int>> split_into_stages(const ParallelPlan& plan, int stages,
                                                const std::vector<double>& block_seconds);

}  // namespace stepsim
