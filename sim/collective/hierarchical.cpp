// Hierarchical, rail-aligned: the members of equal place on each of M nodes form a ring over their NICs, which carries
// 1/g of the buffer (g members a node); NVLink spreads each rail's 1/g to the other g - 1 members of the node. Both
// tiers are pipelined against each other, so the call takes the longer of the two:
//   NIC     V/g (M - 1)/M, M - 1 steps        NVLink  V (g - 1)/g
// A reduce-scatter is the same the other way round, an all-reduce both.
#include "sim/collective/algorithms.hpp"
#include "sim/collective/legs.hpp"

namespace stepsim {
namespace {

std::vector<Part> hierarchical(const ClusterSpec& cluster, Members members, double rounds) {
  const auto nodes = by_node(cluster, members);
  const double m = static_cast<double>(nodes.size()), g = static_cast<double>(nodes[0].size());
  std::vector<Part> parts;
  if (m > 1) {
    Legs rails(cluster);
    for (std::size_t i = 0; i < nodes[0].size(); ++i) {
      for (std::size_t k = 0; k < nodes.size(); ++k) rails.add(nodes[k][i], nodes[(k + 1) % nodes.size()][i]);
    }
    parts.push_back(make_part(rails, rounds * (m - 1) / m / g, rounds * (m - 1)));
  }
  if (g > 1) {
    Legs inside(cluster);
    for (const auto& node : nodes) {
      for (const RankId from : node) {
        for (const RankId to : node) inside.add(from, to);
      }
    }
    parts.push_back(make_part(inside, rounds / g, rounds));
  }
  return parts;
}

std::vector<Term> hierarchical_time(const GroupShape& shape, const Wires& wires, double rounds) {
  const double m = shape.nodes, g = shape.per_node;
  std::vector<Term> terms;
  if (m > 1) {
    terms.push_back({"between", rounds * (m - 1) * wires.between.latency.value,
                     rounds * (m - 1) / m / g / wires.between.bandwidth.value});
  }
  if (g > 1) {
    terms.push_back({"inside", rounds * wires.inside.latency.value,
                     rounds * (g - 1) / g / wires.inside.bandwidth.value});
  }
  return terms;
}

}  // namespace

std::vector<Part> hierarchical_gather_traffic(const ClusterSpec& cluster, Members members, const TokenRouting&) {
  return hierarchical(cluster, members, 1);
}
std::vector<Term> hierarchical_gather_time(const GroupShape& shape, const Wires& wires, const TokenRouting&) {
  return hierarchical_time(shape, wires, 1);
}
std::vector<Part> hierarchical_all_reduce_traffic(const ClusterSpec& cluster, Members members, const TokenRouting&) {
  return hierarchical(cluster, members, 2);
}
std::vector<Term> hierarchical_all_reduce_time(const GroupShape& shape, const Wires& wires, const TokenRouting&) {
  return hierarchical_time(shape, wires, 2);
}

}  // namespace stepsim
