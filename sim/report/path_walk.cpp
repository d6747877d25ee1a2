#include "sim/report/path_walk.hpp"

#include <algorithm>

#include "sim/graph/changes.hpp"
#include "sim/report/chain.hpp"

namespace stepsim {
namespace {

class Walk {
 public:
  Walk(const StepGraph& graph, const Timeline& timeline, const StepIndex& index)
      : graph_(graph), timeline_(timeline), chain_(graph, timeline, index) {}

  std::vector<PathStep> run() {
    StepEvent event = last();
    double time = timeline_.end;  // everything after it has its step
    // Each event is met at most once; the bound keeps a timeline that contradicts its graph from looping for ever.
    std::uint64_t steps = count_events(graph_);
    while (event.op >= 0 && steps-- > 0) {
      event = chain_.latest_member(event);
      if (span(event).end < time - tolerance()) {
        push({event.rank, -1, span(event).end, time});
        time = span(event).end;
      }
      const double begin = std::min(span(event).start, time);
      push({event.rank, event.op, begin, time});
      time = begin;
      event = chain_.predecessor(event);
    }
    push({0, -1, 0, time});
    std::reverse(steps_.begin(), steps_.end());
    return std::move(steps_);
  }

 private:
  const Span& span(StepEvent e) const { return chain_.span(e); }
  double tolerance() const { return 1e-9 * timeline_.end; }

  StepEvent last() const {
    StepEvent found;
    for (std::size_t r = 0; r < graph_.ranks.size(); ++r) {
      const auto& spans = timeline_.spans[r];
      for (std::size_t i = 0; i < spans.size(); ++i) {
        if (found.op < 0 || spans[i].end > span(found).end) found = {r, static_cast<std::int32_t>(i)};
      }
    }
    return found;
  }

  void push(const PathStep& step) {
    if (step.end > step.begin) steps_.push_back(step);
  }

  const StepGraph& graph_;
  const Timeline& timeline_;
  Chain chain_;
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
  return {last.tier, std::max(last.latency, 0.0)};
}

std::vector<PathStep> walk_path(const StepGraph& graph, const Timeline& timeline, const StepIndex& index) {
  return Walk(graph, timeline, index).run();
}

}  // namespace stepsim
