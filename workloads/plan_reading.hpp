// The parts of read_plan that need more than a line a key. Internal to plan.cpp.
#pragma once

#include "workloads/plan.hpp"

namespace stepsim {

// Far above any cluster; the product of three such numbers still fits an int64.
inline constexpr int kMostRanks = 1'000'000;

void read_parallel(Fields& top, Parallel& parallel);
void read_stage_layers(Fields& top, std::vector<int>& stage_layers);
void read_precisions(Fields& top, Precisions& precision);
void read_recompute(Fields& top, Recompute& recompute);

}  // namespace stepsim
