// V-Min (Qi et al., Pipeline Parallelism with Controllable Memory): a third of 1F1B's activations, the least that a V
// can have.
#include "workloads/schedules/schedules.hpp"
#include "workloads/schedules/v_pattern.hpp"

namespace stepsim {

namespace {

constexpr std::string_view name = "zb-v-min";

std::string refuses(const ScheduleShape& shape) {
  return refuse_shape(shape, name, 2);
}

// One slot a stage, down and up, forward and back. With ranks a multiple of three the gradients start two slots later,
// so that no two passes of a rank meet on a slot modulo six.
VBlock block(int ranks, int rank) {
  const int shift = ranks % 3 == 0 ? 2 : 0;
  const int down = rank, up = 2 * ranks - 1 - rank;
  return {down, up, 2 * ranks + shift + down, 2 * ranks + shift + up};
}

Schedule make(const ScheduleShape& shape) {
  std::vector<VBlock> blocks;
  for (int rank = 0; rank < shape.ranks; ++rank) blocks.push_back(block(shape.ranks, rank));
  return v_pattern_schedule(shape, blocks);
}

}  // namespace

ScheduleKind zb_v_min_schedule() {
  return {name, "zero-bubble family: V with a third of 1F1B's memory", true, 1, refuses, make, 2};
}

}  // namespace stepsim
