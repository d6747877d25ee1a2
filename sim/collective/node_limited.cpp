// Node-limited expert all-to-all (DeepSeek-V3's report, section 3.2.2; DeepEP): a token goes to top_k experts on at most
// M of the group's N nodes, balanced. One copy crosses the network to each remote node it needs, always between NICs of
// equal place (rail-aligned); the GPU where it arrives passes it on over NVLink, one copy to each GPU of the node that
// holds one of its experts.
//   NIC     M/N V to each of the N - 1 other nodes: M (N - 1)/N copies a token
//   NVLink  a GPU takes in M copies a token of its own share, each for d = expected_gpus(experts/N, g, top_k/M) of the g
//           GPUs of the node, itself among them with 1/g: M d (g - 1)/g copies
// Combine is the same the other way round. The NVLink tier starts when the first copies have arrived; both then overlap.
#include <algorithm>
#include <cmath>

#include "sim/collective/algorithms.hpp"
#include "sim/collective/legs.hpp"

namespace stepsim {
namespace {

struct Copies {
  double nodes;    // a token's copy goes to so many nodes
  double on_node;  // and there to so many GPUs
};

Copies copies(const GroupShape& shape, const TokenRouting& routing) {
  const double allowed = routing.max_nodes > 0 ? std::min(routing.max_nodes, shape.nodes) : shape.nodes;
  const double reached = std::min(allowed, routing.top_k);
  const double experts = routing.experts / shape.nodes, picks = routing.top_k / reached;
  return {reached, expected_gpus(experts, shape.per_node, picks)};
}

}  // namespace

std::vector<Part> node_limited_traffic(const ClusterSpec& cluster, Members members, const TokenRouting& routing) {
  const auto nodes = by_node(cluster, members);
  const GroupShape shape = shape_of(cluster, members);
  const Copies c = copies(shape, routing);
  const double g = shape.per_node;
  std::vector<Part> parts;
  if (shape.nodes > 1) {
    Legs rails(cluster);
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
    Legs inside(cluster);
    for (const auto& node : nodes) {
      for (const RankId from : node) {
        for (const RankId to : node) inside.add(from, to);
      }
    }
    const double arrival = parts.empty() ? 0 : parts[0].alpha;
    parts.push_back(make_part(inside, c.nodes * c.on_node / g, 1));
    parts.back().alpha += arrival;
  }
  return parts;
}

std::vector<Term> node_limited_time(const GroupShape& shape, const Wires& wires, const TokenRouting& routing) {
  const Copies c = copies(shape, routing);
  const double n = shape.nodes, g = shape.per_node;
  std::vector<Term> terms;
  if (shape.nodes > 1) {
    terms.push_back({"between", wires.between.latency.value, c.nodes * (n - 1) / n / wires.between.bandwidth.value});
  }
  if (g > 1) {
    const double arrival = terms.empty() ? 0 : terms[0].alpha;
    terms.push_back({"inside", arrival + wires.inside.latency.value,
                     c.nodes * c.on_node * (g - 1) / g / wires.inside.bandwidth.value});
  }
  return terms;
}

}  // namespace stepsim
