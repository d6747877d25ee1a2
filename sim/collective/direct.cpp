// A message from members[0] to members[1].
#include "sim/collective/algorithms.hpp"
#include "sim/collective/flow.hpp"
#include "sim/collective/legs.hpp"

namespace stepsim {

std::vector<Part> direct_traffic(const GroupCall& call) {
  Legs legs(call.cluster);
  legs.add(call.members[0], call.members[1]);
  return only(make_part(legs, 1, 1));
}

std::vector<Part> direct_messages(const GroupCall& call) {
  return direct_traffic(call);
}

std::vector<Term> direct_time(const GroupShape& shape, const Wires& wires, const TokenRouting&, double) {
  const bool apart = shape.nodes > 1;
  const Wire& wire = apart ? wires.between : wires.inside;
  return {{apart ? "between" : "inside", wire.latency.value, 1 / wire.bandwidth.value}};
}

}  // namespace stepsim
