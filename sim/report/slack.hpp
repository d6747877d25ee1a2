// Slack: how long an event could grow without moving the end of the step.
#pragma once

#include <vector>

#include "sim/graph/step_graph.hpp"
#include "sim/graph/timeline.hpp"
#include "sim/report/chain.hpp"

namespace stepsim {

// [rank of the graph][op] seconds: the latest end that delays nothing, less the end (the total float of the critical
// path method, Kelley and Walker 1959). Every other event keeps the duration that it had: what a longer transfer would
// take from others on the same wires is not in it. A call has one slack, that of the member whose followers have least.
std::vector<std::vector<double>> slack_of(const StepGraph& graph, const Timeline& timeline, const StepIndex& index);
inline std::vector<std::vector<double>> slack_of(const StepGraph& graph, const Timeline& timeline) {
  return slack_of(graph, timeline, StepIndex(graph));
}

// Slack up to rounding: the end of the step depends on the event.
inline bool is_critical(double slack, const Timeline& timeline) {
  return slack <= 1e-9 * timeline.end;
}

}  // namespace stepsim
