// Interleaved 1F1B (Narayanan et al. 2021, as Megatron-LM runs it): each rank holds several chunks, stages looping
// round the ranks, so that filling and draining the pipeline take a chunk's time a rank instead of a whole stage's.
#include <algorithm>

#include "workloads/schedules/schedules.hpp"

namespace stepsim {

namespace {

constexpr std::string_view name = "interleaved-1f1b";

// Microbatches that go through a chunk before the rank turns to its next chunk. Megatron's default is the number of
// ranks, which divides the microbatches; where it does not, the microbatches are cut into as many equal groups of at
// least that size as fit (Megatron's --microbatch-group-size-per-virtual-pipeline-stage; PyTorch does so by itself).
int groups(const ScheduleShape& shape) {
  return std::max(1, shape.microbatches / shape.ranks);
}

bool allowed(ScheduleShape shape) {
  return shape.microbatches % groups(shape) == 0;
}

std::string refuses(const ScheduleShape& shape) {
  if (std::string problem = refuse_shape(shape, name, 0); !problem.empty()) return problem;
  if (shape.chunks == 1) return "1 virtual stage a rank: interleaved-1f1b needs at least 2 (with 1, use 1f1b)";
  return refuse_microbatches(
      shape, "interleaved-1f1b needs a multiple of the ranks, or equal groups of at least that many", allowed);
}

// The k-th pass through a rank: a group's microbatches through one chunk, then the same through the next chunk.
struct Turn {
  int microbatch, turn;
};
Turn turn_of(int k, int group, int chunks) {
  return {k / (group * chunks) * group + k % group, k % (group * chunks) / group};
}

Schedule make(const ScheduleShape& shape) {
  Schedule schedule = looped_schedule(shape.ranks, shape.chunks, shape.microbatches);
  const int group = shape.microbatches / groups(shape);
  const int total = shape.microbatches * shape.chunks;
  for (int rank = 0; rank < shape.ranks; ++rank) {
    PassList passes(schedule.order[rank]);
    const auto forward = [&](int k) {
      const Turn turn = turn_of(k, group, shape.chunks);
      passes.forward(turn.microbatch, turn.turn);
    };
    // Until the last chunk's first microbatch is reached, and two passes for each rank behind: its forward pass has to
    // go there, its gradient has to come back.
    const int warm_up = std::min(total, 2 * (shape.ranks - 1 - rank) + (shape.chunks - 1) * group);
    for (int k = 0; k < warm_up; ++k) forward(k);
    for (int k = 0; k < total; ++k) {
      if (k + warm_up < total) forward(k + warm_up);
      const Turn turn = turn_of(k, group, shape.chunks);
      passes.backward(turn.microbatch, shape.chunks - 1 - turn.turn);
    }
  }
  return schedule;
}

}  // namespace

ScheduleKind interleaved_schedule() {
  return {name, "1F1B with several chunks a rank: the bubble divided by their number", false, 1, refuses, make, 0};
}

}  // namespace stepsim
