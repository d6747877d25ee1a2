// Ring: member i sends to member i + 1, in the order of the members; n - 1 steps, each moving V/n along every leg
// (all-reduce: a reduce-scatter, then an all-gather: 2 (n - 1) steps). One ring, so one NIC a node in each direction
// where members of a node stand next to each other. Pace: the slowest leg. A piece of data crosses n - 1 of the n legs,
// so a small message pays the latencies of all legs but the quickest; members are taken to stand node by node.
#include <algorithm>

#include "sim/collective/algorithms.hpp"
#include "sim/collective/flow.hpp"
#include "sim/collective/legs.hpp"

namespace stepsim {

std::vector<Part> ring_traffic(const GroupCall& call, int rounds) {
  const std::size_t n = call.members.size();
  const double steps = static_cast<double>(n - 1);
  Legs legs(call.cluster);
  double all = 0, quickest = 0;
  for (std::size_t i = 0; i < n; ++i) {
    const RankId from = call.members[i], to = call.members[(i + 1) % n];
    const double latency = route_latency(call.cluster, route_between(call.cluster, from, to)).value;
    legs.add(from, to);
    all += latency;
    quickest = i == 0 ? latency : std::min(quickest, latency);
  }
  Part part = make_part(legs, rounds * steps / static_cast<double>(n), 0);
  part.alpha = rounds * (all - quickest);
  return {part};
}

std::vector<Part> ring_messages(const GroupCall& call, int rounds) {
  const std::size_t n = call.members.size();
  Flow flow(call.cluster);
  std::vector<MessageId> before(n, kNoMessage), now(n, kNoMessage);
  for (std::size_t step = 0; step < static_cast<std::size_t>(rounds) * (n - 1); ++step) {
    for (std::size_t i = 0; i < n; ++i) {
      const MessageId arrived = before[(i + n - 1) % n];
      std::vector<MessageId> after;
      if (arrived != kNoMessage) after.push_back(arrived);
      now[i] = flow.send(call.members[i], call.members[(i + 1) % n], 1.0 / static_cast<double>(n), std::move(after),
                         before[i]);
    }
    before = now;
  }
  return flow.take();
}

std::vector<Term> ring_time(const GroupShape& shape, const Wires& wires, int rounds) {
  const double n = shape.size, nodes = shape.nodes;
  const bool apart = shape.nodes > 1, together = shape.size > shape.nodes;
  // In a network of planes the step from one node to the next also hops over NVLink to the next one's plane.
  const double inside = wires.inside.latency.value;
  const double between = wires.between.latency.value + (shape.planes ? inside : 0);
  const double quickest = !apart ? inside : together ? std::min(inside, between) : between;
  const double legs = (n - (apart ? nodes : 0)) * inside + (apart ? nodes * between : 0);
  double per_byte = 0;
  if (together) per_byte = 1 / wires.inside.bandwidth.value;
  if (apart) per_byte = std::max(per_byte, 1 / wires.between.bandwidth.value);
  return {{apart ? "between" : "inside", rounds * (legs - quickest), rounds * (n - 1) / n * per_byte}};
}

}  // namespace stepsim
