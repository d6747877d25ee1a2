// Which event an event waited for: walks from the end of a step back to its beginning.
#pragma once

#include <cstdint>

#include "sim/graph/timeline.hpp"
#include "sim/report/calls.hpp"
#include "sim/report/order.hpp"

namespace stepsim {

// What a step's story is looked up in: made once for all who ask.
struct StepIndex {
  explicit StepIndex(const StepGraph& graph) : calls(graph), order(graph) {}
  CallIndex calls;
  OrderIndex order;
};

struct StepEvent {
  std::size_t rank = 0;  // of the graph
  std::int32_t op = -1;  // -1: none
};

class Chain {
 public:
  Chain(const StepGraph& graph, const Timeline& timeline, const StepIndex& index)
      : graph_(graph), timeline_(timeline), calls_(index.calls), order_(index.order) {}

  // Of a transfer, the call of the member that was ready last; on a tie that of the event's own rank. Else the event.
  StepEvent latest_member(StepEvent event) const;
  // What the event waited for on its own rank: the op before it on its stream or one of `after`, whichever ended last.
  StepEvent predecessor(StepEvent event) const;

  const Span& span(StepEvent e) const { return timeline_.spans[e.rank][static_cast<std::size_t>(e.op)]; }
  OpView op(StepEvent e) const { return program_of(graph_, e.rank).ops[static_cast<std::size_t>(e.op)]; }

 private:
  const StepGraph& graph_;
  const Timeline& timeline_;
  const CallIndex& calls_;
  const OrderIndex& order_;
};

}  // namespace stepsim
