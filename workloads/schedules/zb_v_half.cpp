// V-Half (Qi et al., Pipeline Parallelism with Controllable Memory): half of 1F1B's activations.
#include "workloads/schedules/schedules.hpp"
#include "workloads/schedules/v_pattern.hpp"

namespace stepsim {

namespace {

constexpr std::string_view name = "zb-v-half";

std::string refuses(const ScheduleShape& shape) {
  return refuse_shape(shape, name, 2);
}

// Two slots a stage down the V, one a stage up; the gradients likewise. With an even number of ranks the gradients
// start three slots later, so that no two passes of a rank meet on a slot modulo six.
VBlock block(int ranks, int rank) {
  const int shift = ranks % 2 == 0 ? 3 : 0;
  const int down = 2 * rank, up = 3 * ranks - 2 - rank;
  return {down, up, 3 * ranks - 1 + shift + down, 3 * ranks + shift + up};
}

Schedule make(const ScheduleShape& shape) {
  std::vector<VBlock> blocks;
  for (int rank = 0; rank < shape.ranks; ++rank) blocks.push_back(block(shape.ranks, rank));
  return v_pattern_schedule(shape, blocks);
}

}  // namespace

ScheduleKind zb_v_half_schedule() {
  return {name, "zero-bubble family: V with half of 1F1B's memory", true, 1, refuses, make, 2};
}

}  // namespace stepsim
