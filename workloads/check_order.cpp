// The batch, the schedule and the stages: what runs in which order.
#include <fmt/ranges.h>

#include <cmath>
#include <filesystem>
#include <numeric>

#include "workloads/check_parts.hpp"
#include "workloads/plan_schedule.hpp"

namespace stepsim {
namespace {

constexpr double kMostPasses = 20e6;  // of all pipeline ranks together: some 100 times a large published step
constexpr double kMostAutomatic = 20e3;  // microbatches x ranks: some ten seconds of looking

void check_name(Check& check) {
  const std::string& name = check.plan.schedule;
  std::vector<std::string> names;
  for (const auto& [choice, about] : schedule_choices()) names.push_back(choice);
  const std::string near = nearest(name, names);
  check.add("schedule", fmt::format("\"{}\" is not one of {}{}", name, fmt::join(names, ", "),
                                    near.empty() ? "" : fmt::format("; did you mean {}?", near)));
}

void check_stage_layers(Check& check, int stages) {
  const std::vector<int>& list = check.plan.stage_layers;
  const int layers = check.model.layers;
  if (list.empty()) {
    if (stages <= layers + 2) return;
    return check.add("parallel.pipeline", fmt::format("{} stages for {} layers, embedding and head; at most {}", stages,
                                                      layers, layers + 2));
  }
  if (static_cast<int>(list.size()) != stages) {
    check.add("stage_layers", fmt::format("has {} numbers; the schedule has {} stages, {} of them a pipeline rank",
                                          list.size(), stages, stages / std::max(1, check.plan.parallel.pipeline)));
  }
  const std::int64_t sum = std::accumulate(list.begin(), list.end(), std::int64_t{0});
  if (sum != layers)
    check.add("stage_layers", fmt::format("the numbers add up to {}; the model has {} layers", sum, layers));
  for (std::size_t i = 1; i + 1 < list.size(); ++i) {
    if (list[i] == 0) check.add("stage_layers", fmt::format("stage {} would hold nothing; give it a layer", i));
  }
}

// "automatic" decides itself how many stages a rank holds, unless there is a number for each of the ranks.
void check_automatic_stages(Check& check) {
  const int ranks = check.plan.parallel.pipeline;
  const std::size_t numbers = check.plan.stage_layers.size();
  if (numbers == 0 || numbers == static_cast<std::size_t>(ranks)) return check_stage_layers(check, ranks);
  check.add("stage_layers", fmt::format("has {} numbers; automatic takes one for each of the {} pipeline ranks, or auto",
                                        numbers, ranks));
}

// Not for schedules that have pairs.
void check_no_pairs(Check& check, const ScheduleShape& shape) {
  if (check.plan.overlap.expert != Overlap::Policy::paired) return;
  std::vector<std::string_view> with_pairs;
  for (const ScheduleKind& kind : schedules()) {
    if (kind.refuses(shape).empty() && has_pairs(kind.make(shape))) with_pairs.push_back(kind.name);
  }
  check.add(
      "overlap.expert",
      fmt::format("paired needs a schedule with overlapped pairs of forward and backward; {} has none; write "
                  "blocking or async{}{}",
                  check.plan.schedule, with_pairs.empty() ? "" : ", or schedule: ", fmt::join(with_pairs, " or ")));
}

}  // namespace

void check_batch(Check& check) {
  const Batch& b = check.plan.batch;
  const Parallel p = resolve(check.plan, check.cluster).parallel;
  const std::int64_t unit = std::int64_t{p.data} * b.microbatch_sequences;
  if (b.global_sequences % unit == 0) return;
  const bool replica_is_gpu = p.data == check.world;
  const std::int64_t below = b.global_sequences / unit * unit;
  check.add(
      "batch.global_sequences",
      fmt::format("{:.6g} sequences a {}: {} do not divide by {} data-parallel ranks x {} sequences a microbatch; "
                  "nearest: {}{}",
                  static_cast<double>(b.global_sequences) / p.data, replica_is_gpu ? "GPU" : "data-parallel rank",
                  b.global_sequences, p.data, b.microbatch_sequences, below > 0 ? fmt::format("{}, ", below) : "",
                  below + unit));
}

void check_schedule(Check& check, bool degrees_fit) {
  const Parallel& p = check.plan.parallel;
  if (!has_schedule(check.plan)) return check_name(check);
  if (!degrees_fit) return;
  const double microbatches = microbatches_of(check.plan, check.cluster);
  const bool automatic = is_automatic(check.plan);
  const double most = automatic ? kMostAutomatic : kMostPasses;
  if (microbatches * p.pipeline * (automatic ? 1 : p.virtual_stages) > most) {
    return check.add("batch.global_sequences",
                     fmt::format("{:.6g} microbatches on {} pipeline ranks are more passes than {} ({:.0f})", microbatches,
                                 p.pipeline, automatic ? "automatic looks through" : "are simulated", most));
  }
  const ScheduleShape shape{p.pipeline, p.virtual_stages, std::max(1, static_cast<int>(std::ceil(microbatches)))};
  if (automatic) {
    check_automatic_stages(check);
    return check_no_pairs(check, shape);
  }
  const auto problems = shape_problems(check.plan, shape.microbatches);
  for (const auto& [key, reason] : problems) {
    // A fraction of a microbatch was refused with the batch.
    if (microbatches == std::floor(microbatches) || key != "schedule") check.add(key, reason);
  }
  if (!problems.empty()) return;
  const Schedule schedule = schedule_of(check.plan, shape.microbatches);
  check_stage_layers(check, schedule.stages);
  if (!has_pairs(schedule)) check_no_pairs(check, shape);
}

}  // namespace stepsim
