// A message from members[0] to members[1].
#include "sim/collective/algorithms.hpp"
#include "sim/collective/legs.hpp"

namespace stepsim {

std::vector<Part> direct_traffic(const ClusterSpec& cluster, Members members, const TokenRouting&) {
  Legs legs(cluster);
  legs.add(members[0], members[1]);
  return {make_part(legs, 1, 1)};
}

std::vector<Term> direct_time(const GroupShape& shape, const Wires& wires, const TokenRouting&) {
  const bool apart = shape.nodes > 1;
  const Wire& wire = apart ? wires.between : wires.inside;
  return {{apart ? "between" : "inside", wire.latency.value, 1 / wire.bandwidth.value}};
}

}  // namespace stepsim
