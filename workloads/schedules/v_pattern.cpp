#include "workloads/schedules/v_pattern.hpp"

#include <algorithm>

#include "workloads/schedules/schedules.hpp"

namespace stepsim {

namespace {

constexpr int block_length = 6;
constexpr int empty = -1;

// What stands where, as numbers: the kind of pass x microbatches + microbatch.
enum Kind { f0, f1, i1, i0, w1, w0, kinds };

// The passes of all ranks in slots of equal length.
class Slots {
 public:
  Slots(const ScheduleShape& shape, const std::vector<VBlock>& blocks);

  void move_together();
  Schedule schedule() const;

 private:
  struct Rank {
    std::vector<int> pass;                       // [slot]: a pass, or `empty`
    std::vector<int> held;                       // [slot]: activations held while that slot runs
    std::array<std::vector<int>, kinds> slot{};  // [kind][microbatch]
    int most = 0;                                // activations held at most in the repeated block
  };

  void place(Rank& rank, int slot, int kind, int microbatch);
  void fill_weight_gradients(Rank& rank);
  void count_held(Rank& rank);
  int earliest(int rank, int kind, int microbatch) const;
  bool fits(const Rank& rank, int kind, int from, int to) const;
  void move(Rank& rank, int kind, int microbatch, int to);

  ScheduleShape shape_;
  std::vector<Rank> ranks_;
  int end_ = 0;  // slots in use, any rank
};

Slots::Slots(const ScheduleShape& shape, const std::vector<VBlock>& blocks) : shape_(shape), ranks_(shape.ranks) {
  for (int r = 0; r < shape.ranks; ++r) {
    Rank& rank = ranks_[r];
    for (auto& slots : rank.slot) slots.assign(shape.microbatches, empty);
    const VBlock& offsets = blocks[r];
    for (int m = 0; m < shape.microbatches; ++m) {
      for (int kind = f0; kind <= i0; ++kind) place(rank, offsets[kind] + block_length * m, kind, m);
    }
    fill_weight_gradients(rank);
    count_held(rank);
    end_ = std::max(end_, static_cast<int>(rank.pass.size()));
  }
}

void Slots::place(Rank& rank, int slot, int kind, int microbatch) {
  if (slot >= static_cast<int>(rank.pass.size())) rank.pass.resize(slot + 1, empty);
  rank.pass[slot] = kind * shape_.microbatches + microbatch;
  rank.slot[kind][microbatch] = slot;
}

// Weight gradients take the first free slots, in the order of their input gradients.
void Slots::fill_weight_gradients(Rank& rank) {
  std::vector<int> waiting;
  std::size_t taken = 0;
  for (int slot = 0; slot < static_cast<int>(rank.pass.size()) || taken < waiting.size(); ++slot) {
    const int pass = slot < static_cast<int>(rank.pass.size()) ? rank.pass[slot] : empty;
    const int kind = pass / shape_.microbatches;
    if (pass != empty && (kind == i0 || kind == i1)) waiting.push_back(pass);
    if (pass != empty || taken == waiting.size()) continue;
    const int gradient = waiting[taken++];
    place(rank, slot, gradient / shape_.microbatches == i1 ? w1 : w0, gradient % shape_.microbatches);
  }
}

void Slots::count_held(Rank& rank) {
  int held = 0;
  rank.held.clear();
  for (int pass : rank.pass) {
    const int kind = pass == empty ? kinds : pass / shape_.microbatches;
    if (kind == f0 || kind == f1) ++held;
    rank.most = std::max(rank.most, held);
    rank.held.push_back(held);
    if (kind == w0 || kind == w1) --held;
  }
}

// The first slot after everything that the pass needs.
int Slots::earliest(int rank, int kind, int microbatch) const {
  const auto after = [&](int r, int k) { return ranks_[r].slot[k][microbatch] + 1; };
  const int last = shape_.ranks - 1;
  switch (kind) {
    case f0:
      return rank > 0 ? after(rank - 1, f0) : 0;
    case f1:
      return rank < last ? after(rank + 1, f1) : after(rank, f0);
    case i1:
      return std::max(after(rank, f1), rank > 0 ? after(rank - 1, i1) : 0);
    case i0:
      return std::max(after(rank, f0), rank < last ? after(rank + 1, i0) : after(rank, i1));
    case w1:
      return after(rank, i1);
    default:
      return after(rank, i0);
  }
}

// Whether moving the pass ahead holds no more than the repeated block ever does.
bool Slots::fits(const Rank& rank, int kind, int from, int to) const {
  if (kind != f0 && kind != f1) return true;
  return std::all_of(rank.held.begin() + to, rank.held.begin() + from, [&](int held) { return held < rank.most; });
}

void Slots::move(Rank& rank, int kind, int microbatch, int to) {
  const int from = rank.slot[kind][microbatch];
  std::swap(rank.pass[from], rank.pass[to]);
  rank.slot[kind][microbatch] = to;
  if (kind == f0 || kind == f1) std::for_each(rank.held.begin() + to, rank.held.begin() + from, [](int& h) { ++h; });
  if (kind == w0 || kind == w1) {
    std::for_each(rank.held.begin() + to + 1, rank.held.begin() + from + 1, [](int& h) { --h; });
  }
}

void Slots::move_together() {
  for (int slot = 0; slot < end_; ++slot) {
    for (int r = 0; r < shape_.ranks; ++r) {
      Rank& rank = ranks_[r];
      if (slot >= static_cast<int>(rank.pass.size()) || rank.pass[slot] == empty) continue;
      const int kind = rank.pass[slot] / shape_.microbatches;
      const int microbatch = rank.pass[slot] % shape_.microbatches;
      for (int to = earliest(r, kind, microbatch); to < slot; ++to) {
        if (rank.pass[to] != empty || !fits(rank, kind, slot, to)) continue;
        move(rank, kind, microbatch, to);
        break;
      }
    }
  }
}

Schedule Slots::schedule() const {
  constexpr PassKind pass_kind[] = {PassKind::forward,        PassKind::forward,         PassKind::input_gradient,
                                    PassKind::input_gradient, PassKind::weight_gradient, PassKind::weight_gradient};
  constexpr int chunk[] = {0, 1, 1, 0, 1, 0};
  Schedule schedule = v_schedule(shape_.ranks, shape_.microbatches);
  for (int r = 0; r < shape_.ranks; ++r) {
    for (int pass : ranks_[r].pass) {
      if (pass == empty) continue;
      const int kind = pass / shape_.microbatches;
      schedule.order[r].push_back({pass_kind[kind], pass % shape_.microbatches, chunk[kind], false});
    }
  }
  return schedule;
}

}  // namespace

Schedule v_pattern_schedule(const ScheduleShape& shape, const std::vector<VBlock>& blocks) {
  Slots slots(shape, blocks);
  slots.move_together();
  return slots.schedule();
}

}  // namespace stepsim
