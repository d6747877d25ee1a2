#include "sim/collective/copies.hpp"

#include <numeric>

namespace stepsim {

Copies expected_copies(const GroupShape& shape, const TokenRouting& routing) {
  if (routing.top_k <= 0) return {1, 1};
  const double nodes = shape.nodes, free = expected_gpus(routing.experts, nodes, routing.top_k);
  if (routing.max_nodes <= 0 || routing.max_nodes >= free || shape.per_node == 0) {
    return {free, expected_gpus(routing.experts, shape.size, routing.top_k) / free};
  }
  const double reached = routing.max_nodes;
  return {reached, expected_gpus(routing.experts / nodes, shape.per_node, routing.top_k / reached)};
}

double copies_sent(const GroupShape& shape, const TokenRouting& routing, bool node_limited) {
  if (routing.top_k <= 0) return 1;
  const bool by_node = node_limited && shape.nodes > 1;
  if (!routing.to_member.empty()) {
    const std::vector<double>& sent = by_node ? routing.to_node : routing.to_member;
    return std::accumulate(sent.begin(), sent.end(), 0.0);
  }
  if (routing.every_copy) return routing.top_k;
  const Copies copies = expected_copies(shape, routing);
  return by_node ? copies.nodes : copies.nodes * copies.on_node;
}

}  // namespace stepsim
