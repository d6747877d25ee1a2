// Inside make_step: ranks, links and groups of the step's graph, and what the groups' calls put on the wires.
#pragma once

#include <vector>

#include "sim/cluster/cluster.hpp"
#include "sim/collective/algorithm.hpp"
#include "sim/graph/step_graph.hpp"
#include "workloads/grid.hpp"
#include "workloads/replicas.hpp"
#include "workloads/step.hpp"
#include "workloads/step_experts.hpp"
#include "workloads/step_parts.hpp"

namespace stepsim {

// Whose groups are the lists of one kind.
struct SlotGroups {
  Slot slot;
  Dimension dimension;
  std::size_t kind;
};
struct GroupKinds {
  std::vector<RankLists> lists;  // [kind] each list of ranks is a group
  std::vector<SlotGroups> slots;
};

struct GroupInputs {
  const ClusterSpec& cluster;
  const ClusterSpec& planned_on;  // "auto" algorithms are chosen on it
  Detail detail;
  const Grid& grid;
  const Book& book;
  ExpertPlaces& experts;
  const std::vector<Channel>& channels;
  const GroupKinds& groups;
  const std::vector<std::int32_t>& program;  // [rank]
};

// Adds all but programs and labels; the graph must have its programs. With Replicas::one replicas that nothing can tell
// apart are left out where that is exact. Returns [rank] its rank in the graph. Throws InputError when detail flow makes
// too many messages.
std::vector<RankId> add_ranks_and_groups(const GroupInputs& inputs, Replicas replicas, StepGraph& graph);

}  // namespace stepsim
