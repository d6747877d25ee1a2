// Node-limited expert all-to-all (DeepSeek-V3's report, section 3.2.2; DeepEP): a token goes to top_k experts on at
// most M of the group's N nodes, balanced. One copy crosses the network to each remote node it needs, always between
// NICs of equal place (rail-aligned); the GPU where it arrives passes it on over NVLink, one copy to each GPU of the
// node that holds one of its experts.
//   NIC     M/N V to each of the N - 1 other nodes: M (N - 1)/N copies a token
//   NVLink  a GPU takes in M copies a token of its own share, each for d = expected_gpus(experts/N, g, top_k/M) of the
//   g
//           GPUs of the node, itself among them with 1/g: M d (g - 1)/g copies
// With unequal experts node k is reached by r = to_node copies a token, and a GPU of it by p = in_node. With R the sum
// of r over all nodes and P that of p over a node, of dispatch (combine: in and out exchanged):
//   NIC     in (N - 1) r, out R - r
//   NVLink  in N (g - 1) p, out N (P - p)
// Copies of one number move in lockstep, side by side with the others; the closed form is the busiest port.
// Combine is the same the other way round. The NVLink tier starts when the first copies have arrived; both then
// overlap.
#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include "sim/collective/algorithms.hpp"
#include "sim/collective/copies.hpp"
#include "sim/collective/legs.hpp"
#include "sim/collective/two_stage.hpp"

namespace stepsim {
namespace {

void add_leg(Legs& legs, RankId from, RankId to, bool back) {
  back ? legs.add(to, from) : legs.add(from, to);
}

std::vector<Part> unequal_rails(const ClusterSpec& cluster, const Nodes& nodes, const TokenRouting& routing) {
  std::map<double, Legs> rails;  // by copies
  for (std::size_t to = 0; to < nodes.size(); ++to) {
    if (routing.to_node[to] <= 0) continue;
    Legs& legs = rails.try_emplace(routing.to_node[to], cluster).first->second;
    for (std::size_t i = 0; i < nodes[to].size(); ++i) {
      for (const auto& from : nodes) {
        if (&from != &nodes[to]) add_leg(legs, from[i], nodes[to][i], routing.back);
      }
    }
  }
  std::vector<Part> parts;
  for (auto& [copies, legs] : rails) parts.push_back(make_part(legs, copies, 1));
  return parts;
}

std::vector<Part> unequal_inside(const ClusterSpec& cluster, const Nodes& nodes, const TokenRouting& routing) {
  std::map<double, Legs> spreads;  // by copies
  std::size_t member = 0;
  for (const auto& node : nodes) {
    for (const RankId to : node) {
      const double copies = routing.in_node[member++] * static_cast<double>(nodes.size());
      if (copies <= 0) continue;
      Legs& legs = spreads.try_emplace(copies, cluster).first->second;
      for (const RankId from : node) add_leg(legs, from, to, routing.back);
    }
  }
  std::vector<Part> parts;
  for (auto& [copies, legs] : spreads) parts.push_back(make_part(legs, copies, 1));
  return parts;
}

std::vector<Part> unequal_traffic(const ClusterSpec& cluster, const Nodes& nodes, const TokenRouting& routing) {
  std::vector<Part> parts;
  if (nodes.size() > 1) parts = unequal_rails(cluster, nodes, routing);
  double arrival = 0;
  for (const Part& part : parts) arrival = std::max(arrival, part.alpha);
  if (nodes[0].size() == 1) return parts;
  for (Part& part : unequal_inside(cluster, nodes, routing)) {
    part.alpha += arrival;
    parts.push_back(std::move(part));
  }
  return parts;
}

// Copies a token that the busiest port carries of `here`, where `receivers` others send to each.
double busiest(std::span<const double> here, double receivers) {
  const double all = std::accumulate(here.begin(), here.end(), 0.0);
  double most = 0;
  for (const double copies : here) most = std::max({most, receivers * copies, all - copies});
  return most;
}

double busiest_inside(const GroupShape& shape, const TokenRouting& routing) {
  const std::size_t g = static_cast<std::size_t>(shape.per_node);
  double most = 0;
  for (std::size_t first = 0; first < routing.in_node.size(); first += g) {
    most = std::max(most, busiest(std::span(routing.in_node).subspan(first, g), shape.per_node - 1));
  }
  return shape.nodes * most;
}

}  // namespace

std::vector<Part> node_limited_traffic(const GroupCall& call) {
  const auto nodes = by_node(call.cluster, call.members);
  if (!call.routing.in_node.empty()) return unequal_traffic(call.cluster, nodes, call.routing);
  const GroupShape shape = shape_of(call.cluster, call.members);
  const Copies c = expected_copies(shape, call.routing);
  const double g = shape.per_node;
  std::vector<Part> parts;
  if (shape.nodes > 1) {
    Legs rails(call.cluster);
    for (std::size_t i = 0; i < nodes[0].size(); ++i) {
      for (const auto& from : nodes) {
        for (const auto& to : nodes) {
          if (&from != &to) rails.add(from[i], to[i]);
        }
      }
    }
    parts.push_back(make_part(rails, c.nodes / shape.nodes, 1));
  }
  if (g > 1) {
    Legs inside(call.cluster);
    inside.add_inside(nodes);
    const double arrival = parts.empty() ? 0 : parts[0].alpha;
    parts.push_back(make_part(inside, c.nodes * c.on_node / g, 1));
    parts.back().alpha += arrival;
  }
  return parts;
}

std::vector<Part> node_limited_messages(const GroupCall& call) {
  const GroupShape shape = shape_of(call.cluster, call.members);
  const Copies c = expected_copies(shape, call.routing);
  const int g = shape.per_node;
  std::vector<double> to_node = call.routing.to_node, in_node = call.routing.in_node;
  if (in_node.empty()) {
    to_node.assign(static_cast<std::size_t>(shape.nodes), c.nodes / shape.nodes);
    in_node.assign(static_cast<std::size_t>(shape.size), c.nodes * c.on_node / shape.size);
  }
  const bool back = call.routing.back;
  const auto rail = [&](int from, int to, int) { return to_node[static_cast<std::size_t>(back ? from : to)]; };
  const auto inside = [&](int node, int, int from, int to) {
    return in_node[static_cast<std::size_t>(node * g + (back ? from : to))];
  };
  return two_stage_messages(call, {back, rail, inside});
}

std::vector<Term> node_limited_time(const GroupShape& shape, const Wires& wires, const TokenRouting& routing, double) {
  const Copies c = expected_copies(shape, routing);
  const double n = shape.nodes, g = shape.per_node;
  double across = c.nodes * (n - 1) / n, inside = c.nodes * c.on_node * (g - 1) / g;
  if (!routing.in_node.empty()) {
    across = busiest(routing.to_node, n - 1);
    inside = busiest_inside(shape, routing);
  }
  std::vector<Term> terms;
  if (shape.nodes > 1) {
    terms.push_back({"between", wires.between.latency.value, across / wires.between.bandwidth.value});
  }
  if (g > 1) {
    const double arrival = terms.empty() ? 0 : terms[0].alpha;
    terms.push_back({"inside", arrival + wires.inside.latency.value, inside / wires.inside.bandwidth.value});
  }
  return terms;
}

}  // namespace stepsim
