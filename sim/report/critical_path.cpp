// The critical path, summed up in every way a reader asks for.
#include <algorithm>

#include "sim/report/calls.hpp"
#include "sim/report/path_walk.hpp"
#include "sim/report/report.hpp"

namespace stepsim {
namespace {

constexpr std::size_t most_chains = 10;
constexpr std::size_t most_events = 20;  // of a chain

PathEvent event_of(const StepGraph& graph, const PathStep& step) {
  PathEvent event{.name = "",
                  .kind = "other",
                  .dimension = "none",
                  .wire = "",
                  .phase = "other",
                  .begin_s = step.begin,
                  .seconds = step.end - step.begin};
  if (step.op < 0) return event;
  const Op& op = program_of(graph, step.rank).ops[static_cast<std::size_t>(step.op)];
  event.name = graph.labels[static_cast<std::size_t>(op.tags.label)];
  event.kind = op.kind == OpKind::compute ? "compute" : op.kind == OpKind::delay ? "delay" : "transfer";
  event.phase = to_text(op.tags.phase);
  event.stage = op.tags.stage;
  event.layer = op.tags.layer;
  event.microbatch = op.tags.microbatch;
  if (op.kind == OpKind::transfer) {
    const Group& group = group_of(graph, step.rank, op);
    event.dimension = to_text(dimension_of(group, op));
    const CallLimit limit = limit_of(graph, pattern_of(group, op), op.payload_bytes, step.begin);
    event.wire = 2 * limit.latency > event.seconds ? "latency" : limit.wire;
    if (event.name.empty()) event.name = pattern_of(group, op).operation;
  }
  if (event.name.empty()) event.name = event.kind;
  return event;
}

// A call pays its latency first, then its wire moves bytes: what a faster wire cannot shorten is no part of the wire's.
std::vector<PathEvent> pieces_of(const StepGraph& graph, const PathStep& step, const PathEvent& event) {
  if (event.kind != "transfer") return {event};
  const Op& op = program_of(graph, step.rank).ops[static_cast<std::size_t>(step.op)];
  const CallLimit limit = limit_of(graph, pattern_of(group_of(graph, step.rank, op), op), op.payload_bytes, step.begin);
  std::vector<PathEvent> pieces;
  const double latency = std::min(limit.latency, event.seconds);
  for (const auto& [wire, seconds] :
       {std::pair{std::string("latency"), latency}, {limit.wire, event.seconds - latency}}) {
    if (seconds <= 0) continue;
    pieces.push_back(event);
    pieces.back().wire = wire;
    pieces.back().seconds = seconds;
  }
  return pieces;
}

void add_part(std::vector<PathPart>& parts, const PathEvent& event, int rank) {
  if (!parts.empty()) {
    PathPart& last = parts.back();
    if (last.kind == event.kind && last.dimension == event.dimension && last.wire == event.wire &&
        last.phase == event.phase && last.rank == rank) {
      last.seconds += event.seconds;
      return;
    }
  }
  parts.push_back({.kind = event.kind,
                   .dimension = event.dimension,
                   .wire = event.wire,
                   .phase = event.phase,
                   .rank = rank,
                   .seconds = event.seconds});
}

void add_event(std::vector<PathEvent>& events, const PathEvent& event) {
  if (!events.empty()) {
    PathEvent& last = events.back();
    if (last.name == event.name && last.kind == event.kind && last.dimension == event.dimension &&
        last.phase == event.phase && last.wire == event.wire && last.stage == event.stage &&
        last.layer == event.layer) {
      if (last.microbatch != event.microbatch) last.microbatch = -1;
      last.seconds += event.seconds;
      ++last.count;
      return;
    }
  }
  events.push_back(event);
}

// Keeps the longest events, in order of time.
void shorten(PathChain& chain) {
  if (chain.events.size() <= most_events) return;
  std::vector<double> lengths;
  for (const PathEvent& e : chain.events) lengths.push_back(e.seconds);
  std::nth_element(lengths.begin(), lengths.begin() + most_events - 1, lengths.end(), std::greater<>());
  const double shortest = lengths[most_events - 1];
  std::size_t room = most_events;
  for (const PathEvent& e : chain.events) room -= e.seconds > shortest;
  std::vector<PathEvent> kept;
  for (PathEvent& e : chain.events) {
    const bool tie = e.seconds == shortest && room > 0;
    if (e.seconds > shortest || tie) {
      room -= tie;
      kept.push_back(std::move(e));
    } else {
      chain.left_out_s += e.seconds;
    }
  }
  chain.events = std::move(kept);
}

void keep_longest(std::vector<PathChain>& chains) {
  std::stable_sort(chains.begin(), chains.end(),
                   [](const PathChain& a, const PathChain& b) { return a.seconds > b.seconds; });
  if (chains.size() > most_chains) chains.resize(most_chains);
  for (PathChain& chain : chains) shorten(chain);
}

}  // namespace

CriticalPath critical_path(const StepGraph& graph, const Timeline& timeline, const StepIndex& index) {
  CriticalPath path;
  for (const PathStep& step : walk_path(graph, timeline, index)) {
    const PathEvent event = event_of(graph, step);
    const int rank = graph.ranks.empty() ? 0 : graph.ranks[step.rank].original;
    path.by_kind[event.kind] += event.seconds;
    path.by_dimension[event.dimension] += event.seconds;
    path.by_phase[event.phase] += event.seconds;
    path.by_rank[rank] += event.seconds;
    path.by_stage[event.stage] += event.seconds;
    path.by_layer[event.layer] += event.seconds;
    for (const PathEvent& piece : pieces_of(graph, step, event)) {
      if (!piece.wire.empty()) path.by_wire[piece.wire] += piece.seconds;
      add_part(path.parts, piece, rank);
    }
    if (path.chains.empty() || path.chains.back().rank != rank)
      path.chains.push_back({.rank = rank, .begin_s = step.begin, .events = {}});
    path.chains.back().seconds += event.seconds;
    add_event(path.chains.back().events, event);
  }
  keep_longest(path.chains);
  return path;
}

}  // namespace stepsim
