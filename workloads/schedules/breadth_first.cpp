// Looped breadth-first (Lamy-Poirier 2023): every microbatch through a chunk before the next chunk, so that a chunk's
// parameters are gathered and its gradients reduced once a step. Every microbatch is in flight at once, as in GPipe.
#include "workloads/schedules/schedules.hpp"

namespace stepsim {

namespace {

constexpr std::string_view name = "breadth-first";

std::string refuses(const ScheduleShape& shape) {
  return refuse_shape(shape, name, 0);
}

Schedule make(const ScheduleShape& shape) {
  Schedule schedule = looped_schedule(shape.ranks, shape.chunks, shape.microbatches);
  for (std::vector<Pass>& order : schedule.order) {
    PassList passes(order);
    for (int chunk = 0; chunk < shape.chunks; ++chunk) {
      for (int m = 0; m < shape.microbatches; ++m) passes.forward(m, chunk);
    }
    for (int chunk = shape.chunks - 1; chunk >= 0; --chunk) {
      for (int m = 0; m < shape.microbatches; ++m) passes.backward(m, chunk);
    }
  }
  return schedule;
}

}  // namespace

ScheduleKind breadth_first_schedule() {
  return {name, "looped: all microbatches through a chunk, then the next chunk", false, 1, refuses, make, 0};
}

}  // namespace stepsim
