// What reports say about memory: of a simulated step, or of a plan by itself.
#pragma once

#include <vector>

#include "sim/inputs.hpp"
#include "sim/report/report.hpp"
#include "workloads/memory.hpp"
#include "workloads/schedule.hpp"

namespace stepsim {

// Fills in the facts about memory. pipeline_ranks: [rank of the report] which pipeline rank it is.
void add_memory(StepFacts& facts, const Inputs& inputs, const Schedule& schedule, const std::vector<MemoryUse>& memory,
                const std::vector<int>& pipeline_ranks);

// A report that knows names and memory only, a row a pipeline rank; nothing is simulated. With the changes that would make
// the plan fit where it does not.
Report memory_report(const Inputs& inputs);

}  // namespace stepsim
