// One step around a ring: member i sends V to member i + 1, all at once (ring attention's keys and values).
#include <algorithm>

#include "sim/collective/algorithms.hpp"
#include "sim/collective/flow.hpp"
#include "sim/collective/legs.hpp"

namespace stepsim {

std::vector<Part> shift_traffic(const GroupCall& call) {
  Legs legs(call.cluster);
  const std::size_t n = call.members.size();
  for (std::size_t i = 0; i < n; ++i) legs.add(call.members[i], call.members[(i + 1) % n]);
  return only(make_part(legs, 1, 1));
}

std::vector<Part> shift_messages(const GroupCall& call) {
  Flow flow(call.cluster);
  const std::size_t n = call.members.size();
  for (std::size_t i = 0; i < n; ++i) flow.send(call.members[i], call.members[(i + 1) % n], 1);
  return flow.take();
}

std::vector<Term> shift_time(const GroupShape& shape, const Wires& wires, const TokenRouting&, double) {
  const bool apart = shape.nodes > 1;
  const Wire& wire = apart ? wires.between : wires.inside;
  const double hop = shape.planes ? wires.inside.latency.value : 0;  // as ring.cpp
  return {{apart ? "between" : "inside", wire.latency.value + hop, 1 / wire.bandwidth.value}};
}

}  // namespace stepsim
