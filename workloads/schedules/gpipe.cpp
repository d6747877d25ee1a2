// GPipe (Huang et al. 2019): all forward passes, then all backward passes. Every microbatch is in flight at once.
#include "workloads/schedules/schedules.hpp"

namespace stepsim {

namespace {

constexpr std::string_view name = "gpipe";

std::string refuses(const ScheduleShape& shape) {
  return refuse_shape(shape, name, 1);
}

Schedule make(const ScheduleShape& shape) {
  Schedule schedule = looped_schedule(shape.ranks, 1, shape.microbatches);
  for (std::vector<Pass>& order : schedule.order) {
    PassList passes(order);
    for (int m = 0; m < shape.microbatches; ++m) passes.forward(m, 0);
    for (int m = 0; m < shape.microbatches; ++m) passes.backward(m, 0);
  }
  return schedule;
}

}  // namespace

ScheduleKind gpipe_schedule() {
  return {name, "all forward passes, then all backward passes", false, 1, refuses, make, 1};
}

}  // namespace stepsim
