// Who waits for whom.
#include <algorithm>

#include "sim/graph/changes.hpp"
#include "sim/report/calls.hpp"
#include "sim/report/report.hpp"

namespace stepsim {
namespace {

struct Wait {
  double ready, start;
  std::int32_t op;
};

class Blame {
 public:
  Blame(const StepGraph& graph, const Timeline& timeline)
      : graph_(graph), timeline_(timeline), calls_(graph), last_(graph.groups.size()) {
    for (const Rank& rank : graph.ranks) speed_.push_back(mean_value(rank.speed, rank.speed_changes, timeline.end));
  }

  double speed(std::size_t rank) const { return speed_[rank]; }

  // The member of a transfer's call that came last.
  std::size_t last_of(std::size_t rank, std::int32_t op) {
    const Program& program = program_of(graph_, rank);
    const std::int16_t slot = program.ops[static_cast<std::size_t>(op)].slot;
    const auto group = static_cast<std::size_t>(graph_.ranks[rank].slots[static_cast<std::size_t>(slot)]);
    const std::int32_t program_id = graph_.ranks[rank].program;
    const auto number = static_cast<std::size_t>(calls_.number_of(program_id, op));
    auto& known = last_[group];
    if (known.empty()) known.assign(calls_.calls(program_id, slot).size(), -1);
    if (known[number] < 0) known[number] = find_last(graph_.groups[group], number);
    return static_cast<std::size_t>(known[number]);
  }

 private:
  RankId find_last(const Group& group, std::size_t number) const {
    RankId last = -1;
    double latest = 0;
    for (const Endpoint& e : group.endpoints) {
      const auto rank = static_cast<std::size_t>(e.rank);
      const auto op = calls_.calls(graph_.ranks[rank].program, e.slot)[number];
      const double ready = timeline_.spans[rank][static_cast<std::size_t>(op)].ready;
      const double moment = 1e-9 * timeline_.end;
      const bool with_it = last >= 0 && ready >= latest - moment;
      const bool slower = with_it && speed_[rank] < speed_[static_cast<std::size_t>(last)];
      if (last < 0 || ready > latest + moment || slower) last = e.rank;
      latest = std::max(latest, ready);
    }
    return last;
  }

  const StepGraph& graph_;
  const Timeline& timeline_;
  CallIndex calls_;
  std::vector<std::vector<RankId>> last_;  // [group][call], -1: not looked for yet
  std::vector<double> speed_;              // [rank] mean over the step
};

std::vector<Wait> waits_of(const StepGraph& graph, const Timeline& timeline, std::size_t rank) {
  std::vector<Wait> waits;
  const auto& ops = program_of(graph, rank).ops;
  for (std::size_t i = 0; i < ops.size(); ++i) {
    if (ops[i].kind != OpKind::transfer) continue;
    const Span& span = timeline.spans[rank][i];
    if (!(span.ready < span.start) || pattern_of(group_of(graph, rank, ops[i]), ops[i]).operation == point_to_point) continue;
    waits.push_back({span.ready, span.start, static_cast<std::int32_t>(i)});
  }
  std::stable_sort(waits.begin(), waits.end(), [](const Wait& a, const Wait& b) { return a.ready < b.ready; });
  return waits;
}

}  // namespace

// A moment in which several calls wait counts for the one that has waited longest.
std::vector<WaitRow> who_waits(const StepGraph& graph, const Timeline& timeline) {
  Blame blame(graph, timeline);
  std::vector<WaitRow> rows;
  for (std::size_t r = 0; r < graph.ranks.size(); ++r) {
    const std::vector<Wait> waits = waits_of(graph, timeline, r);
    if (waits.empty()) continue;
    const Activity activity = activity_of(graph, timeline, r);
    const Coverage busy(unite(activity.compute, activity.moving));
    std::map<std::size_t, double> seconds;  // by the rank waited for
    double covered = 0;
    for (const Wait& wait : waits) {
      const double begin = std::max(wait.ready, covered);
      covered = std::max(covered, wait.start);
      if (!(begin < wait.start)) continue;
      const double idle = wait.start - begin - busy.within(begin, wait.start);
      if (idle > 0) seconds[blame.last_of(r, wait.op)] += idle;
    }
    const std::size_t first = rows.size();
    for (const auto& [other, wait] : seconds) {
      const Rank &mine = graph.ranks[r], &theirs = graph.ranks[other];
      rows.push_back({.rank = mine.original,
                      .count = mine.count,
                      .stage = program_of(graph, r).pipeline_rank,
                      .for_rank = theirs.original,
                      .for_count = theirs.count,
                      .for_stage = program_of(graph, other).pipeline_rank,
                      .for_speed = blame.speed(other),
                      .wait_s = wait});
    }
    std::stable_sort(rows.begin() + static_cast<std::ptrdiff_t>(first), rows.end(),
                     [](const WaitRow& a, const WaitRow& b) { return a.wait_s > b.wait_s; });
  }
  return rows;
}

}  // namespace stepsim
