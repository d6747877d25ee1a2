// Who waits for whom.
#include <algorithm>

#include "sim/graph/changes.hpp"
#include "sim/report/chain.hpp"
#include "sim/report/report.hpp"

namespace stepsim {
namespace {

struct Wait {
  double ready, start;
  std::int32_t op;
};

// The slowest rank on the chain that leads to an event.
class SlowRanks {
 public:
  struct Slow {
    std::int32_t rank = -1;  // of the graph
    double speed = 1;
  };

  SlowRanks(const StepGraph& graph, const Timeline& timeline, const StepIndex& index)
      : graph_(graph), timeline_(timeline), chain_(graph, timeline, index) {
    any_ = std::any_of(graph.ranks.begin(), graph.ranks.end(), [](const Rank& rank) {
      return rank.speed < 1 || std::any_of(rank.speed_changes.begin(), rank.speed_changes.end(),
                                           [](const Change& c) { return c.value < 1; });
    });
    if (any_) known_.resize(graph.ranks.size());
  }

  // What made `rank` ready for its op.
  Slow before(std::size_t rank, std::int32_t op) {
    if (!any_) return {};
    std::vector<StepEvent> path;
    Slow slow;
    for (StepEvent event = chain_.predecessor({rank, op}); event.op >= 0; event = chain_.predecessor(path.back())) {
      event = chain_.latest_member(event);
      auto& known = known_[event.rank];
      if (known.empty()) known.assign(program_of(graph_, event.rank).ops.size(), -1);
      const std::int32_t entry = known[static_cast<std::size_t>(event.op)];
      if (entry >= 0) {
        slow = found_[static_cast<std::size_t>(entry)];
        break;
      }
      path.push_back(event);
    }
    for (std::size_t i = path.size(); i-- > 0;) {
      const StepEvent event = path[i];
      const double speed = speed_of(event);
      if (speed < 1 && speed <= slow.speed) slow = {static_cast<std::int32_t>(event.rank), speed};
      known_[event.rank][static_cast<std::size_t>(event.op)] = number_of(slow);
    }
    return slow;
  }

 private:
  // There are as many chains as events, and few answers: each is kept once.
  std::int32_t number_of(const Slow& slow) {
    const auto [it, fresh] = numbers_.try_emplace({slow.rank, slow.speed}, static_cast<std::int32_t>(found_.size()));
    if (fresh) found_.push_back(slow);
    return it->second;
  }

  // The lowest while a compute op ran; 1 for others.
  double speed_of(StepEvent event) const {
    const Rank& rank = graph_.ranks[event.rank];
    const Span& span = timeline_.spans[event.rank][static_cast<std::size_t>(event.op)];
    if (program_of(graph_, event.rank).ops[static_cast<std::size_t>(event.op)].kind != OpKind::compute ||
        !(span.start < span.end))
      return 1;
    double speed = value_at(rank.speed, rank.speed_changes, span.start);
    for (const Change& change : rank.speed_changes) {
      if (span.start < change.time && change.time < span.end) speed = std::min(speed, change.value);
    }
    return speed;
  }

  const StepGraph& graph_;
  const Timeline& timeline_;
  Chain chain_;
  bool any_ = false;
  std::vector<std::vector<std::int32_t>> known_;  // [rank][op] into found_, -1: not looked for yet
  std::vector<Slow> found_;
  std::map<std::pair<std::int32_t, double>, std::int32_t> numbers_;
};

class Blame {
 public:
  Blame(const StepGraph& graph, const Timeline& timeline, const StepIndex& index)
      : graph_(graph), timeline_(timeline), calls_(index.calls), slow_(graph, timeline, index), last_(graph.groups.size()) {
    for (const Rank& rank : graph.ranks) speed_.push_back(mean_value(rank.speed, rank.speed_changes, timeline.end));
  }

  double speed(std::size_t rank) const { return speed_[rank]; }

  struct Cause {
    std::size_t last = 0;  // the member of a transfer's call that came last
    SlowRanks::Slow slow;  // why
  };
  Cause of(std::size_t rank, std::int32_t op) {
    const Program& program = program_of(graph_, rank);
    const std::int16_t slot = program.ops[static_cast<std::size_t>(op)].slot;
    const auto group = static_cast<std::size_t>(graph_.ranks[rank].slots[static_cast<std::size_t>(slot)]);
    const std::int32_t program_id = graph_.ranks[rank].program;
    const auto number = static_cast<std::size_t>(calls_.number_of(program_id, op));
    auto& known = last_[group];
    if (known.empty()) known.assign(calls_.calls(program_id, slot).size(), -1);
    if (known[number] < 0) known[number] = find_last(graph_.groups[group], number);
    const Endpoint& last = graph_.groups[group].endpoints[static_cast<std::size_t>(known[number])];
    const auto last_rank = static_cast<std::size_t>(last.rank);
    return {last_rank, slow_.before(last_rank, calls_.calls(graph_.ranks[last_rank].program, last.slot)[number])};
  }

