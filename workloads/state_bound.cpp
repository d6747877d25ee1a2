#include "workloads/state_bound.hpp"

#include <fmt/format.h>

#include <array>

#include "workloads/grid.hpp"
#include "workloads/plan_schedule.hpp"

namespace stepsim {
namespace {

// Where the replicas of a parameter stand follows from the places of these digits alone, as Grid counts ranks.
std::string where(const ParallelPlan& plan, bool expert, int copies) {
  const Parallel& p = plan.parallel;
  const int data = expert ? p.data * p.tensor * p.context / (p.expert * p.expert_tensor) : p.data;
  std::string key = fmt::format("{} {}", expert ? "expert" : "dense", copies);
  int stride = 1;
  for (const Axis axis : p.order) {
    int size = 1;
    switch (axis) {
      case Axis::tensor: size = expert ? p.expert_tensor : p.tensor; break;
      case Axis::context: size = expert ? 1 : p.context; break;
      case Axis::expert: size = expert ? p.expert : 1; break;
      case Axis::data: size = data; break;
      case Axis::pipeline: size = p.pipeline; break;
    }
    const bool tells = axis == Axis::tensor || axis == Axis::pipeline || axis == Axis::expert;
    if (tells && size > 1) key += fmt::format(" {}{}x{}", to_text(axis)[0], stride, size);
    stride *= size;
  }
  return key;
}

// Seconds a parameter of `bytes`.
void add(double& seconds, std::vector<double>& wires, const GroupBound& call, double bytes) {
  seconds += call.seconds_per_byte * bytes;
  wires.resize(call.port.size(), 0);
  for (std::size_t t = 0; t < wires.size(); ++t) wires[t] += call.port[t] * bytes;
}

}  // namespace

RankLists StateBounds::lists(const ParallelPlan& plan, bool expert, int copies) const {
  const Grid grid = make_grid(plan, cluster_.ranks());
  return expert ? expert_lists(grid, copies) : dense_lists(grid, copies);
}

int StateBounds::shards(const ParallelPlan& plan, bool expert, int copies, int replicas) {
  if (plan.parallel.zero == 0) return 1;
  if (plan.parallel.zero_group == 0) return replicas;
  const auto [it, fresh] = shards_.try_emplace(fmt::format("{} {}", where(plan, expert, copies), plan.parallel.zero_group));
  if (fresh) it->second = shard_degree(plan, cluster_, lists(plan, expert, copies));
  return it->second;
}

StateLayout StateBounds::layout_of(const ParallelPlan& plan) {
  const Parallel& p = plan.parallel;
  StateLayout layout;
  layout.copies = copies_of(plan);
  layout.dense_replicas = p.data * p.context * layout.copies;
  layout.expert_replicas = cluster_.ranks() / (p.expert_tensor * p.expert * p.pipeline) * layout.copies;
  layout.dense_shards = shards(plan, false, layout.copies, layout.dense_replicas);
  layout.expert_shards = shards(plan, true, layout.copies, layout.expert_replicas);
  return layout;
}

const GroupBound& StateBounds::call(const ParallelPlan& plan, bool expert, int copies, int shards, bool across, Operation operation,
                                    const std::string& algorithm) {
  const std::string key = fmt::format("{} / {} {}", where(plan, expert, copies), shards, across);
  if (const GroupBound* known = groups_.find(key, operation, algorithm, {})) return *known;
  return groups_.of(key, cut(lists(plan, expert, copies), static_cast<std::size_t>(shards), across), operation, algorithm, {});
}

StateCost StateBounds::reduction(const ParallelPlan& plan, const StateLayout& layout) {
  StateCost cost;
  const double bytes = bytes_per_element(plan.precision.reduce);
  for (const bool expert : {false, true}) {
    double& seconds = expert ? cost.expert : cost.dense;
    std::vector<double>& wires = expert ? cost.expert_wires : cost.dense_wires;
    const int replicas = expert ? layout.expert_replicas : layout.dense_replicas;
    const int shards = expert ? layout.expert_shards : layout.dense_shards;
    wires.assign(cluster_.tiers.size(), 0);
    if (replicas <= 1 || (expert && !experts_)) continue;
    const bool sharded = plan.parallel.zero > 0 && shards > 1;
    const Algorithms& a = plan.collectives;
    if (sharded) add(seconds, wires, call(plan, expert, layout.copies, shards, false, Operation::reduce_scatter, a.reduce_scatter), bytes);
    if ((sharded ? replicas / shards : replicas) <= 1) continue;
    add(seconds, wires, call(plan, expert, layout.copies, shards, true, Operation::all_reduce, a.all_reduce), sharded ? bytes / shards : bytes);
  }
  return cost;
}

StateCost StateBounds::gather(const ParallelPlan& plan, const StateLayout& layout) {
  StateCost cost;
  const double bytes = bytes_per_element(plan.precision.gather);
  for (const bool expert : {false, true}) {
    std::vector<double>& wires = expert ? cost.expert_wires : cost.dense_wires;
    const int shards = expert ? layout.expert_shards : layout.dense_shards;
    wires.assign(cluster_.tiers.size(), 0);
    if (shards <= 1 || (expert && !experts_)) continue;
    add(expert ? cost.expert : cost.dense, wires,
        call(plan, expert, layout.copies, shards, false, Operation::all_gather, plan.collectives.all_gather), bytes);
  }
  return cost;
}

}  // namespace stepsim
