// The parts of read_plan that need more than a line a key. Internal to plan.cpp.
#pragma once

#include "workloads/plan.hpp"

namespace stepsim {

// Far above any cluster; the product of three such numbers still fits an int64.
inline constexpr int kMostRanks = 1'000'000;

void read_parallel(Fields& top, Parallel& parallel);
// A .csv file is looked for beside the plan's file (named by --set: in the current folder) and read; what is wrong in it
// are problems of that file.
void read_schedule(Reading& reading, Fields& top, std::string& schedule, std::optional<Schedule>& passes);
void read_stage_layers(Fields& top, std::vector<int>& stage_layers);
void read_precisions(Fields& top, Precisions& precision);
// Recorded counts are read from a file beside the plan's: routing.balance is a path relative to the plan's folder.
void read_routing(Reading& reading, Fields& top, Routing& routing);
void read_recompute(Fields& top, Recompute& recompute);

}  // namespace stepsim
