#include "workloads/replicas.hpp"

#include <algorithm>
#include <map>

namespace stepsim {
namespace {

// In a bidirectional pipeline ranks p and P - 1 - p hold the same two stages: their lists are joined.
RankLists join_mirrored(const RankLists& lists, const Grid& grid, int copies) {
  if (copies == 1) return lists;
  std::map<std::vector<int>, std::vector<RankId>> joined;
  for (const auto& list : lists) {
    const Place& p = grid.place[list[0]];
    const int pair = std::min(p.pipeline, grid.pipeline - 1 - p.pipeline);
    auto& members = joined[{pair, p.tensor, p.expert, p.expert_tensor}];
    members.insert(members.end(), list.begin(), list.end());
  }
  RankLists out;
  for (auto& [key, members] : joined) out.push_back(std::move(members));
  return out;
}

}  // namespace

RankLists cut(const RankLists& lists, std::size_t length, bool across) {
  RankLists out;
  for (const auto& list : lists) {
    const std::size_t runs = list.size() / length;
    const std::size_t n = across ? length : runs;
    for (std::size_t i = 0; i < n; ++i) {
      auto& group = out.emplace_back();
      for (std::size_t j = 0; j < (across ? runs : length); ++j) group.push_back(across ? list[j * length + i] : list[i * length + j]);
    }
  }
  return out;
}

// Dense lists do not fix the expert digits: joining must not tell them apart.
RankLists dense_lists(const Grid& grid, int copies) {
  Grid plain = grid;
  for (Place& p : plain.place) p.expert = p.expert_tensor = 0;
  return join_mirrored(groups_by(plain, dense_replicas_key), plain, copies);
}

RankLists expert_lists(const Grid& grid, int copies) {
  Grid plain = grid;
  for (Place& p : plain.place) p.tensor = 0;
  return join_mirrored(groups_by(plain, expert_replicas_key), plain, copies);
}

int shard_degree(const ParallelPlan& plan, const ClusterSpec& cluster, const RankLists& lists) {
  if (plan.parallel.zero == 0) return 1;
  const std::vector<RankId>& list = lists[0];
  const auto on_first_node = std::count_if(list.begin(), list.end(), [&](RankId r) { return cluster.node_of(r) == cluster.node_of(list[0]); });
  const auto all = static_cast<int>(list.size());
  if (plan.parallel.zero_group == 0) return all;
  return plan.parallel.zero_group == -1 ? static_cast<int>(on_first_node) : std::min(plan.parallel.zero_group, all);
}

}  // namespace stepsim
