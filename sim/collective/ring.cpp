// Ring: member i sends to member i + 1, in the order of the members; n - 1 steps, each moving V/n along every leg
// (all-reduce: a reduce-scatter, then an all-gather: 2 (n - 1) steps). One ring, so one NIC a node in each direction
// where members of a node stand next to each other. Pace: the slowest leg.
#include "sim/collective/algorithms.hpp"
#include "sim/collective/legs.hpp"

namespace stepsim {
namespace {

std::vector<Part> ring(const ClusterSpec& cluster, Members members, double rounds) {
  const double n = static_cast<double>(members.size());
  Legs legs(cluster);
  for (std::size_t i = 0; i < members.size(); ++i) legs.add(members[i], members[(i + 1) % members.size()]);
  return {make_part(legs, rounds * (n - 1) / n, rounds * (n - 1))};
}

std::vector<Term> ring_time(const GroupShape& shape, const Wires& wires, double rounds) {
  const double n = shape.size;
  const bool apart = shape.nodes > 1;
  const Wire& wire = apart ? wires.between : wires.inside;
  // In a network of planes the step from one node to the next also hops over NVLink to the next one's plane.
  const double latency = wire.latency.value + (shape.planes ? wires.inside.latency.value : 0);
  return {{apart ? "between" : "inside", rounds * (n - 1) * latency,
           rounds * (n - 1) / n / wire.bandwidth.value}};
}

}  // namespace

std::vector<Part> ring_gather_traffic(const ClusterSpec& cluster, Members members, const TokenRouting&) {
  return ring(cluster, members, 1);
}
std::vector<Term> ring_gather_time(const GroupShape& shape, const Wires& wires, const TokenRouting&) {
  return ring_time(shape, wires, 1);
}
std::vector<Part> ring_all_reduce_traffic(const ClusterSpec& cluster, Members members, const TokenRouting&) {
  return ring(cluster, members, 2);
}
std::vector<Term> ring_all_reduce_time(const GroupShape& shape, const Wires& wires, const TokenRouting&) {
  return ring_time(shape, wires, 2);
}

}  // namespace stepsim
