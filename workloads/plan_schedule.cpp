#include "workloads/plan_schedule.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace stepsim {
namespace {

using Problems = std::vector<std::pair<std::string, std::string>>;

int directions_of(const Schedule& schedule) {
  const auto& of = schedule.microbatch_direction;
  return of.empty() ? 1 : 1 + *std::max_element(of.begin(), of.end());
}

std::vector<int> sorted(std::vector<int> stages) {
  std::sort(stages.begin(), stages.end());
  return stages;
}

// Two copies of a stage must be reduced together, so each must have exactly one partner: rank p has the stages of rank
// ranks - 1 - p, as in DualPipe.
std::string not_mirrored(const Schedule& schedule) {
  if (directions_of(schedule) == 1) return "";
  for (int rank = 0; rank < schedule.ranks(); ++rank) {
    const int mirror = schedule.ranks() - 1 - rank;
    const std::vector<int> stages = sorted(schedule.placement[rank]);
    const bool twice = std::adjacent_find(stages.begin(), stages.end()) != stages.end();
    const bool alone = rank == mirror;
    if (!twice && !alone && stages == sorted(schedule.placement[mirror])) continue;
    return fmt::format(
        "microbatches run in both directions (r), so each stage has two copies: ranks {} and {} must hold the same "
        "stages, each once{}",
        rank, mirror, alone ? "; the number of ranks must be even" : "");
  }
  return "";
}

Problems file_problems(const ParallelPlan& plan, int microbatches) {
  Problems problems;
  const Schedule& passes = *plan.passes;
  const Parallel& p = plan.parallel;
  if (passes.ranks() != p.pipeline) {
    problems.emplace_back(
        "schedule", fmt::format("{} has passes of {} pipeline ranks (rows), but parallel.pipeline is {}", plan.schedule,
                                passes.ranks(), p.pipeline));
  }
  if (passes.microbatches != microbatches) {
    problems.emplace_back(
        "schedule", fmt::format("{} has {} microbatches, but the batch makes {} for each data-parallel rank; {:.6g} "
                                "times batch.global_sequences would fit",
                                plan.schedule, passes.microbatches, microbatches,
                                static_cast<double>(passes.microbatches) / microbatches));
  }
  const std::int64_t said = std::int64_t{p.virtual_stages} * passes.ranks();
  if (p.virtual_stages != 1 && said != passes.stages) {
    problems.emplace_back("parallel.virtual_stages",
                          fmt::format("{} stages a rank given, but {} has {} stages on {} ranks; leave it out",
                                      p.virtual_stages, plan.schedule, passes.stages, passes.ranks()));
  }
  if (const std::string why = not_mirrored(passes); !why.empty()) {
    problems.emplace_back("schedule", fmt::format("{}: {}", plan.schedule, why));
  }
  if (p.zero == 3 && directions_of(passes) > 1) {
    problems.emplace_back("parallel.zero",
                          fmt::format("3 gathers a stage's parameters on both ranks that hold it in the order "
                                      "of their passes, which need not be the same in {}; write 1 or 2",
                                      plan.schedule));
  }
  return problems;
}

}  // namespace

std::vector<std::pair<std::string, std::string>> schedule_choices() {
  std::vector<std::pair<std::string, std::string>> choices;
  for (const ScheduleKind& kind : schedules()) choices.emplace_back(kind.name, kind.about);
  choices.emplace_back(kAutomatic,
                       "looked for, given pass times and memory: never longer than one above that fits, as planned");
  choices.emplace_back("FILE.csv", "your own, as PyTorch writes them (stepsim schedule --csv writes one)");
  return choices;
}

bool names_a_file(std::string_view schedule) {
  return schedule.ends_with(".csv");
}

bool is_automatic(const ParallelPlan& plan) {
  return plan.schedule == kAutomatic && !plan.passes;
}

bool has_schedule(const ParallelPlan& plan) {
  return plan.passes || is_automatic(plan) || find_schedule(plan.schedule) != nullptr;
}

std::vector<std::pair<std::string, std::string>> shape_problems(const ParallelPlan& plan, int microbatches) {
  if (plan.passes) return file_problems(plan, microbatches);
  if (is_automatic(plan)) return {};
  const ScheduleKind* kind = find_schedule(plan.schedule);
  const ScheduleShape shape{plan.parallel.pipeline, plan.parallel.virtual_stages, microbatches};
  const std::string reason = kind->refuses(shape);
  if (reason.empty()) return {};
  const bool chunks = kind->refuses({shape.ranks, 1, shape.microbatches}).empty();
  return {{chunks ? "parallel.virtual_stages" : "schedule", reason}};
}

Schedule schedule_of(const ParallelPlan& plan, int microbatches) {
  if (plan.passes) return *plan.passes;
  const ScheduleKind* kind = find_schedule(plan.schedule);
  const int chunks = kind->fixed_chunks > 0 ? kind->fixed_chunks : plan.parallel.virtual_stages;
  return kind->make({plan.parallel.pipeline, chunks, microbatches});
}

bool ends_meet(const ParallelPlan& plan) {
  if (plan.parallel.pipeline == 1) return true;
  if (plan.passes) {
    const auto holds = [](const std::vector<int>& stages, int stage) { return std::find(stages.begin(), stages.end(), stage) != stages.end(); };
    return std::any_of(plan.passes->placement.begin(), plan.passes->placement.end(),
                       [&](const std::vector<int>& stages) { return holds(stages, 0) && holds(stages, plan.passes->stages - 1); });
  }
  const ScheduleKind* schedule = find_schedule(plan.schedule);
  return schedule != nullptr && schedule->fixed_chunks == 2;
}

int copies_of(const ParallelPlan& plan) {
  if (plan.passes) return directions_of(*plan.passes);
  const ScheduleKind* kind = find_schedule(plan.schedule);
  return kind == nullptr ? 1 : kind->copies;
}

bool has_pairs(const Schedule& schedule) {
  return std::any_of(schedule.order.begin(), schedule.order.end(), [](const std::vector<Pass>& order) {
    return std::any_of(order.begin(), order.end(), [](const Pass& pass) { return pass.paired_with_next; });
  });
}

}  // namespace stepsim
