// Flat: each GPU pulls every other member's share V/N by itself (a reduce-scatter: pushes, the same bytes the other
// way). Shares of the g members of its own node come over NVLink, the other V (N - g)/N over its own NIC. In a network
// of planes a remote share first hops over NVLink to the sender's neighbour in the puller's plane, so that NVLink also
// carries (g - 1)/g of it. All messages at once: one route latency.
#include "sim/collective/algorithms.hpp"
#include "sim/collective/flow.hpp"
#include "sim/collective/legs.hpp"

namespace stepsim {
namespace {

// Equal to adding every pair of members, without walking all N^2 of them: in a node every ordered pair exchanges its
// own share and one hop for each other node; between two nodes, NIC i of the one sends the node's g shares to NIC i of
// the other.
Part planes_part(const ClusterSpec& cluster, Members members, double rounds) {
  const auto nodes = by_node(cluster, members);
  const double g = static_cast<double>(nodes[0].size()), m = static_cast<double>(nodes.size());
  Legs inside(cluster), rails(cluster);
  for (const auto& node : nodes) {
    for (const RankId from : node) {
      for (const RankId to : node) inside.add(from, to, m);
    }
  }
  for (std::size_t i = 0; i < nodes[0].size(); ++i) {
    for (const auto& from : nodes) {
      for (const auto& to : nodes) {
        if (&from != &to) rails.add(from[i], to[i], g);
      }
    }
  }
  Part part = make_part(rails, rounds / (m * g), rounds);
  const Part hops = make_part(inside, 0, rounds);
  part.alpha += hops.alpha;
  part.loads.insert(part.loads.end(), hops.loads.begin(), hops.loads.end());
  return part;
}

}  // namespace

std::vector<Part> flat_traffic(const GroupCall& call, int rounds) {
  const GroupShape shape = shape_of(call.cluster, call.members);
  if (shape.planes) return {planes_part(call.cluster, call.members, rounds)};
  Legs legs(call.cluster);
  legs.add_all_pairs(call.members);
  return only(make_part(legs, rounds / static_cast<double>(call.members.size()), rounds));
}

// A member sends the second round when it has all of the first.
std::vector<Part> flat_messages(const GroupCall& call, int rounds) {
  const std::size_t n = call.members.size();
  Flow flow(call.cluster);
  std::vector<std::vector<MessageId>> begin(n);
  for (int round = 0; round < rounds; ++round) {
    std::vector<std::vector<MessageId>> arrived(n);
    for (std::size_t i = 0; i < n; ++i) {
      for (std::size_t j = 0; j < n; ++j) {
        if (i == j) continue;
        arrived[j].push_back(flow.send(call.members[i], call.members[j], 1.0 / static_cast<double>(n), begin[i]));
      }
    }
    if (round + 1 == rounds) break;
    for (std::size_t i = 0; i < n; ++i) begin[i] = {flow.join(std::move(arrived[i]))};
  }
  return flow.take();
}

std::vector<Term> flat_time(const GroupShape& shape, const Wires& wires, int rounds) {
  const double n = shape.size, g = shape.per_node;
  const double hops = shape.planes ? (n - g) / n * (g - 1) / g : 0;
  std::vector<Term> terms;
  if (shape.nodes > 1) {
    const double latency = wires.between.latency.value + (shape.planes && g > 1 ? wires.inside.latency.value : 0);
    terms.push_back({"between", rounds * latency, rounds * (n - g) / n / wires.between.bandwidth.value});
  }
  if (g > 1) {
    const double alpha = terms.empty() ? rounds * wires.inside.latency.value : terms[0].alpha;
    terms.push_back({"inside", alpha, rounds * ((g - 1) / n + hops) / wires.inside.bandwidth.value});
  }
  return terms;
}

}  // namespace stepsim
