// ZB-H2 (Qi et al., Zero Bubble Pipeline Parallelism, section 2.2): twice as many forward passes before the first
// gradient fill the bubble at the start, weight gradients put off twice as long fill the one at the end. Ranks start
// and end one after the other, so it pays where the optimizer need not start everywhere at once.
#include "workloads/schedules/schedules.hpp"
#include "workloads/schedules/split_backward.hpp"

namespace stepsim {

namespace {

constexpr std::string_view name = "zb-h2";

std::string refuses(const ScheduleShape& shape) {
  return refuse_shape(shape, name, 1);
}

Schedule make(const ScheduleShape& shape) {
  Schedule schedule = looped_schedule(shape.ranks, 1, shape.microbatches);
  for (int rank = 0; rank < shape.ranks; ++rank) {
    const int behind = shape.ranks - 1 - rank;
    schedule.order[rank] = split_backward_passes({2 * behind, 2 * rank}, shape.microbatches);
  }
  return schedule;
}

}  // namespace

ScheduleKind zb_h2_schedule() {
  return {name, "zero-bubble family: no bubble within a rank, twice 1F1B's memory", true, 1, refuses, make, 1};
}

}  // namespace stepsim
