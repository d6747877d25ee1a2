#include "workloads/schedules/schedules.hpp"

#include <fmt/format.h>

#include <cassert>

namespace stepsim {

Schedule looped_schedule(int ranks, int chunks, int microbatches) {
  Schedule schedule;
  schedule.stages = ranks * chunks;
  schedule.microbatches = microbatches;
  schedule.placement.assign(ranks, std::vector<int>(chunks));
  schedule.direction.assign(ranks, std::vector<int>(chunks, 0));
  schedule.microbatch_direction.assign(microbatches, 0);
  schedule.order.resize(ranks);
  for (int rank = 0; rank < ranks; ++rank) {
    for (int chunk = 0; chunk < chunks; ++chunk) schedule.placement[rank][chunk] = chunk * ranks + rank;
  }
  return schedule;
}

Schedule v_schedule(int ranks, int microbatches) {
  Schedule schedule = looped_schedule(ranks, 2, microbatches);
  for (int rank = 0; rank < ranks; ++rank) schedule.placement[rank][1] = 2 * ranks - 1 - rank;
  return schedule;
}

std::string refuse_shape(const ScheduleShape& shape, std::string_view schedule, int fixed_chunks) {
  if (shape.ranks < 1) return fmt::format("{} pipeline ranks: at least 1", shape.ranks);
  if (shape.chunks < 1) return fmt::format("{} virtual stages a rank: at least 1", shape.chunks);
  if (shape.microbatches < 1) return fmt::format("{} microbatches: at least 1", shape.microbatches);
  if (fixed_chunks != 0 && shape.chunks != 1 && shape.chunks != fixed_chunks) {
    return fmt::format("{} virtual stages a rank: {} always has {}", shape.chunks, schedule, fixed_chunks);
  }
  return "";
}

std::string refuse_microbatches(const ScheduleShape& shape, const std::string& rule, bool (*allowed)(ScheduleShape)) {
  if (allowed(shape)) return "";
  // Every rule here is met again within twice the number of ranks, or within twice the number itself.
  const int reach = shape.microbatches + 4 * shape.ranks + 4;
  std::string nearest;
  for (int below = shape.microbatches - 1; below >= 1; --below) {
    if (!allowed({shape.ranks, shape.chunks, below})) continue;
    nearest = fmt::format("{}, ", below);
    break;
  }
  int above = shape.microbatches + 1;
  while (above < shape.microbatches + reach && !allowed({shape.ranks, shape.chunks, above})) ++above;
  return fmt::format("{} microbatches on {} pipeline ranks: {} (nearest: {}{})", shape.microbatches, shape.ranks, rule,
                     nearest, above);
}

void PassList::input_gradient(int microbatch, int chunk) {
  add(PassKind::input_gradient, microbatch, chunk);
  waiting_.push_back({PassKind::weight_gradient, microbatch, chunk, false});
}

void PassList::weight_gradient() {
  assert(taken_ < waiting_.size());
  order_->push_back(waiting_[taken_++]);
}

}  // namespace stepsim
