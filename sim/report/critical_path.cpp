// The critical path, summed up in every way a reader asks for.
#include <algorithm>
#include <array>
#include <string_view>

#include "sim/report/calls.hpp"
#include "sim/report/path_walk.hpp"
#include "sim/report/report.hpp"

namespace stepsim {
namespace {

constexpr std::size_t most_chains = 10;
constexpr std::size_t most_events = 20;  // of a chain

// Besides the tiers of the graph.
constexpr int kFormula = -1, kLatency = -2, kNoWire = -3;

// What a step of the path does. There are as many steps as events: texts are made for what is kept.
struct Doing {
  std::string_view kind = "other";
  Dimension dimension = Dimension::none;
  int wire = kNoWire;
  Phase phase = Phase::other;

  bool operator==(const Doing&) const = default;
};
struct Event {
  Doing doing;
  std::string_view name;
  std::int16_t stage = -1, layer = -1;
  std::int32_t microbatch = -1, count = 1;
  double begin = 0, seconds = 0;
};
struct Stretch {
  std::size_t rank = 0;  // of the graph
  double begin = 0, seconds = 0;
  std::vector<Event> events;
};

std::string wire_text(const StepGraph& graph, int wire) {
  if (wire == kNoWire) return "";
  return wire == kLatency ? "latency" : wire == kFormula ? "formula" : graph.tiers[static_cast<std::size_t>(wire)];
}

// A step, and of a transfer what limits it.
struct Taken {
  Event event;
  CallLimit limit;
};

Taken take(const StepGraph& graph, const PathStep& step) {
  Taken taken;
  Event& event = taken.event;
  event.begin = step.begin;
  event.seconds = step.end - step.begin;
  event.name = event.doing.kind;
  if (step.op < 0) return taken;
  const OpView op = program_of(graph, step.rank).ops[static_cast<std::size_t>(step.op)];
  event.doing.kind = op.kind == OpKind::compute ? "compute" : op.kind == OpKind::delay ? "delay" : "transfer";
  event.doing.phase = op.tags.phase;
  event.name = graph.labels[static_cast<std::size_t>(op.tags.label)];
  event.stage = op.tags.stage;
  event.layer = op.tags.layer;
  event.microbatch = op.tags.microbatch;
  if (op.kind == OpKind::transfer) {
    const Group& group = group_of(graph, step.rank, op);
    const Pattern& pattern = pattern_of(group, op);
    event.doing.dimension = dimension_of(group, op);
    taken.limit = limit_of(graph, pattern, op.payload_bytes, step.begin);
    event.doing.wire = 2 * taken.limit.latency > event.seconds ? kLatency : taken.limit.tier;
    if (event.name.empty()) event.name = pattern.operation;
  }
  if (event.name.empty()) event.name = event.doing.kind;
  return taken;
}

// Sums of the path, in the order in which a report has them.
class Sums {
 public:
  explicit Sums(const StepGraph& graph) : graph_(graph), by_rank_(graph.ranks.size(), 0), by_tier_(graph.tiers.size(), 0) {}

  // A call pays its latency first, then its wire moves bytes: what a faster wire cannot shorten is no part of the wire's.
  void add(std::size_t rank, const Taken& taken) {
    const Event& event = taken.event;
    if (rank < by_rank_.size()) by_rank_[rank] += event.seconds;
    by_kind_[event.doing.kind] += event.seconds;
    by_dimension_[static_cast<std::size_t>(event.doing.dimension)] += event.seconds;
    by_phase_[static_cast<std::size_t>(event.doing.phase)] += event.seconds;
    seconds_of(path_.by_stage, event.stage, stage_) += event.seconds;
    seconds_of(path_.by_layer, event.layer, layer_) += event.seconds;
    Doing doing = event.doing;
    if (event.doing.kind != "transfer") return add_part(doing, rank, event.seconds);
    const double latency = std::min(taken.limit.latency, event.seconds);
    doing.wire = kLatency;
    if (latency > 0) add_part(doing, rank, latency);
    doing.wire = taken.limit.tier;
    if (event.seconds > latency) add_part(doing, rank, event.seconds - latency);
  }

  CriticalPath take() {
    close_part();
    for (const auto& [kind, seconds] : by_kind_) path_.by_kind[std::string(kind)] = seconds;
    for (std::size_t d = 0; d < by_dimension_.size(); ++d) {
      if (by_dimension_[d] > 0) path_.by_dimension[std::string(to_text(static_cast<Dimension>(d)))] = by_dimension_[d];
    }
    for (std::size_t p = 0; p < by_phase_.size(); ++p) {
      if (by_phase_[p] > 0) path_.by_phase[std::string(to_text(static_cast<Phase>(p)))] = by_phase_[p];
    }
    for (std::size_t r = 0; r < by_rank_.size(); ++r) {
      if (by_rank_[r] > 0) path_.by_rank[graph_.ranks[r].original] += by_rank_[r];
    }
    const auto wire = [&](int number, double seconds) {
      if (seconds > 0) path_.by_wire[wire_text(graph_, number)] = seconds;
    };
    wire(kLatency, latency_);
    wire(kFormula, formula_);
    for (std::size_t t = 0; t < by_tier_.size(); ++t) wire(static_cast<int>(t), by_tier_[t]);
    return std::move(path_);
  }

