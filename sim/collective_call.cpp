#include "sim/collective_call.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <set>

#include "sim/engine/engine.hpp"
#include "sim/graph/fold.hpp"
#include "sim/report/calls.hpp"

namespace stepsim {
namespace {

void require_algorithm(const ClusterSpec& cluster, const SingleCall& call) {
  if (call.algorithm == "auto") return;
  const Algorithm* found = find_algorithm(call.operation, call.algorithm);
  if (found == nullptr) {
    std::vector<std::string> names{"auto"};
    for (const Algorithm& a : algorithms()) {
      if (a.operation == call.operation) names.emplace_back(a.name);
    }
    throw InputError({{"", 0, "--algorithm",
                       fmt::format("\"{}\" is none of the algorithms of {}: {}", call.algorithm, to_text(call.operation),
                                   fmt::join(names, ", "))}});
  }
  const char* why = found->refuses == nullptr ? nullptr : found->refuses(shape_of(cluster, call.members));
  if (why == nullptr) return;
  throw InputError({{"", 0, "--algorithm",
                     fmt::format("{} cannot serve this group of {}: {}", call.algorithm, call.members.size(), why)}});
}

// Whether two parts use one link, at the same time or one after the other.
bool parts_meet(const Pattern& pattern) {
  std::set<LinkId> used;
  for (const Part& part : pattern.parts) {
    for (const Load& load : part.loads) {
      if (!part.counted_only && !used.insert(load.link).second) return true;
    }
  }
  return false;
}

// One op a rank: the call.
StepGraph graph_of(const ClusterSpec& cluster, const SingleCall& call, Pattern pattern) {
  StepGraph graph;
  graph.tiers = cluster.tiers;
  const auto& links = cluster.platform->links();
  for (std::size_t l = 0; l < links.size(); ++l) {
    graph.links.push_back(
        {links[l].name, cluster.bandwidth[l].value, static_cast<std::int16_t>(cluster.link_tier[l]), -1, 1});
  }
  Op op;
  op.kind = OpKind::transfer;
  op.stream = 1;
  op.payload_bytes = call.payload;
  op.slot = op.pattern = 0;
  graph.programs.push_back({"call", {{"compute", Dimension::none}, {"collective", Dimension::none}}, std::vector<Op>{op}, 0});
  Group group;
  group.name = "members";
  group.size = static_cast<int>(call.members.size());
  group.patterns.push_back(std::move(pattern));
  for (std::size_t i = 0; i < call.members.size(); ++i) {
    const auto rank = static_cast<RankId>(i);
    graph.ranks.push_back({0, 1, {0}, 1, call.members[i]});
    group.endpoints.push_back({rank, 0});
  }
  graph.groups.push_back(std::move(group));
  return graph;
}

}  // namespace

SingleResult run_single(const ClusterSpec& cluster, const SingleCall& call) {
  require_algorithm(cluster, call);
  const StepGraph graph = graph_of(
      cluster, call,
      make_pattern(cluster, call.members, call.operation, call.algorithm, call.routing, call.detail, call.payload));
  SingleResult result;
  result.algorithm = graph.groups[0].patterns[0].algorithm;
  result.parts = graph.groups[0].patterns[0].parts.size();
  const std::vector<double> bytes = link_bytes(graph, {});  // no route changes
  for (std::size_t l = 0; l < bytes.size(); ++l) {
    const double seconds = bytes[l] / graph.links[l].capacity;
    if (seconds <= result.floor_seconds) continue;
    result.floor_seconds = seconds;
    result.wire = graph.tiers[static_cast<std::size_t>(graph.links[l].tier)];
  }
  // Where no two parts use a link there is nothing to share, and so no need of SimGrid, which takes a process a call.
  const bool shared = parts_meet(graph.groups[0].patterns[0]);
  // Messages are all different, so that there is nothing to fold.
  result.seconds = make_engine(shared ? "simgrid" : "ideal")->run(folded(graph, call.detail != Detail::flow)).end;
  return result;
}

std::vector<RankId> first_members(const ClusterSpec& cluster, int ranks, int per_node) {
  const int used = per_node == 0 ? cluster.gpus_per_node : per_node;
  if (used > cluster.gpus_per_node) {
    throw InputError({{"", 0, "--per-node",
                       fmt::format("{} has {} GPUs a node, not {}", cluster.name, cluster.gpus_per_node, used)}});
  }
  if (ranks > cluster.nodes * used) {
    throw InputError({{"", 0, "--ranks",
                       fmt::format("{} has {} GPUs{}, not {}", cluster.name, cluster.nodes * used,
                                   used < cluster.gpus_per_node ? fmt::format(" with {} a node", used) : "", ranks)}});
  }
  std::vector<RankId> members;
  for (int i = 0; i < ranks; ++i) members.push_back(i / used * cluster.gpus_per_node + i % used);
  return members;
}

double bus_factor(Operation operation, int ranks) {
  const double n = ranks;
  switch (operation) {
    case Operation::all_reduce:
      return 2 * (n - 1) / n;
    case Operation::all_gather:
    case Operation::reduce_scatter:
    case Operation::all_to_all:
      return (n - 1) / n;
    default:
      return 1;
  }
}

}  // namespace stepsim
