// To how many nodes and GPUs a routed token is sent, experts being equal.
#pragma once

#include "sim/collective/algorithm.hpp"

namespace stepsim {

struct Copies {
  double nodes = 1;    // a token's copy goes to so many nodes
  double on_node = 1;  // and there to so many GPUs
};

// Without a limit the top_k different experts of a token fall on expected_gpus(experts, nodes, top_k) nodes and
// expected_gpus(experts, size, top_k) GPUs. A limit of fewer nodes is always used up: M nodes, top_k / M experts on
// each.
Copies expected_copies(const GroupShape& shape, const TokenRouting& routing);

// Copies of a token that a member sends, to itself included, with experts equal or not: with every_copy top_k; by node_limited
// one a node where there are several (DeepEP's logical bandwidth counts those), otherwise one a GPU. 1 without routing.
double copies_sent(const GroupShape& shape, const TokenRouting& routing, bool node_limited);

}  // namespace stepsim
