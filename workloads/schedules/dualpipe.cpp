// DualPipe (DeepSeek-V3's report, section 3.2.1): microbatches enter at both ends of the pipeline, so that forward
// passes of one direction pair with backward passes of the other and each hides the other's communication. Every rank
// holds two stages, one of each direction.
#include <algorithm>

#include "workloads/schedules/dualpipe_phases.hpp"
#include "workloads/schedules/schedules.hpp"

namespace stepsim {

namespace {

constexpr std::string_view name = "dualpipe";

bool allowed(ScheduleShape shape) {
  return shape.microbatches % 2 == 0 && shape.microbatches >= 2 * shape.ranks;
}

std::string refuses(const ScheduleShape& shape) {
  if (std::string problem = refuse_shape(shape, name, 2); !problem.empty()) return problem;
  if (shape.ranks % 2 != 0) {
    const std::string below = shape.ranks > 1 ? std::to_string(shape.ranks - 1) + ", " : "";
    return std::to_string(shape.ranks) + " pipeline ranks: dualpipe needs an even number (nearest: " + below +
           std::to_string(shape.ranks + 1) + ")";
  }
  return refuse_microbatches(
      shape, "dualpipe needs an even number, at least twice the ranks, over both directions together", allowed);
}

// Rank r holds stage r of direction 0 as chunk 0 and stage ranks - 1 - r of direction 1 as chunk 1.
Schedule make(const ScheduleShape& shape) {
  Schedule schedule = looped_schedule(shape.ranks, 2, shape.microbatches);
  schedule.stages = shape.ranks;
  const int each = shape.microbatches / 2;
  for (int m = each; m < shape.microbatches; ++m) schedule.microbatch_direction[m] = 1;
  for (int rank = 0; rank < shape.ranks; ++rank) {
    schedule.placement[rank] = {rank, shape.ranks - 1 - rank};
    schedule.direction[rank] = {0, 1};
    const int distance = std::min(rank, shape.ranks - 1 - rank);
    schedule.order[rank] = dualpipe_passes({shape.ranks / 2, distance, each});
    // The first half of the ranks is reached first by direction 0, the second half by direction 1.
    const bool second_half = rank >= shape.ranks / 2;
    for (Pass& pass : schedule.order[rank]) {
      if (second_half) pass.chunk = 1 - pass.chunk;
      if (pass.chunk == 1) pass.microbatch += each;
    }
  }
  return schedule;
}

}  // namespace

ScheduleKind dualpipe_schedule() {
  return {name, "from both ends; forward and backward overlap in pairs", true, 2, refuses, make, 2};
}

}  // namespace stepsim
