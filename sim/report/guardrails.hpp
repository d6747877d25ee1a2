// Warnings where a reader of the report could be fooled.
#pragma once

#include <string>
#include <vector>

#include "sim/report/report.hpp"

namespace stepsim {

// From the graph and the numbers: wires that carry nothing, memory that overflows, latency that dominates, rooflines
// longer than the step, utilisations above 1.
std::vector<std::string> guardrails(const StepGraph& graph, const CallIndex& calls, const Report& report);

// From memory alone: a plan that fits, and leaves no room for what stands beside it.
std::vector<std::string> memory_guardrails(const Report& report);

// From the verdict: where simulation and roofline disagree, and where neither side clearly wins.
std::vector<std::string> verdict_guardrails(const Report& report);

}  // namespace stepsim