 private:
  // Successive events are mostly of one stage and layer.
  struct Last {
    int number = 0;
    double* seconds = nullptr;
  };
  static double& seconds_of(std::map<int, double>& sums, int number, Last& last) {
    if (last.seconds == nullptr || last.number != number) last = {number, &sums[number]};
    return *last.seconds;
  }

  void add_part(const Doing& doing, std::size_t rank, double seconds) {
    if (doing.wire == kLatency) latency_ += seconds;
    if (doing.wire == kFormula) formula_ += seconds;
    if (doing.wire >= 0) by_tier_[static_cast<std::size_t>(doing.wire)] += seconds;
    if (open_ && part_ == doing && part_rank_ == rank) {
      part_seconds_ += seconds;
      return;
    }
    close_part();
    open_ = true;
    part_ = doing;
    part_rank_ = rank;
    part_seconds_ = seconds;
  }

  void close_part() {
    if (!open_) return;
    PathPart& part = path_.parts.emplace_back(words_of(part_));
    part.rank = graph_.ranks.empty() ? 0 : graph_.ranks[part_rank_].original;
    part.seconds = part_seconds_;
    open_ = false;
  }

  // A part that does this, without its rank and time.
  const PathPart& words_of(const Doing& doing) {
    const auto known = std::find_if(done_.begin(), done_.end(), [&](const auto& one) { return one.first == doing; });
    if (known != done_.end()) return known->second;
    Words& words = path_.words;
    const PathPart part{words.number_of(doing.kind), words.number_of(to_text(doing.dimension)), words.number_of(wire_text(graph_, doing.wire)),
                        words.number_of(to_text(doing.phase)), 0, 0};
    return done_.emplace_back(doing, part).second;
  }

  const StepGraph& graph_;
  CriticalPath path_;
  std::vector<std::pair<Doing, PathPart>> done_;
  std::map<std::string_view, double> by_kind_;
  std::array<double, static_cast<std::size_t>(Dimension::reduce) + 1> by_dimension_{};
  std::array<double, static_cast<std::size_t>(Phase::other) + 1> by_phase_{};
  std::vector<double> by_rank_, by_tier_;
  double latency_ = 0, formula_ = 0;
  Last stage_, layer_;
  bool open_ = false;
  Doing part_;
  std::size_t part_rank_ = 0;
  double part_seconds_ = 0;
};

void add_event(std::vector<Event>& events, const Event& event) {
  if (!events.empty()) {
    Event& last = events.back();
    if (last.doing == event.doing && last.name == event.name && last.stage == event.stage && last.layer == event.layer) {
      if (last.microbatch != event.microbatch) last.microbatch = -1;
      last.seconds += event.seconds;
      ++last.count;
      return;
    }
  }
  events.push_back(event);
}

// The longest events, in order of time.
std::vector<Event> longest_of(const std::vector<Event>& events, double& left_out) {
  if (events.size() <= most_events) return events;
  std::vector<double> lengths;
  for (const Event& e : events) lengths.push_back(e.seconds);
  std::nth_element(lengths.begin(), lengths.begin() + most_events - 1, lengths.end(), std::greater<>());
  const double shortest = lengths[most_events - 1];
  std::size_t room = most_events;
  for (const Event& e : events) room -= e.seconds > shortest;
  std::vector<Event> kept;
  for (const Event& e : events) {
    const bool tie = e.seconds == shortest && room > 0;
    if (e.seconds > shortest || tie) {
      room -= tie;
      kept.push_back(e);
    } else {
      left_out += e.seconds;
    }
  }
  return kept;
}

std::vector<PathChain> longest_of(const StepGraph& graph, std::vector<Stretch> stretches) {
  std::stable_sort(stretches.begin(), stretches.end(), [](const Stretch& a, const Stretch& b) { return a.seconds > b.seconds; });
  if (stretches.size() > most_chains) stretches.resize(most_chains);
  std::vector<PathChain> chains;
  for (const Stretch& stretch : stretches) {
    PathChain& chain = chains.emplace_back();
    chain.rank = graph.ranks.empty() ? 0 : graph.ranks[stretch.rank].original;
    chain.begin_s = stretch.begin;
    chain.seconds = stretch.seconds;
    for (const Event& e : longest_of(stretch.events, chain.left_out_s)) {
      chain.events.push_back({.name = std::string(e.name),
                              .kind = std::string(e.doing.kind),
                              .dimension = std::string(to_text(e.doing.dimension)),
                              .wire = wire_text(graph, e.doing.wire),
                              .phase = std::string(to_text(e.doing.phase)),
                              .stage = e.stage,
                              .layer = e.layer,
                              .microbatch = e.microbatch,
                              .count = e.count,
                              .begin_s = e.begin,
                              .seconds = e.seconds});
    }
  }
  return chains;
}

}  // namespace

CriticalPath critical_path(const StepGraph& graph, const Timeline& timeline, const StepIndex& index) {
  Sums sums(graph);
  std::vector<Stretch> stretches;
  for (const PathStep& step : walk_path(graph, timeline, index)) {
    const Taken taken = take(graph, step);
    sums.add(step.rank, taken);
    if (stretches.empty() || stretches.back().rank != step.rank) stretches.push_back({.rank = step.rank, .begin = step.begin, .events = {}});
    stretches.back().seconds += taken.event.seconds;
    add_event(stretches.back().events, taken.event);
  }
  CriticalPath path = sums.take();
  path.chains = longest_of(graph, std::move(stretches));
  return path;
}

}  // namespace stepsim
