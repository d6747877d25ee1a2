// Flat: each GPU pulls every other member's share V/N by itself (a reduce-scatter: pushes, the same bytes the other
// way). Shares of the g members of its own node come over NVLink, the other V (N - g)/N over its own NIC. In a network
// of planes a remote share first hops over NVLink to the sender's neighbour in the puller's plane, so that NVLink also
// carries (g - 1)/g of it. All messages at once: one route latency.
#include "sim/collective/algorithms.hpp"
#include "sim/collective/flow.hpp"
#include "sim/collective/legs.hpp"

namespace stepsim {

std::vector<Part> flat_traffic(const GroupCall& call, int rounds) {
  const GroupShape shape = shape_of(call.cluster, call.members);
  Legs legs(call.cluster);
  if (shape.planes && shape.per_node > 0) {
    legs.add_all_pairs_in_planes(by_node(call.cluster, call.members));
  } else {
    legs.add_all_pairs(call.members);
  }
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
