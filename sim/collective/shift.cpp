// One step around a ring: member i sends V to member i + 1, all at once (ring attention's keys and values).
#include "sim/collective/algorithms.hpp"
#include "sim/collective/legs.hpp"

namespace stepsim {

std::vector<Part> shift_traffic(const ClusterSpec& cluster, Members members, const TokenRouting&) {
  Legs legs(cluster);
  for (std::size_t i = 0; i < members.size(); ++i) legs.add(members[i], members[(i + 1) % members.size()]);
  return {make_part(legs, 1, 1)};
}

std::vector<Term> shift_time(const GroupShape& shape, const Wires& wires, const TokenRouting&) {
  const bool apart = shape.nodes > 1;
  const Wire& wire = apart ? wires.between : wires.inside;
  const double hop = shape.planes ? wires.inside.latency.value : 0;  // as ring.cpp
  return {{apart ? "between" : "inside", wire.latency.value + hop, 1 / wire.bandwidth.value}};
}

}  // namespace stepsim
