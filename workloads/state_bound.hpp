// What the collectives of parameters and gradients need at least. Part of StepBound.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "workloads/group_bound.hpp"
#include "workloads/layers.hpp"
#include "workloads/plan.hpp"

namespace stepsim {

// How a plan's states lie.
struct StateLayout {
  int copies = 1;  // of each stage's parameters in the pipeline
  int dense_replicas = 1, expert_replicas = 1;  // ranks that hold the same, copies included
  int dense_shards = 1, expert_shards = 1;      // ranks over which states are cut
};

// Seconds a parameter, of a kind of collective: one after another, and [tier] through a port of a rank, mean.
struct StateCost {
  double dense = 0, expert = 0;
  std::vector<double> dense_wires, expert_wires;
};

class StateBounds {
 public:
  // `experts`: whether the model has some.
  StateBounds(const ClusterSpec& cluster, bool experts) : cluster_(cluster), experts_(experts), groups_(cluster) {}

  StateLayout layout_of(const ParallelPlan& plan);
  // A gradient reduction, a parameter gather, as ProgramBuilder writes them.
  StateCost reduction(const ParallelPlan& plan, const StateLayout& layout);
  StateCost gather(const ParallelPlan& plan, const StateLayout& layout);

 private:
  int shards(const ParallelPlan& plan, bool expert, int copies, int replicas);
  RankLists lists(const ParallelPlan& plan, bool expert, int copies) const;
  // Shard groups or, with `across`, the ranks of equal place in them.
  const GroupBound& call(const ParallelPlan& plan, bool expert, int copies, int shards, bool across, Operation operation,
                         const std::string& algorithm);

  const ClusterSpec& cluster_;
  bool experts_;
  GroupBounds groups_;
  std::map<std::string, int> shards_;
};

}  // namespace stepsim
