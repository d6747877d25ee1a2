// Which rank sits where: the digits of a rank in the dense and in the expert grid, and the groups that follow.
//
// The dense grid has the digits tensor, context, data, pipeline; the expert grid expert_tensor, expert, expert_data,
// pipeline. Both count the same ranks in the plan's order, fastest digit first; expert parallelism is carved out of the
// ranks that the dense grid calls tensor, context and data (as Megatron does).
#pragma once

#include <array>
#include <vector>

#include "sim/graph/step_graph.hpp"
#include "workloads/plan.hpp"

namespace stepsim {

struct Place {  // of a rank
  int tensor = 0, context = 0, data = 0;
  int expert_tensor = 0, expert = 0, expert_data = 0;
  int pipeline = 0;

  bool operator==(const Place&) const = default;
};

struct Grid {
  int world = 0;
  int tensor = 1, context = 1, data = 1, pipeline = 1;
  int expert_tensor = 1, expert = 1, expert_data = 1;
  std::vector<Place> place;  // [rank]

  // Whether both grids agree on the pipeline digit of every rank.
  bool pipelines_agree = true;

  // [pipeline rank] its ranks, in the order in which they stand; those of equal place send to each other.
  std::vector<std::vector<RankId>> by_pipeline() const;
};

// `plan` must be resolved (data filled in) and its degrees must divide the world.
Grid make_grid(const ParallelPlan& plan, int world);

// Which digits tell groups apart, zeros after them: ranks that agree in all of these form a group.
using GroupDigits = std::array<int, 3>;
using GroupKey = GroupDigits (*)(const Place&);
std::vector<std::vector<RankId>> groups_by(const Grid& grid, GroupKey key);  // in the order of their first ranks
std::vector<RankId> group_of_first(const Grid& grid, GroupKey key);          // the one with rank 0

GroupDigits tensor_key(const Place&);
GroupDigits context_key(const Place&);
GroupDigits expert_key(const Place&);
GroupDigits expert_tensor_key(const Place&);
GroupDigits dense_replicas_key(const Place&);   // data x context: who holds the same dense parameters
GroupDigits expert_replicas_key(const Place&);  // expert_data: who holds the same experts

}  // namespace stepsim
