#include "sim/collective/algorithm.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <stdexcept>

#include "sim/collective/algorithms.hpp"
#include "sim/collective/legs.hpp"

namespace stepsim {
namespace {

constexpr std::array<std::string_view, 7> kOperations = {"all_gather", "reduce_scatter", "all_reduce",
                                                         "all_to_all", "broadcast",  "shift",  "point_to_point"};

// How fast a message between two GPUs goes when alone, and what it pays in latency.
Wire wire_between(const ClusterSpec& cluster, RankId from, RankId to) {
  Wire wire{BytesPerSecond(0), Seconds(0)};
  for (const LinkId link : route_between(cluster, from, to)) {
    const BytesPerSecond here = cluster.bandwidth[link];
    wire.bandwidth = wire.bandwidth.value == 0 ? here : std::min(wire.bandwidth, here);
    wire.latency += cluster.latency[link];
  }
  return wire;
}

// The wires of the group's first node and, between nodes, the slowest from its first member's place.
Wires wires_of(const ClusterSpec& cluster, std::span<const RankId> members) {
  const auto nodes = by_node(cluster, members);
  Wires wires{};
  if (nodes[0].size() > 1) wires.inside = wire_between(cluster, nodes[0][0], nodes[0][1]);
  for (std::size_t k = 1; k < nodes.size(); ++k) {
    const Wire wire = wire_between(cluster, nodes[0][0], nodes[k][0]);
    if (k == 1) wires.between = wire;
    wires.between.bandwidth = std::min(wires.between.bandwidth, wire.bandwidth);
    wires.between.latency = std::max(wires.between.latency, wire.latency);
  }
  return wires;
}

std::string_view automatic(const GroupShape& shape, Operation operation, const TokenRouting& routing) {
  switch (operation) {
    case Operation::all_to_all: return routing.top_k > 0 && shape.nodes > 1 && shape.per_node > 0 ? "node_limited" : "pairwise";
    case Operation::point_to_point: return "direct";
    case Operation::shift: return "ring";
    default: return shape.nodes > 1 && shape.per_node > 1 ? "hierarchical" : "ring";
  }
}

}  // namespace

std::string_view to_text(Operation operation) { return kOperations[static_cast<std::size_t>(operation)]; }

const std::vector<Algorithm>& algorithms() {
  using O = Operation;
  static const std::vector<Algorithm> table = {
      {O::all_gather, "flat", "each GPU pulls every share over its own NIC", flat_gather_traffic, flat_gather_time, needs_equal_nodes},
      {O::all_gather, "ring", "one ring in rank order", ring_gather_traffic, ring_gather_time, nullptr},
      {O::all_gather, "hierarchical", "rings along rails, NVLink spreads", hierarchical_gather_traffic, hierarchical_gather_time, needs_equal_nodes},
      {O::reduce_scatter, "flat", "each GPU pushes every share over its own NIC", flat_gather_traffic, flat_gather_time, needs_equal_nodes},
      {O::reduce_scatter, "ring", "one ring in rank order", ring_gather_traffic, ring_gather_time, nullptr},
      {O::reduce_scatter, "hierarchical", "NVLink collects, rings along rails", hierarchical_gather_traffic, hierarchical_gather_time, needs_equal_nodes},
      {O::all_reduce, "flat", "flat reduce-scatter, then flat all-gather", flat_all_reduce_traffic, flat_all_reduce_time, needs_equal_nodes},
      {O::all_reduce, "ring", "one ring in rank order, twice around", ring_all_reduce_traffic, ring_all_reduce_time, nullptr},
      {O::all_reduce, "hierarchical", "NVLink and rails, there and back", hierarchical_all_reduce_traffic, hierarchical_all_reduce_time, needs_equal_nodes},
      {O::all_to_all, "pairwise", "each share goes to its GPU directly", pairwise_traffic, pairwise_time, nullptr},
      {O::all_to_all, "node_limited", "one copy of a token a remote node, NVLink spreads", node_limited_traffic, node_limited_time, needs_equal_nodes},
      {O::shift, "ring", "each member sends to the next", shift_traffic, shift_time, nullptr},
      {O::point_to_point, "direct", "one message", direct_traffic, direct_time, nullptr},
  };
  return table;
}

const char* needs_equal_nodes(const GroupShape& shape) {
  return shape.per_node > 0 ? nullptr : "it needs as many members on each of its nodes";
}

const Algorithm* find_algorithm(Operation operation, std::string_view name) {
  for (const Algorithm& a : algorithms()) {
    if (a.operation == operation && a.name == name) return &a;
  }
  return nullptr;
}

GroupShape shape_of(const ClusterSpec& cluster, std::span<const RankId> members) {
  const auto nodes = by_node(cluster, members);
  GroupShape shape;
  shape.size = static_cast<int>(members.size());
  shape.nodes = static_cast<int>(nodes.size());
  shape.per_node = static_cast<int>(nodes[0].size());
  for (const auto& node : nodes) {
    if (static_cast<int>(node.size()) != shape.per_node) shape.per_node = 0;
  }
  if (shape.nodes > 1 && shape.per_node > 1) {
    const HostId a = cluster.nic_hosts[nodes[0][0]], b = cluster.nic_hosts[nodes[1][1]];
    shape.planes = cluster.platform->route(a, b).empty();
  }
  return shape;
}

Pattern make_pattern(const ClusterSpec& cluster, std::span<const RankId> members, Operation operation,
                     std::string_view algorithm, const TokenRouting& routing, Detail detail) {
  const GroupShape shape = shape_of(cluster, members);
  const std::string_view name = algorithm == "auto" ? automatic(shape, operation, routing) : algorithm;
  const Algorithm* found = find_algorithm(operation, name);
  if (found == nullptr) {
    throw std::invalid_argument(std::string(to_text(operation)) + " has no algorithm " + std::string(name));
  }
  if (const char* why = found->refuses == nullptr ? nullptr : found->refuses(shape); why != nullptr) {
    throw std::invalid_argument(std::string(name) + " " + std::string(to_text(operation)) + " cannot run: " + why);
  }
  Pattern pattern{std::string(to_text(operation)), std::string(name), found->traffic(cluster, members, routing)};
  if (detail == Detail::aggregate) return pattern;
  for (Part& part : pattern.parts) {
    part.alpha = 0;
    part.counted_only = true;
  }
  for (const Term& term : found->closed_form(shape, wires_of(cluster, members), routing)) {
    pattern.parts.push_back({{}, 0, term.alpha, term.beta, false});
  }
  return pattern;
}

double expected_gpus(double experts, double gpus, double picks) {
  const double left = experts - experts / gpus;  // experts on the other GPUs
  if (left - picks + 1 <= 0) return gpus;
  const double none = std::exp(std::lgamma(left + 1) + std::lgamma(experts - picks + 1) - std::lgamma(left - picks + 1) -
                               std::lgamma(experts + 1));
  return gpus * (1 - none);
}

}  // namespace stepsim
