// Which ranks hold the same parameters, and over which of them a state is cut.
#pragma once

#include <vector>

#include "sim/cluster/cluster.hpp"
#include "workloads/grid.hpp"
#include "workloads/plan.hpp"

namespace stepsim {

using RankLists = std::vector<std::vector<RankId>>;

// Ranks that hold the same dense parameters, the same experts. With two copies of each stage in the pipeline the lists of
// the two ranks that hold them are joined.
RankLists dense_lists(const Grid& grid, int copies);
RankLists expert_lists(const Grid& grid, int copies);

// Ranks over which a state that `lists` of ranks hold alike is cut. "node": those of a list that share a node.
int shard_degree(const ParallelPlan& plan, const ClusterSpec& cluster, const RankLists& lists);

// Cuts every list into runs of `length` (the shard groups) or, with `across`, into the ranks of equal place in the runs.
RankLists cut(const RankLists& lists, std::size_t length, bool across);

}  // namespace stepsim
