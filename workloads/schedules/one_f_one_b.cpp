// 1F1B (PipeDream-Flush; Narayanan et al. 2021): as few microbatches in flight as keep the pipeline busy.
#include <algorithm>

#include "workloads/schedules/schedules.hpp"

namespace stepsim {

namespace {

constexpr std::string_view name = "1f1b";

std::string refuses(const ScheduleShape& shape) {
  return refuse_shape(shape, name, 1);
}

// Rank r is ranks - 1 - r stages away from the loss: so many forward passes leave before the first gradient is back.
Schedule make(const ScheduleShape& shape) {
  Schedule schedule = looped_schedule(shape.ranks, 1, shape.microbatches);
  for (int rank = 0; rank < shape.ranks; ++rank) {
    PassList passes(schedule.order[rank]);
    const int warm_up = std::min(shape.microbatches, shape.ranks - 1 - rank);
    for (int m = 0; m < warm_up; ++m) passes.forward(m, 0);
    for (int m = 0; m < shape.microbatches; ++m) {
      if (m + warm_up < shape.microbatches) passes.forward(m + warm_up, 0);
      passes.backward(m, 0);
    }
  }
  return schedule;
}

}  // namespace

ScheduleKind one_f_one_b_schedule() {
  return {name, "one forward, one backward: memory of a pipeline's depth", false, 1, refuses, make, 1};
}

}  // namespace stepsim
