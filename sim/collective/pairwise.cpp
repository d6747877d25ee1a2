// Pairwise all-to-all: every member sends its share to every other, directly. Without token routing a share is V/n.
// With it, V is one copy of each token and a token goes to c = expected_gpus(experts, n, top_k) of the n members, so a
// share is V c/n: copies to experts on one GPU travel once, copies to GPUs of one node each cross the network.
#include "sim/collective/algorithms.hpp"
#include "sim/collective/legs.hpp"

namespace stepsim {
namespace {

double copies(double n, const TokenRouting& routing) {
  return routing.top_k > 0 ? expected_gpus(routing.experts, n, routing.top_k) : 1;
}

}  // namespace

std::vector<Part> pairwise_traffic(const ClusterSpec& cluster, Members members, const TokenRouting& routing) {
  const double n = static_cast<double>(members.size());
  Legs legs(cluster);
  for (const RankId from : members) {
    for (const RankId to : members) legs.add(from, to);
  }
  return {make_part(legs, copies(n, routing) / n, 1)};
}

std::vector<Term> pairwise_time(const GroupShape& shape, const Wires& wires, const TokenRouting& routing) {
  const double n = shape.size, g = shape.per_node, share = copies(n, routing) / n;
  const double hops = shape.planes ? (n - g) * (g - 1) / g : 0;  // remote messages that change planes
  std::vector<Term> terms;
  if (shape.nodes > 1) {
    const double latency = wires.between.latency.value + (shape.planes && g > 1 ? wires.inside.latency.value : 0);
    terms.push_back({"between", latency, share * (n - g) / wires.between.bandwidth.value});
  }
  if (g > 1) {
    const double alpha = terms.empty() ? wires.inside.latency.value : terms[0].alpha;
    terms.push_back({"inside", alpha, share * (g - 1 + hops) / wires.inside.bandwidth.value});
  }
  return terms;
}

}  // namespace stepsim
