// DualPipeV (DeepSeek's DualPipe repository, after Sea AI Lab's "cut-in-half"): DualPipe's two directions become the
// two legs of a V, so that half the ranks do, each holding each of its stages once.
#include "workloads/schedules/dualpipe_phases.hpp"
#include "workloads/schedules/schedules.hpp"

namespace stepsim {

namespace {

constexpr std::string_view name = "dualpipev";

bool allowed(ScheduleShape shape) {
  return shape.microbatches >= 2 * shape.ranks;
}

std::string refuses(const ScheduleShape& shape) {
  if (std::string problem = refuse_shape(shape, name, 2); !problem.empty()) return problem;
  return refuse_microbatches(shape, "dualpipev needs at least twice the ranks", allowed);
}

Schedule make(const ScheduleShape& shape) {
  Schedule schedule = v_schedule(shape.ranks, shape.microbatches);
  for (int rank = 0; rank < shape.ranks; ++rank) {
    schedule.order[rank] = dualpipe_passes({shape.ranks, rank, shape.microbatches});
  }
  return schedule;
}

}  // namespace

ScheduleKind dualpipev_schedule() {
  return {name, "DualPipe folded into a V: half the ranks, parameters once", true, 1, refuses, make, 2};
}

}  // namespace stepsim
