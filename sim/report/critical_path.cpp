// The chain of events that made the step as long as it is, walked back from the last event to the first.
#include <algorithm>
#include <cmath>

#include "sim/graph/changes.hpp"
#include "sim/report/calls.hpp"
#include "sim/report/report.hpp"

namespace stepsim {
namespace {

struct Event {
  std::size_t rank = 0;
  std::int32_t op = -1;  // -1: none
};

// The wire that limits a call at a time when it has its links to itself: the one its slowest part uses, or "latency" when latency
// is more than half of that part's time, or "formula" when the part is a closed form that names no link.
std::string wire_of(const StepGraph& graph, const Pattern& pattern, double payload, double time) {
  double slowest = -1;
  std::string wire = "formula";
  const std::int32_t routing = routing_at(graph, time);
  for (const Part& part : pattern.parts) {
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
    const double alpha = alpha_of(part, routing);
    const double seconds = alpha + part.beta * payload + bytes_time;
    if (seconds <= slowest) continue;
    slowest = seconds;
    if (alpha > seconds / 2) {
      wire = "latency";
    } else {
      wire = tier >= 0 && bytes_time > 0 ? graph.tiers[static_cast<std::size_t>(tier)] : "formula";
    }
  }
  return wire;
}

class Walk {
 public:
  Walk(const StepGraph& graph, const Timeline& timeline) : graph_(graph), timeline_(timeline), calls_(graph) {}

  std::vector<PathPart> run() {
    Event event = last();
    double time = timeline_.end;  // everything after it has its part
    // Each event is met at most once; the bound keeps a timeline that contradicts its graph from looping for ever.
    std::uint64_t steps = count_events(graph_);
    while (event.op >= 0 && steps-- > 0) {
      event = latest_member(event);
      if (span(event).end < time - tolerance()) push(unexplained(event, time - span(event).end));
      time = std::min(time, span(event).end);
      push(part_of(event, time - span(event).start));
      time = span(event).start;
      event = predecessor(event);
    }
    if (time > 0) push(unexplained({}, time));
    std::reverse(parts_.begin(), parts_.end());
    return std::move(parts_);
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

  // Of a transfer, the call of the member that was ready last; on a tie the path stays on its rank. Else the event.
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

  // What the event waited for on its own rank: the op before it on its stream or one of `after`, whichever ended last.
  Event predecessor(Event event) {
    Event found;
    const auto consider = [&](std::int32_t candidate) {
      const Event e{event.rank, candidate};
      if (candidate >= 0 && (found.op < 0 || span(e).end > span(found).end)) found = e;
    };
    consider(before_on_stream(event));
    for (const auto candidate : op(event).after) consider(candidate);
    return found;
  }

  std::int32_t before_on_stream(Event event) {
    const auto p = static_cast<std::size_t>(graph_.ranks[event.rank].program);
    const Program& program = graph_.programs[p];
    before_.resize(graph_.programs.size());
    if (before_[p].empty()) {
      std::vector<std::int32_t> latest(program.streams.size(), -1);
      for (std::size_t i = 0; i < program.ops.size(); ++i) {
        auto& previous = latest[program.ops[i].stream];
        before_[p].push_back(previous);
        previous = static_cast<std::int32_t>(i);
      }
    }
    return before_[p][static_cast<std::size_t>(event.op)];
  }

  PathPart part_of(Event event, double seconds) const {
    const Op& o = op(event);
    PathPart part{.kind = "compute",
                  .dimension = "none",
                  .wire = "",
                  .phase = std::string(to_text(o.tags.phase)),
                  .rank = graph_.ranks[event.rank].original,
                  .seconds = seconds};
    if (o.kind == OpKind::delay) part.kind = "delay";
    if (o.kind != OpKind::transfer) return part;
    const Group& group = group_of(graph_, event.rank, o);
    part.kind = "transfer";
    part.dimension = to_text(dimension_of(group, o));
    part.wire = wire_of(graph_, pattern_of(group, o), o.payload_bytes, span(event).start);
    return part;
  }

  // Time in which no predecessor ran: an engine's timeline has none.
  PathPart unexplained(Event event, double seconds) const {
    const int rank = graph_.ranks.empty() ? 0 : graph_.ranks[event.rank].original;
    return {.kind = "other", .dimension = "none", .wire = "", .phase = "other", .rank = rank, .seconds = seconds};
  }

  void push(PathPart part) {
    if (part.seconds <= 0) return;
    if (!parts_.empty()) {
      PathPart& later = parts_.back();
      const bool alike = later.kind == part.kind && later.dimension == part.dimension && later.wire == part.wire &&
                         later.phase == part.phase && later.rank == part.rank;
      if (alike) {
        later.seconds += part.seconds;
        return;
      }
    }
    parts_.push_back(std::move(part));
  }

  const StepGraph& graph_;
  const Timeline& timeline_;
  CallIndex calls_;
  std::vector<std::vector<std::int32_t>> before_;  // [program][op] -> op before it on its stream
  std::vector<PathPart> parts_;
};

}  // namespace

CriticalPath critical_path(const StepGraph& graph, const Timeline& timeline) {
  CriticalPath path;
  path.parts = Walk(graph, timeline).run();
  for (const PathPart& part : path.parts) {
    path.by_kind[part.kind] += part.seconds;
    path.by_dimension[part.dimension] += part.seconds;
    path.by_phase[part.phase] += part.seconds;
    path.by_rank[part.rank] += part.seconds;
    if (!part.wire.empty()) path.by_wire[part.wire] += part.seconds;
  }
  return path;
}

}  // namespace stepsim
