#include "workloads/auto_schedule.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <optional>

#include "sim/base/errors.hpp"
#include "workloads/auto_greedy.hpp"
#include "workloads/auto_patterns.hpp"
#include "workloads/schedules/schedules.hpp"

namespace stepsim {

namespace {

constexpr double tolerance = 1e-9;

struct Candidate {
  Schedule schedule;
  PassTimes times;  // of its stages
  Seconds makespan;
  double memory = 0;  // in microbatches of a rank's share
  std::string origin;
};

Candidate weighed(Schedule schedule, const AutoRequest& request, std::string origin) {
  Candidate candidate;
  candidate.times = cut_times(request.times, request.ranks, schedule.stages);
  candidate.makespan = times_of(schedule, candidate.times).makespan;
  const std::vector<double> peaks = peak_in_flight(schedule, request.kept_for_weight);
  candidate.memory = *std::max_element(peaks.begin(), peaks.end()) * request.ranks / schedule.stages;
  candidate.schedule = std::move(schedule);
  candidate.origin = std::move(origin);
  return candidate;
}

bool fits(const Candidate& candidate, const AutoRequest& request) {
  return candidate.memory <= request.memory_cap + tolerance;
}

void keep_better(std::optional<Candidate>& best, Candidate candidate) {
  if (!best || candidate.makespan < best->makespan) best = std::move(candidate);
}

// Every schedule of the table that holds a stage once. Interleaved ones with few chunks: each costs messages and
// memory.
std::vector<std::pair<std::string, Schedule>> table_schedules(const AutoRequest& request) {
  std::vector<std::pair<std::string, Schedule>> all;
  for (const ScheduleKind& kind : schedules()) {
    if (kind.copies != 1) continue;
    const int first = kind.fixed_chunks != 0 ? kind.fixed_chunks : 2;
    const int last = kind.fixed_chunks != 0 ? kind.fixed_chunks : request.most_chunks;
    for (int chunks = first; chunks <= last; ++chunks) {
      const ScheduleShape shape{request.ranks, chunks, request.microbatches};
      if (chunks <= std::max(1, request.most_chunks) && kind.refuses(shape).empty())
        all.emplace_back(kind.name, kind.make(shape));
    }
  }
  return all;
}

// Rules worth trying: of some four hundred these were the best, or within a thousandth of it, on random requests.
std::vector<Preference> preferences(int chunks) {
  std::vector<Preference> all;
  for (const double patience : {1.0, 0.75, 0.5, 0.25, 0.0}) {
    for (const double hold : {0.0, 0.5}) {
      if (chunks == 1) {
        for (const double slope : {0.0, 0.5}) all.push_back({.patience = patience, .hold = hold, .slope = slope});
        continue;
      }
      for (const bool later_first : {true, false}) {
        for (const bool last_first : {true, false}) all.push_back({later_first, last_first, patience, hold});
      }
    }
  }
  return all;
}

GreedyRequest greedy_request(const AutoRequest& request, Schedule shape) {
  GreedyRequest greedy;
  greedy.times = cut_times(request.times, request.ranks, shape.stages);
  greedy.memory_cap = request.memory_cap * shape.stages / request.ranks;
  greedy.kept_for_weight = request.kept_for_weight;
  greedy.shape = std::move(shape);
  return greedy;
}

// Of one request under several preferences; what is found is only weighed fully when it is better.
void try_greedy(const AutoRequest& request, GreedyRequest greedy, const std::vector<Preference>& preferences,
                std::optional<Candidate>& best) {
  for (const Preference& preference : preferences) {
    if (best) greedy.limit = best->makespan.value;
    std::optional<GreedyResult> result = greedy_schedule(greedy, preference);
    if (!result || (best && result->makespan >= best->makespan)) continue;
    Candidate candidate = weighed(std::move(result->schedule), request, "automatic");
    if (fits(candidate, request)) keep_better(best, std::move(candidate));
  }
}

void try_kept_orders(const AutoRequest& request, std::vector<Schedule> orders, std::optional<Candidate>& best) {
  for (Schedule& order : orders) {
    GreedyRequest greedy = greedy_request(request, std::move(order));
    greedy.keep_order = true;
    std::vector<Preference> preferences;
    for (const double patience : {1.0, 0.75, 0.5, 0.25, 0.0}) preferences.push_back({.patience = patience});
    try_greedy(request, greedy, preferences, best);
  }
}

// Written pass by pass, on one chunk a rank and on two in a V.
void try_new_orders(const AutoRequest& request, std::optional<Candidate>& best) {
  for (int chunks = 1; chunks <= std::min(2, request.most_chunks); ++chunks) {
    Schedule empty = chunks == 1 ? looped_schedule(request.ranks, 1, request.microbatches)
                                 : v_schedule(request.ranks, request.microbatches);
    try_greedy(request, greedy_request(request, std::move(empty)), preferences(chunks), best);
  }
}

void refuse(const AutoRequest& request) {
  std::vector<Problem> problems;
  const auto add = [&](std::string reason) { problems.push_back({"", 0, "", std::move(reason)}); };
  if (request.ranks < 1) add(fmt::format("{} pipeline ranks: at least 1", request.ranks));
  if (request.microbatches < 1) add(fmt::format("{} microbatches: at least 1", request.microbatches));
  if (request.most_chunks < 1) add(fmt::format("at most {} chunks a rank: at least 1", request.most_chunks));
  if (!(request.memory_cap >= 1)) {
    add(fmt::format("memory for {} microbatches in flight a rank: at least 1 must fit", request.memory_cap));
  }
  const std::size_t stages = request.times.stages.size();
  if (stages != 1 && stages != static_cast<std::size_t>(std::max(request.ranks, 0))) {
    add(fmt::format("pass times of {} parts of the model: one for all or one for each of {} ranks", stages,
                    request.ranks));
  }
  if (!problems.empty()) throw InputError(std::move(problems));
}

}  // namespace

PassTimes cut_times(const PassTimes& times, int ranks, int stages) {
  PassTimes cut;
  cut.communication = times.communication;
  const double part = static_cast<double>(ranks) / stages;
  if (times.pair) cut.pair = *times.pair * part;
  if (times.stages.size() == 1) {
    const StageTimes& all = times.stages[0];
    cut.stages = {{all.forward * part, all.input_gradient * part, all.weight_gradient * part}};
    return cut;
  }
  for (int stage = 0; stage < stages; ++stage) {
    StageTimes sum;
    const double from = stage * part, to = (stage + 1) * part;
    for (int rank = 0; rank < ranks; ++rank) {
      const double covered = std::min(to, rank + 1.0) - std::max(from, static_cast<double>(rank));
      if (covered <= 0) continue;
      sum.forward += times.stages[rank].forward * covered;
      sum.input_gradient += times.stages[rank].input_gradient * covered;
      sum.weight_gradient += times.stages[rank].weight_gradient * covered;
    }
    cut.stages.push_back(sum);
  }
  return cut;
}

AutoSchedule automatic_schedule(const AutoRequest& request) {
  refuse(request);
  std::optional<Candidate> best;
  std::vector<Schedule> orders;
  for (auto& [name, schedule] : table_schedules(request)) {
    Candidate candidate = weighed(schedule, request, name);
    if (fits(candidate, request)) keep_better(best, std::move(candidate));
    orders.push_back(std::move(schedule));
  }
  AutoSchedule result;
  if (best) {
    result.best_named = best->origin;
    result.best_named_makespan = best->makespan;
  }
  if (request.most_chunks >= 2) {
    constexpr std::size_t patterns = 24;
    const ScheduleShape shape{request.ranks, 2, request.microbatches};
    for (Schedule& order : v_pattern_schedules(shape, request.memory_cap * 2, patterns))
      orders.push_back(std::move(order));
  }
  try_kept_orders(request, std::move(orders), best);
  try_new_orders(request, best);
  result.schedule = std::move(best->schedule);
  result.makespan = best->makespan;
  result.memory = best->memory;
  result.origin = best->origin;
  return result;
}

}  // namespace stepsim
