// Where each pass of a schedule stands, and which passes it needs.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "workloads/schedule.hpp"

namespace stepsim {

// A pass by its rank and its index in the rank's order. rank -1: there is none.
struct PassPosition {
  int rank = -1;
  int index = -1;

  bool exists() const { return rank >= 0; }
  bool operator==(const PassPosition&) const = default;
};

// Built from a schedule whose placement is in range; passes out of range or of the wrong direction are left out, and of
// repeated ones the first stands.
class PassIndex {
 public:
  explicit PassIndex(const Schedule& schedule);

  // The forward pass; the full backward or the input gradient, whichever there is; the separate weight gradient.
  PassPosition forward(int stage, int microbatch) const { return positions_[0][at(stage, microbatch)]; }
  PassPosition input_gradient(int stage, int microbatch) const { return positions_[1][at(stage, microbatch)]; }
  PassPosition weight_gradient(int stage, int microbatch) const { return positions_[2][at(stage, microbatch)]; }

  // What must have ended before a pass of `rank` can start, beside the order of the rank: a forward pass needs that of
  // the stage before; a backward pass or input gradient its own forward pass and the gradient of the stage behind; a
  // weight gradient its input gradient. Entries that do not apply do not exist.
  std::array<PassPosition, 2> needs(int rank, const Pass& pass) const;

 private:
  std::size_t at(int stage, int microbatch) const {
    return static_cast<std::size_t>(stage) * schedule_->microbatches + microbatch;
  }

  const Schedule* schedule_;
  std::array<std::vector<PassPosition>, 3> positions_;
};

// 0 forward, 1 backward or input gradient, 2 weight gradient.
int slot_of(PassKind kind);

// "F", "B", "I", "W".
std::string_view letter_of(PassKind kind);

// "B of microbatch 3 at stage 7"
std::string name_of(const Schedule& schedule, int rank, const Pass& pass);

// Lets every rank run its passes in order as far as they get, an overlapped pair as one; calls run(rank, first index,
// number of passes) for each. Returns how many passes of each rank ran: fewer than it has where the schedule is stuck.
template <class Run>
std::vector<int> walk(const Schedule& schedule, const PassIndex& index, Run run) {
  std::vector<int> done(schedule.ranks(), 0);
  const auto ended = [&](PassPosition need) { return !need.exists() || need.index < done[need.rank]; };
  const auto advance = [&](int rank) {
    const std::vector<Pass>& order = schedule.order[rank];
    const int first = done[rank];
    if (first == static_cast<int>(order.size())) return false;
    const int count = order[first].paired_with_next && first + 1 < static_cast<int>(order.size()) ? 2 : 1;
    for (int i = first; i < first + count; ++i) {
      const auto needs = index.needs(rank, order[i]);
      if (!ended(needs[0]) || !ended(needs[1])) return false;
    }
    run(rank, first, count);
    done[rank] += count;
    return true;
  };
  // Sweeps down the ranks carry forward passes along, sweeps up gradients.
  for (bool moved = true; moved;) {
    moved = false;
    for (int rank = 0; rank < schedule.ranks(); ++rank) {
      while (advance(rank)) moved = true;
    }
    for (int rank = schedule.ranks() - 1; rank >= 0; --rank) {
      while (advance(rank)) moved = true;
    }
  }
  return done;
}

}  // namespace stepsim
