#include "workloads/schedule.hpp"

#include "workloads/schedules/schedules.hpp"

namespace stepsim {

const std::vector<ScheduleKind>& schedules() {
#define STEPSIM_SCHEDULE_LINE(name) name##_schedule(),
  static const std::vector<ScheduleKind> table = {STEPSIM_SCHEDULES(STEPSIM_SCHEDULE_LINE)};
#undef STEPSIM_SCHEDULE_LINE
  return table;
}

const ScheduleKind* find_schedule(std::string_view name) {
  for (const ScheduleKind& kind : schedules()) {
    if (kind.name == name) return &kind;
  }
  return nullptr;
}

Schedule::Place Schedule::place_of(int stage, int wanted_direction) const {
  for (std::size_t rank = 0; rank < placement.size(); ++rank) {
    for (std::size_t chunk = 0; chunk < placement[rank].size(); ++chunk) {
      if (placement[rank][chunk] == stage && direction[rank][chunk] == wanted_direction) {
        return {static_cast<int>(rank), static_cast<int>(chunk)};
      }
    }
  }
  return {};
}

}  // namespace stepsim
