#include "workloads/schedule_times.hpp"

#include <algorithm>
#include <cassert>

#include "workloads/pass_index.hpp"

namespace stepsim {

Seconds duration(const PassTimes& times, PassKind kind, int stage) {
  const StageTimes& of = times.of(stage);
  switch (kind) {
    case PassKind::forward:
      return of.forward;
    case PassKind::backward:
      return of.input_gradient + of.weight_gradient;
    case PassKind::input_gradient:
      return of.input_gradient;
    case PassKind::weight_gradient:
      return of.weight_gradient;
  }
  return {};
}

Seconds ScheduleTimes::stall(int rank) const {
  if (spans[rank].empty()) return {};
  return spans[rank].back().end - spans[rank].front().start - busy[rank];
}

ScheduleTimes times_of(const Schedule& schedule, const PassTimes& times) {
  ScheduleTimes result;
  result.busy.resize(schedule.ranks());
  for (const std::vector<Pass>& order : schedule.order) result.spans.emplace_back(order.size());
  const PassIndex index(schedule);
  const auto run = [&](int rank, int first, int count) {
    Seconds start = first == 0 ? Seconds{} : result.spans[rank][first - 1].end;
    Seconds takes;
    for (int i = first; i < first + count; ++i) {
      const Pass& pass = schedule.order[rank][i];
      takes += duration(times, pass.kind, schedule.placement[rank][pass.chunk]);
      for (PassPosition need : index.needs(rank, pass)) {
        if (!need.exists()) continue;
        const Seconds ended = result.spans[need.rank][need.index].end;
        start = std::max(start, need.rank == rank ? ended : ended + times.communication);
      }
    }
    if (count == 2 && times.pair) takes = *times.pair;
    for (int i = first; i < first + count; ++i) result.spans[rank][i] = {start, start + takes};
    result.busy[rank] += takes;
    result.makespan = std::max(result.makespan, start + takes);
  };
  [[maybe_unused]] const std::vector<int> done = walk(schedule, index, run);
  for (int rank = 0; rank < schedule.ranks(); ++rank) {
    assert(done[rank] == static_cast<int>(schedule.order[rank].size()));
  }
  return result;
}

std::vector<double> peak_in_flight(const Schedule& schedule, double kept_for_weight) {
  std::vector<double> peaks;
  for (const std::vector<Pass>& order : schedule.order) {
    double held = 0, peak = 0;
    const auto free = [&](const Pass& pass) {
      if (pass.kind == PassKind::backward) held -= 1;
      if (pass.kind == PassKind::input_gradient) held -= 1 - kept_for_weight;
      if (pass.kind == PassKind::weight_gradient) held -= kept_for_weight;
    };
    for (std::size_t i = 0; i < order.size(); ++i) {
      const std::size_t last = order[i].paired_with_next ? i + 1 : i;
      for (std::size_t j = i; j <= last; ++j) held += order[j].kind == PassKind::forward ? 1 : 0;
      peak = std::max(peak, held);
      for (std::size_t j = i; j <= last; ++j) free(order[j]);
      i = last;
    }
    peaks.push_back(peak);
  }
  return peaks;
}

}  // namespace stepsim
