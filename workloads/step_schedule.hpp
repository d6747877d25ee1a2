// Inside make_step: which passes a plan runs, with the times that whoever plans them expects.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "workloads/memory.hpp"
#include "workloads/plan_schedule.hpp"
#include "workloads/schedule_times.hpp"
#include "workloads/step_parts.hpp"

namespace stepsim {

// As planned: of each stage, the compute of a pass and the collectives it waits for (blocking ones); of a message, that
// it has its links to itself. `seconds_of_message` comes from outside, where messages have their places.
PassTimes planned_times(const StepContext& context, const StageBlocks& stage_blocks, double seconds_of_message);

// The passes of a plan that leaves them to stepsim: of all schedules that automatic_schedule() and the table offer for
// this pipeline, the one that ends first by planned_times() of those that fit into the GPU's memory; where none fits,
// the one that needs least memory. Schedules with two copies of a stage are not looked at. Behind the best stand those
// that are planned to be nearly as fast (at most eight in all): which is best by simulation is for the caller to see.
//
// virtual_stages 1 leaves the number of stages a rank holds (at most 4) to the search; a larger number is the most.
std::vector<PassPlan> automatic_passes(const StepContext& context, int microbatches, double seconds_of_message,
                          const std::function<StageBlocks(int stages)>& split);

}  // namespace stepsim
