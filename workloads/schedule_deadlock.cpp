#include "workloads/schedule_deadlock.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "workloads/pass_index.hpp"

namespace stepsim {

namespace {

// One rank that cannot go on: the pass it waits at, and an unfinished pass that this one needs.
struct Stuck {
  int rank = 0;
  int at = 0;
  Pass pass;
  PassPosition needed;
};

Stuck stuck_at(const Schedule& schedule, const PassIndex& index, const std::vector<int>& done, int rank) {
  const std::vector<Pass>& order = schedule.order[rank];
  const int first = done[rank];
  const int last = std::min<int>(first + (order[first].paired_with_next ? 1 : 0), static_cast<int>(order.size()) - 1);
  for (int i = first; i <= last; ++i) {
    for (PassPosition need : index.needs(rank, order[i])) {
      if (need.exists() && need.index >= done[need.rank]) return {rank, first, order[i], need};
    }
  }
  return {rank, first, order[first], {}};
}

// Follows who waits for whom from one stuck rank until a rank comes again: those from there on are the cycle.
std::string cycle_text(const Schedule& schedule, const PassIndex& index, const std::vector<int>& done, int start) {
  std::vector<Stuck> chain;
  int rank = start;
  while (std::none_of(chain.begin(), chain.end(), [&](const Stuck& s) { return s.rank == rank; })) {
    chain.push_back(stuck_at(schedule, index, done, rank));
    rank = chain.back().needed.rank;
  }
  const auto first = std::find_if(chain.begin(), chain.end(), [&](const Stuck& s) { return s.rank == rank; });
  chain.erase(chain.begin(), first);
  std::string text = chain.size() == 1 ? "out of order: " : "deadlock: ";
  for (std::size_t i = 0; i < chain.size(); ++i) {
    const Stuck& stuck = chain[i];
    const Pass& needed = schedule.order[stuck.needed.rank][stuck.needed.index];
    if (i > 0) text += "; ";
    text += fmt::format("rank {} cannot start {} (pass {}) before {}, which is pass {} of rank {}", stuck.rank,
                        name_of(schedule, stuck.rank, stuck.pass), stuck.at,
                        name_of(schedule, stuck.needed.rank, needed), stuck.needed.index, stuck.needed.rank);
  }
  return text;
}

}  // namespace

std::vector<std::string> order_problems(const Schedule& schedule) {
  const PassIndex index(schedule);
  const std::vector<int> done = walk(schedule, index, [](int, int, int) {});
  for (int rank = 0; rank < schedule.ranks(); ++rank) {
    if (done[rank] < static_cast<int>(schedule.order[rank].size())) return {cycle_text(schedule, index, done, rank)};
  }
  return {};
}

}  // namespace stepsim
