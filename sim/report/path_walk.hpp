// The events that made the step as long as it is.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/graph/step_graph.hpp"
#include "sim/graph/timeline.hpp"
#include "sim/report/chain.hpp"

namespace stepsim {

struct PathStep {
  std::size_t rank = 0;  // of the graph
  std::int32_t op = -1;  // -1: a gap, in which nothing that was waited for ran (no engine leaves one)
  double begin = 0, end = 0;
};

// From the first to the last, each beginning where the one before ends, the last ending with the step: walked back from
// the event that ended last. The path enters a call with the member that was ready last (on a tie it stays on its
// rank), and leaves an event for the op that it waited for on its own rank.
std::vector<PathStep> walk_path(const StepGraph& graph, const Timeline& timeline, const StepIndex& index);
inline std::vector<PathStep> walk_path(const StepGraph& graph, const Timeline& timeline) { return walk_path(graph, timeline, StepIndex(graph)); }

// What limits a call that starts at `time` (s) when it has its links to itself: the wire that its slowest part uses, and
// the latency that this part pays first.
struct CallLimit {
  int tier = -1;  // of the graph; -1: that part is a closed form that names no link
  double latency = 0;  // s
};
CallLimit limit_of(const StepGraph& graph, const Pattern& pattern, double payload, double time);

}  // namespace stepsim
