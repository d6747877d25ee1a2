#include <fmt/format.h>

#include <algorithm>

#include "workloads/pass_index.hpp"
#include "workloads/schedule.hpp"
#include "workloads/schedule_deadlock.hpp"

namespace stepsim {

namespace {

constexpr std::size_t most_problems =
    20;  // a file that is wrong throughout need not say so in a hundred thousand lines

std::vector<std::string> table_problems(const Schedule& schedule) {
  std::vector<std::string> problems;
  const std::size_t ranks = schedule.order.size();
  if (ranks == 0) problems.push_back("the schedule has no pipeline rank");
  if (schedule.stages < 1) problems.push_back("the schedule has no stage");
  if (schedule.microbatches < 1) problems.push_back("the schedule has no microbatch");
  if (schedule.placement.size() != ranks || schedule.direction.size() != ranks) {
    problems.push_back(fmt::format("stages are placed on {} ranks, with directions for {}, but {} ranks have passes",
                                   schedule.placement.size(), schedule.direction.size(), ranks));
    return problems;
  }
  if (static_cast<int>(schedule.microbatch_direction.size()) != schedule.microbatches) {
    problems.push_back(fmt::format("{} microbatches, but directions for {}", schedule.microbatches,
                                   schedule.microbatch_direction.size()));
  }
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    if (schedule.placement[rank].size() != schedule.direction[rank].size()) {
      problems.push_back(fmt::format("rank {} holds {} chunks, but directions for {}", rank,
                                     schedule.placement[rank].size(), schedule.direction[rank].size()));
    }
    for (int stage : schedule.placement[rank]) {
      if (stage >= 0 && stage < schedule.stages) continue;
      problems.push_back(fmt::format("rank {} holds stage {}: stages are 0 to {}", rank, stage, schedule.stages - 1));
    }
  }
  return problems;
}

// Every stage of every direction that some microbatch takes must be held by exactly one rank.
std::vector<std::string> placement_problems(const Schedule& schedule) {
  std::vector<std::string> problems;
  std::vector<int> directions = schedule.microbatch_direction;
  std::sort(directions.begin(), directions.end());
  directions.erase(std::unique(directions.begin(), directions.end()), directions.end());
  const std::string in_direction = directions.size() > 1 ? " of direction {}" : "";
  for (int direction : directions) {
    std::vector<std::vector<int>> holders(schedule.stages);
    for (int rank = 0; rank < schedule.ranks(); ++rank) {
      for (std::size_t chunk = 0; chunk < schedule.placement[rank].size(); ++chunk) {
        if (schedule.direction[rank][chunk] == direction) holders[schedule.placement[rank][chunk]].push_back(rank);
      }
    }
    const std::string of = directions.size() > 1 ? fmt::format(" of direction {}", direction) : "";
    for (int stage = 0; stage < schedule.stages; ++stage) {
      if (holders[stage].size() == 1) continue;
      problems.push_back(holders[stage].empty() ? fmt::format("stage {}{} is on no rank", stage, of)
                                                : fmt::format("stage {}{} is on ranks {}: one rank must hold it", stage,
                                                              of, fmt::join(holders[stage], " and ")));
    }
  }
  return problems;
}

// Why a pass cannot stand where it does, looking at it alone; "" when it can.
std::string misplaced(const Schedule& schedule, int rank, const Pass& pass) {
  const int chunks = static_cast<int>(schedule.placement[rank].size());
  if (pass.chunk < 0 || pass.chunk >= chunks) {
    return fmt::format("{} of microbatch {} is in chunk {}, but the rank holds {}", letter_of(pass.kind),
                       pass.microbatch, pass.chunk, chunks);
  }
  if (pass.microbatch < 0 || pass.microbatch >= schedule.microbatches) {
    return fmt::format("{}: microbatches are 0 to {}", name_of(schedule, rank, pass), schedule.microbatches - 1);
  }
  const int direction = schedule.microbatch_direction[pass.microbatch];
  if (schedule.direction[rank][pass.chunk] != direction) {
    const Schedule::Place place = schedule.place_of(schedule.placement[rank][pass.chunk], direction);
    return fmt::format("{}: that microbatch runs in direction {}, whose stage {} is on rank {}",
                       name_of(schedule, rank, pass), direction, schedule.placement[rank][pass.chunk], place.rank);
  }
  return "";
}

std::string bad_pair(const Schedule& schedule, int rank, std::size_t i) {
  const std::vector<Pass>& order = schedule.order[rank];
  if (!order[i].paired_with_next) return "";
  const std::string pass = name_of(schedule, rank, order[i]);
  if (i + 1 == order.size()) return pass + " is paired with the next pass, but it is the last";
  const std::string next = name_of(schedule, rank, order[i + 1]);
  if (order[i + 1].paired_with_next) return fmt::format("{} is in two pairs", next);
  const int slots = slot_of(order[i].kind) + slot_of(order[i + 1].kind);
  const bool one_forward = (order[i].kind == PassKind::forward) != (order[i + 1].kind == PassKind::forward);
  if (one_forward && slots == 1) return "";
  return fmt::format("{} and {} are paired: a pair is one forward and one backward pass", pass, next);
}

std::vector<std::string> pass_problems(const Schedule& schedule) {
  std::vector<std::string> problems;
  const auto add = [&](int rank, std::size_t i, const std::string& what) {
    problems.push_back(fmt::format("rank {}, pass {}: {}", rank, i, what));
  };
  const PassIndex index(schedule);
  for (int rank = 0; rank < schedule.ranks(); ++rank) {
    for (std::size_t i = 0; i < schedule.order[rank].size(); ++i) {
      const Pass& pass = schedule.order[rank][i];
      if (const std::string why = misplaced(schedule, rank, pass); !why.empty()) {
        add(rank, i, why);
        continue;
      }
      const int stage = schedule.placement[rank][pass.chunk];
      const PassPosition first = slot_of(pass.kind) == 0   ? index.forward(stage, pass.microbatch)
                                 : slot_of(pass.kind) == 1 ? index.input_gradient(stage, pass.microbatch)
                                                           : index.weight_gradient(stage, pass.microbatch);
      if (first != PassPosition{rank, static_cast<int>(i)}) {
        const Pass& other = schedule.order[first.rank][first.index];
        add(rank, i,
            fmt::format("{} repeats {} (pass {})", name_of(schedule, rank, pass), name_of(schedule, first.rank, other),
                        first.index));
      }
    }
  }
  return problems;
}

std::vector<std::string> pair_problems(const Schedule& schedule) {
  std::vector<std::string> problems;
  for (int rank = 0; rank < schedule.ranks(); ++rank) {
    for (std::size_t i = 0; i < schedule.order[rank].size(); ++i) {
      const std::string why = bad_pair(schedule, rank, i);
      if (!why.empty()) problems.push_back(fmt::format("rank {}, pass {}: {}", rank, i, why));
    }
  }
  return problems;
}

std::vector<std::string> missing_passes(const Schedule& schedule) {
  std::vector<std::string> problems;
  const PassIndex index(schedule);
  for (int stage = 0; stage < schedule.stages; ++stage) {
    for (int m = 0; m < schedule.microbatches; ++m) {
      const auto missing = [&](std::string_view what) {
        const Schedule::Place place = schedule.place_of(stage, schedule.microbatch_direction[m]);
        problems.push_back(
            fmt::format("rank {}: {} of microbatch {} at stage {} is missing", place.rank, what, m, stage));
      };
      if (!index.forward(stage, m).exists()) missing("F");
      const PassPosition gradient = index.input_gradient(stage, m);
      const PassPosition weight = index.weight_gradient(stage, m);
      if (!gradient.exists()) {
        missing("B (or I)");
        continue;
      }
      const bool full = schedule.order[gradient.rank][gradient.index].kind == PassKind::backward;
      if (full && weight.exists()) {
        problems.push_back(
            fmt::format("rank {}, pass {}: W of microbatch {} at stage {} repeats what its B (pass {}) does",
                        weight.rank, weight.index, m, stage, gradient.index));
      }
      if (!full && !weight.exists()) missing("W");
    }
  }
  return problems;
}

}  // namespace

// Each kind of check relies on the ones before, so the first kind that finds something ends the list.
std::vector<std::string> problems_of(const Schedule& schedule) {
  for (const auto& check :
       {table_problems, placement_problems, pass_problems, missing_passes, pair_problems, order_problems}) {
    std::vector<std::string> problems = check(schedule);
    if (problems.empty()) continue;
    if (problems.size() > most_problems) {
      const std::size_t more = problems.size() - most_problems;
      problems.resize(most_problems);
      problems.push_back(fmt::format("and {} more", more));
    }
    return problems;
  }
  return {};
}

}  // namespace stepsim
