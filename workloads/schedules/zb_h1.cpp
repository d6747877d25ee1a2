// ZB-H1 (Qi et al., Zero Bubble Pipeline Parallelism, section 2.1; DualPipe's README calls it ZB1P): 1F1B's order and
// memory, but the stage before waits only for the input gradient. Rank r puts weight gradients off by r turns: so every
// rank has as many microbatches in flight as the first, and weight gradients are left to fill the end.
#include "workloads/schedules/schedules.hpp"
#include "workloads/schedules/split_backward.hpp"

namespace stepsim {

namespace {

constexpr std::string_view name = "zb-h1";

std::string refuses(const ScheduleShape& shape) {
  return refuse_shape(shape, name, 1);
}

Schedule make(const ScheduleShape& shape) {
  Schedule schedule = looped_schedule(shape.ranks, 1, shape.microbatches);
  for (int rank = 0; rank < shape.ranks; ++rank) {
    schedule.order[rank] = split_backward_passes({shape.ranks - 1 - rank, rank}, shape.microbatches);
  }
  return schedule;
}

}  // namespace

ScheduleKind zb_h1_schedule() {
  return {name, "zero-bubble family: 1F1B with weight gradients put off, same memory", true, 1, refuses, make, 1};
}

}  // namespace stepsim
