// The order of passes that a plan asks for, whichever way it names it: a schedule of the table, a .csv file of its own,
// or "automatic". Everything that wants to know about a plan's schedule asks here.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "workloads/plan.hpp"
#include "workloads/schedule.hpp"

namespace stepsim {

using StageBlocks = std::vector<std::vector<int>>;  // [stage] block indices

// One answer to a plan that leaves its passes to stepsim.
struct PassPlan {
  Schedule schedule;
  StageBlocks stage_blocks;
  std::string origin;  // "automatic", or the schedule of the table that nothing found was better than
};

inline constexpr std::string_view kAutomatic = "automatic";

// What `schedule:` may say, with a line about each: the table's names, "automatic", and a file.
std::vector<std::pair<std::string, std::string>> schedule_choices();

bool names_a_file(std::string_view schedule);  // ends in .csv

// Whether the passes must still be looked for: "automatic", and nothing has been found yet.
bool is_automatic(const ParallelPlan& plan);
// Whether the plan names a schedule at all: not so for a misspelt name, or a file that could not be read.
bool has_schedule(const ParallelPlan& plan);

// Why the plan's schedule cannot run on its pipeline with so many microbatches: the plan's key to blame, and what is
// wrong with it. The plan must have a schedule. Of "automatic" nothing is known before model and cluster are.
std::vector<std::pair<std::string, std::string>> shape_problems(const ParallelPlan& plan, int microbatches);

// The passes. There must be no shape problems, and the plan must not be automatic.
Schedule schedule_of(const ParallelPlan& plan, int microbatches);

// Copies of each stage's parameters in the pipeline: 2 where microbatches run in both directions.
int copies_of(const ParallelPlan& plan);

// Whether one rank holds the first and the last stage: without a pipeline, and where it bends back to where it began.
bool ends_meet(const ParallelPlan& plan);

bool has_pairs(const Schedule& schedule);

}  // namespace stepsim
