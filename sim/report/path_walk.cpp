#include "sim/report/path_walk.hpp"

#include <algorithm>

#include "sim/graph/changes.hpp"
#include "sim/report/calls.hpp"
#include "sim/report/order.hpp"

namespace stepsim {
namespace {

struct Event {
  std::size_t rank = 0;
  std::int32_t op = -1;  // -1: none
};

class Walk {
 public:
  Walk(const StepGraph& graph, const Timeline& timeline)
      : graph_(graph), timeline_(timeline), calls_(graph), order_(graph) {}

  std::vector<PathStep> run() {
    Event event = last();
    double time = timeline_.end;  // everything after it has its step
    // Each event is met at most once; the bound keeps a timeline that contradicts its graph from looping for ever.
    std::uint64_t steps = count_events(graph_);
    while (event.op >= 0 && steps-- > 0) {
      event = latest_member(event);
      if (span(event).end < time - tolerance()) {
        push({event.rank, -1, span(event).end, time});
        time = span(event).end;
      }
      const double begin = std::min(span(event).start, time);
      push({event.rank, event.op, begin, time});
      time = begin;
      event = predecessor(event);
    }
    push({0, -1, 0, time});
    std::reverse(steps_.begin(), steps_.end());
    return std::move(steps_);
  }

 private:
  const Span& span(Event e) const { return timeline_.spans[e.rank][static_cast<std::size_t>(e.op)]; }
  const Op& op(Event e) const { return program_of(graph_, e.rank).ops[static_cast<std::size_t>(e.op)]; }
  double tolerance() const { return 1e-9 * timeline_.end; }

  Event last() const {
    Event found;
    for (std::size_t r = 0; r < graph_.ranks.size(); ++r) {
      const auto& spans = timeline_.spans[r];
      for (std::size_t i = 0; i < spans.size(); ++i) {
        if (found.op < 0 || spans[i].end > span(found).end) found = {r, static_cast<std::int32_t>(i)};
      }
    }
    return found;
  }

  Event latest_member(Event event) const {
    if (op(event).kind != OpKind::transfer) return event;
    const auto number = calls_.number_of(graph_.ranks[event.rank].program, event.op);
    Event found = event;
    for (const Endpoint& endpoint : group_of(graph_, event.rank, op(event)).endpoints) {
      const auto rank = static_cast<std::size_t>(endpoint.rank);
      const auto& calls = calls_.calls(graph_.ranks[rank].program, endpoint.slot);
      if (static_cast<std::size_t>(number) >= calls.size()) continue;
      const Event member{rank, calls[static_cast<std::size_t>(number)]};
      if (span(member).ready > span(found).ready) found = member;
    }
    return found;
  }

  // The op before it on its stream or one of `after`, whichever ended last.
  Event predecessor(Event event) const {
    Event found;
    order_.each_before(static_cast<std::size_t>(graph_.ranks[event.rank].program), event.op, [&](std::int32_t op) {
      const Event e{event.rank, op};
      if (found.op < 0 || span(e).end > span(found).end) found = e;
    });
    return found;
  }

  void push(const PathStep& step) {
    if (step.end > step.begin) steps_.push_back(step);
  }

  const StepGraph& graph_;
  const Timeline& timeline_;
  CallIndex calls_;
  OrderIndex order_;
  std::vector<PathStep> steps_;
};

}  // namespace

CallLimit limit_of(const StepGraph& graph, const Pattern& pattern, double payload, double time) {
  struct Reached {
    double end = 0, latency = 0;
    int tier = -1;  // of the last wire on the way
  };
  const std::int32_t routing = routing_at(graph, time);
  std::vector<Reached> parts;
  Reached last{.end = -1};
  for (const Part& part : pattern.parts) {
    Reached& here = parts.emplace_back();
    if (part.counted_only) continue;
    const auto follow = [&](std::int32_t before) {
      if (parts[static_cast<std::size_t>(before)].end > here.end) here = parts[static_cast<std::size_t>(before)];
    };
    for (const std::int32_t before : part.after) follow(before);
    const double alpha = alpha_of(part, routing);
    here.end += alpha + part.beta * payload;
    here.latency += alpha;
    if (part.behind >= 0) follow(part.behind);
    double per_byte = 0;
    int tier = -1;
    for (const Load& load : loads_of(part, routing)) {
      const GraphLink& link = graph.links[static_cast<std::size_t>(load.link)];
      const double capacity = value_at(link.capacity, link.capacity_changes, time);
      if (capacity <= 0 || load.legs / capacity <= per_byte) continue;
      per_byte = load.legs / capacity;
      tier = link.tier;
    }
    const double bytes_time = payload * part.bytes_per_payload * per_byte;
    here.end += bytes_time;
    if (tier >= 0 && bytes_time > 0) here.tier = tier;
    if (here.end > last.end) last = here;
  }
  return {last.tier >= 0 ? graph.tiers[static_cast<std::size_t>(last.tier)] : "formula", std::max(last.latency, 0.0)};
}

std::vector<PathStep> walk_path(const StepGraph& graph, const Timeline& timeline) {
  return Walk(graph, timeline).run();
}

}  // namespace stepsim
