// How ops refer to groups and patterns, and which calls of a group's members meet.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "sim/graph/step_graph.hpp"
#include "sim/graph/timeline.hpp"
#include "sim/report/intervals.hpp"

namespace stepsim {

inline constexpr std::string_view kPointToPoint = "point_to_point";

inline const Program& program_of(const StepGraph& graph, std::size_t rank) {
  return graph.programs[static_cast<std::size_t>(graph.ranks[rank].program)];
}

// Of a transfer op on `rank`.
inline const Group& group_of(const StepGraph& graph, std::size_t rank, const OpView& op) {
  return graph.groups[static_cast<std::size_t>(graph.ranks[rank].slots[static_cast<std::size_t>(op.slot)])];
}
inline const Pattern& pattern_of(const Group& group, const OpView& op) {
  return group.patterns[static_cast<std::size_t>(op.pattern)];
}

// What a transfer is for: its own tag, else its group's.
inline Dimension dimension_of(const Group& group, const OpView& op) {
  return op.tags.dimension != Dimension::none ? op.tags.dimension : group.dimension;
}

// The n-th call of a slot, for every program. Kept by program, not by rank: ranks share programs.
class CallIndex {
 public:
  explicit CallIndex(const StepGraph& graph);

  // Ops of the program that are calls on the slot, in order.
  const std::vector<std::int32_t>& calls(std::int32_t program, std::int32_t slot) const;
  // Which of its slot's calls a transfer op is.
  std::int32_t number_of(std::int32_t program, std::int32_t op) const;

 private:
  std::vector<std::vector<std::vector<std::int32_t>>> calls_;  // [program][slot] -> ops
  std::vector<std::vector<std::int32_t>> number_;              // [program][op]
};

// Payload bytes of all calls of a group, summed for each of its patterns.
std::vector<double> payload_of(const StepGraph& graph, const CallIndex& index, const Group& group);

// Bytes that each link carries over a step. A folded group's legs on a representative link stand for all real groups
// that cross that real link, so each group counts once. Where routes changed, what the engine noted.
std::vector<double> link_bytes(const StepGraph& graph, const Timeline& timeline);

// What a rank does when.
struct Activity {
  Intervals compute;  // ops of kind compute on stream 0
  Intervals moving;   // at least one transfer between start and end
  Intervals waiting;  // at least one collective between ready and start; a posted point-to-point call does not count:
                      // it is ready from the beginning, and waiting for a pipeline message is bubble
};
Activity activity_of(const StepGraph& graph, const Timeline& timeline, std::size_t rank);
Intervals compute_of(const StepGraph& graph, const Timeline& timeline, std::size_t rank);
Intervals busy_of(const StepGraph& graph, const Timeline& timeline, std::size_t rank);  // computing or moving

}  // namespace stepsim
