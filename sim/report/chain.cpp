#include "sim/report/chain.hpp"

namespace stepsim {

StepEvent Chain::latest_member(StepEvent event) const {
  if (op(event).kind != OpKind::transfer) return event;
  const auto number = calls_.number_of(graph_.ranks[event.rank].program, event.op);
  StepEvent found = event;
  for (const Endpoint& endpoint : group_of(graph_, event.rank, op(event)).endpoints) {
    const auto rank = static_cast<std::size_t>(endpoint.rank);
    const auto& calls = calls_.calls(graph_.ranks[rank].program, endpoint.slot);
    if (static_cast<std::size_t>(number) >= calls.size()) continue;
    const StepEvent member{rank, calls[static_cast<std::size_t>(number)]};
    if (span(member).ready > span(found).ready) found = member;
  }
  return found;
}

StepEvent Chain::predecessor(StepEvent event) const {
  StepEvent found;
  order_.each_before(static_cast<std::size_t>(graph_.ranks[event.rank].program), event.op, [&](std::int32_t before) {
    const StepEvent e{event.rank, before};
    if (found.op < 0 || span(e).end > span(found).end) found = e;
  });
  return found;
}

}  // namespace stepsim
