#include "sim/collective/copies.hpp"

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

}  // namespace stepsim