 private:
  // Index into the group's endpoints.
  std::int32_t find_last(const Group& group, std::size_t number) const {
    const double moment = 1e-9 * timeline_.end;
    std::int32_t last = -1;
    double latest = 0, last_speed = 1;
    for (std::size_t i = 0; i < group.endpoints.size(); ++i) {
      const Endpoint& e = group.endpoints[i];
      const auto rank = static_cast<std::size_t>(e.rank);
      const auto op = calls_.calls(graph_.ranks[rank].program, e.slot)[number];
      const double ready = timeline_.spans[rank][static_cast<std::size_t>(op)].ready;
      const bool with_it = last >= 0 && ready >= latest - moment;
      if (last < 0 || ready > latest + moment || (with_it && speed_[rank] < last_speed)) {
        last = static_cast<std::int32_t>(i);
        last_speed = speed_[rank];
      }
      latest = std::max(latest, ready);
    }
    return last;
  }

  const StepGraph& graph_;
  const Timeline& timeline_;
  const CallIndex& calls_;
  SlowRanks slow_;
  std::vector<std::vector<std::int32_t>> last_;  // [group][call] endpoint, -1: not looked for yet
  std::vector<double> speed_;                    // [rank] mean over the step
};

std::vector<Wait> waits_of(const StepGraph& graph, const Timeline& timeline, std::size_t rank) {
  std::vector<Wait> waits;
  const auto& ops = program_of(graph, rank).ops;
  for (std::size_t i = 0; i < ops.size(); ++i) {
    if (ops[i].kind != OpKind::transfer) continue;
    const Span& span = timeline.spans[rank][i];
    if (!(span.ready < span.start) || pattern_of(group_of(graph, rank, ops[i]), ops[i]).operation == kPointToPoint)
      continue;
    waits.push_back({span.ready, span.start, static_cast<std::int32_t>(i)});
  }
  std::stable_sort(waits.begin(), waits.end(), [](const Wait& a, const Wait& b) { return a.ready < b.ready; });
  return waits;
}

}  // namespace

// A moment in which several calls wait counts for the one that has waited longest.
std::vector<WaitRow> who_waits(const StepGraph& graph, const Timeline& timeline, const StepIndex& index) {
  Blame blame(graph, timeline, index);
  std::vector<WaitRow> rows;
  for (std::size_t r = 0; r < graph.ranks.size(); ++r) {
    const std::vector<Wait> waits = waits_of(graph, timeline, r);
    if (waits.empty()) continue;
    const Coverage busy(busy_of(graph, timeline, r));
    std::map<std::pair<std::size_t, std::int32_t>, std::pair<double, double>>
        seconds;  // by who came last and why: wait, speed
    double covered = 0;
    for (const Wait& wait : waits) {
      const double begin = std::max(wait.ready, covered);
      covered = std::max(covered, wait.start);
      if (!(begin < wait.start)) continue;
      const double idle = wait.start - begin - busy.within(begin, wait.start);
      if (!(idle > 0)) continue;
      const Blame::Cause cause = blame.of(r, wait.op);
      auto& [sum, speed] = seconds.try_emplace({cause.last, cause.slow.rank}, 0, 1).first->second;
      sum += idle;
      speed = std::min(speed, cause.slow.speed);
    }
    const std::size_t first = rows.size();
    for (const auto& [cause, waited] : seconds) {
      const auto& [other, slow] = cause;
      const Rank &mine = graph.ranks[r], &theirs = graph.ranks[other];
      rows.push_back({.rank = mine.original,
                      .count = mine.count,
                      .stage = program_of(graph, r).pipeline_rank,
                      .for_rank = theirs.original,
                      .for_count = theirs.count,
                      .for_stage = program_of(graph, other).pipeline_rank,
                      .for_speed = blame.speed(other),
                      .wait_s = waited.first,
                      .slow_rank = slow < 0 ? -1 : graph.ranks[static_cast<std::size_t>(slow)].original,
                      .slow_speed = waited.second});
    }
    std::stable_sort(rows.begin() + static_cast<std::ptrdiff_t>(first), rows.end(),
                     [](const WaitRow& a, const WaitRow& b) { return a.wait_s > b.wait_s; });
  }
  return rows;
}

}  // namespace stepsim
