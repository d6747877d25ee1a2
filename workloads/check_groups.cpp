// ZeRO, collective algorithms, and where the groups of ranks come to lie on the nodes.
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>

#include "sim/collective/algorithm.hpp"
#include "workloads/check_parts.hpp"
#include "workloads/plan_schedule.hpp"
#include "workloads/replicas.hpp"
#include "workloads/schedule.hpp"

namespace stepsim {
namespace {

struct Choice {
  const char* key;
  Operation operation;
  const std::string Algorithms::*name;
};
constexpr Choice kGather{"collectives.all_gather", Operation::all_gather, &Algorithms::all_gather};
constexpr Choice kScatter{"collectives.reduce_scatter", Operation::reduce_scatter, &Algorithms::reduce_scatter};
constexpr Choice kReduce{"collectives.all_reduce", Operation::all_reduce, &Algorithms::all_reduce};
constexpr Choice kExchange{"collectives.all_to_all", Operation::all_to_all, &Algorithms::all_to_all};

// How a group lies on the nodes; unlike shape_of(), without a look at the platform, which no refusal depends on.
GroupShape spread_of(const ClusterSpec& cluster, const std::vector<RankId>& group) {
  std::map<int, int> on_node;
  for (const RankId rank : group) ++on_node[cluster.node_of(rank)];
  GroupShape shape;
  shape.size = static_cast<int>(group.size());
  shape.nodes = static_cast<int>(on_node.size());
  shape.per_node = on_node.begin()->second;
  shape.in_switch = cluster.gpu.nvls.ranks > 0;
  for (const auto& [node, count] : on_node) {
    if (count != shape.per_node) shape.per_node = 0;
  }
  return shape;
}

// A named algorithm that cannot serve one of the groups it is used for.
void check_shapes(Check& check, const std::vector<std::vector<RankId>>& groups, const char* what,
                  std::initializer_list<Choice> choices) {
  for (const Choice& choice : choices) {
    const Algorithm* algorithm = find_algorithm(choice.operation, check.plan.collectives.*choice.name);
    if (algorithm == nullptr || algorithm->refuses == nullptr) continue;
    for (const std::vector<RankId>& group : groups) {
      const char* why = group.size() > 1 ? algorithm->refuses(spread_of(check.cluster, group)) : nullptr;
      if (why == nullptr) continue;
      check.add(choice.key, fmt::format("{} cannot serve the {} groups of {} ranks: {}; write auto", algorithm->name,
                                        what, group.size(), why));
      break;
    }
  }
}

// How many members of its data-parallel group a rank has on its own node; 0 when that differs from rank to rank.
int replicas_on_a_node(const ClusterSpec& cluster, const Grid& grid) {
  std::set<int> seen;
  for (const std::vector<RankId>& group : groups_by(grid, dense_replicas_key)) {
    std::map<int, int> on_node;
    for (const RankId rank : group) ++on_node[cluster.node_of(rank)];
    for (const auto& [node, count] : on_node) seen.insert(count);
  }
  return seen.size() == 1 ? *seen.begin() : 0;
}

void check_zero_node_group(Check& check, const Grid& grid) {
  if (check.plan.parallel.zero_group != -1) return;
  const int count = replicas_on_a_node(check.cluster, grid);
  if (count == 0) {
    check.add("parallel.zero_group",
              "nodes hold different numbers of ranks of a data-parallel group; write all or a number");
  } else if (count == 1) {
    check.add("parallel.zero_group", "no two ranks of a data-parallel group share a node; write all or a number");
  }
}

}  // namespace

void check_zero(Check& check) {
  const Parallel p = resolve(check.plan, check.cluster).parallel;
  if (p.zero < 3 && !p.reshard_after_forward) {
    check.add("parallel.reshard_after_forward", "has no effect unless zero is 3; write true");
  }
  if (p.zero_group == 0) return;
  if (p.zero == 0) return check.add("parallel.zero_group", "has no effect when zero is 0; write all");
  if (p.zero_group < 0) return;
  const std::int64_t replicas = std::int64_t{p.data} * p.context;
  const std::int64_t carved = std::int64_t{p.expert} * p.expert_tensor * p.pipeline;
  const bool experts = check.model.experts.count > 0 && check.world % carved == 0;
  const std::int64_t of_expert = experts ? check.world / carved : 1;  // ranks that hold the same experts
  // Larger than what there is of the experts, the two ranks of a bidirectional pipeline counted: all of them.
  const auto allowed = [&](std::int64_t v) {
    return replicas % v == 0 && (of_expert % v == 0 || v >= of_expert * copies_of(check.plan));
  };
  if (allowed(p.zero_group)) return;
  const bool dense_fits = replicas % p.zero_group == 0;
  check.add("parallel.zero_group", fmt::format("{} does not divide the {} ranks that hold the same {}{}", p.zero_group,
                                               dense_fits ? of_expert : replicas, dense_fits ? "experts" : "parameters",
                                               nearest_values(p.zero_group, replicas, allowed)));
}

void check_algorithms(Check& check) {
  for (const Choice& choice : {kGather, kScatter, kReduce, kExchange}) {
    const std::string& name = check.plan.collectives.*choice.name;
    if (name == "auto" || find_algorithm(choice.operation, name) != nullptr) continue;
    std::vector<std::string> names{"auto"};
    for (const Algorithm& algorithm : algorithms()) {
      if (algorithm.operation == choice.operation) names.emplace_back(algorithm.name);
    }
    const std::string near = nearest(name, names);
    check.add(choice.key, fmt::format("\"{}\" is not one of {}{}", name, fmt::join(names, ", "),
                                      near.empty() ? "" : fmt::format("; did you mean {}?", near)));
  }
  if (check.plan.collectives.all_to_all == "node_limited" && check.model.experts.count == 0) {
    check.add(kExchange.key,
              fmt::format("node_limited routes tokens to experts; {} has none; write auto", check.model.name));
  }
}

void check_groups(Check& check, const Grid& grid) {
  const bool experts = check.model.experts.count > 0;
  const Parallel& p = check.plan.parallel;
  if (experts && !grid.pipelines_agree) {
    check.add(
        "parallel.order",
        "the ranks of a pipeline stage are not the same for dense layers and for experts; put pipeline first or last");
    return;
  }
  check_zero_node_group(check, grid);
  // Gradients that tensor ranks have only for their own rows are summed with sequence parallelism too.
  check_shapes(check, groups_by(grid, tensor_key), "tensor", {kReduce});
  if (p.sequence) check_shapes(check, groups_by(grid, tensor_key), "tensor", {kGather, kScatter});
  if (experts && p.expert > 1) check_shapes(check, groups_by(grid, expert_key), "expert", {kExchange});
  if (experts && p.expert_tensor > 1) {
    check_shapes(check, groups_by(grid, expert_tensor_key), "expert-tensor", {kGather, kScatter});
  }
  if (shares_embedding(check.model, check.plan) && p.pipeline > 1)
    check_shapes(check, {{0, check.cluster.ranks() - 1}}, "tied embedding", {kReduce});
  const std::initializer_list<Choice> whole{kReduce}, sharded{kGather, kScatter};
  if (p.zero_group != 0) {
    if (!check.problems.empty()) return;  // what is cut has to be sound
    const ParallelPlan plan = resolve(check.plan, check.cluster);
    const int copies = copies_of(plan);
    const auto check_states = [&](const RankLists& lists, const char* what) {
      const auto length = static_cast<std::size_t>(shard_degree(plan, check.cluster, lists));
      check_shapes(check, cut(lists, length, false), what, sharded);
      check_shapes(check, cut(lists, length, true), what, whole);
    };
    check_states(dense_lists(grid, copies), "data-parallel shard");
    if (experts) check_states(expert_lists(grid, copies), "expert-data shard");
    return;
  }
  check_shapes(check, groups_by(grid, dense_replicas_key), "data-parallel", p.zero == 0 ? whole : sharded);
  if (experts) {
    check_shapes(check, groups_by(grid, expert_replicas_key), "expert-data", p.zero == 0 ? whole : sharded);
  }
}

}  // namespace stepsim
