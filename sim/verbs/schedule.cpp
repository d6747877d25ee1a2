// stepsim schedule: the passes of a plan, as text, CSV and SVG.
#include <fmt/format.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <cmath>

#include "sim/settle.hpp"
#include "sim/verbs/arguments.hpp"
#include "sim/verbs/verb.hpp"
#include "workloads/check.hpp"
#include "workloads/experiment.hpp"
#include "workloads/plan_schedule.hpp"
#include "workloads/schedule_csv.hpp"
#include "workloads/schedule_drawing.hpp"

namespace stepsim {
namespace verb_schedule {

constexpr int kWidth = 100;  // columns of a terminal

struct Drawn {
  std::string name;    // what heads the drawing
  std::string origin;  // which schedule it is
  Schedule schedule;
  PassTimes times;
  bool real = false;  // times of the model on the cluster
};

// Whether the file is a plan rather than an experiment (which names a plan).
bool is_plan(const std::string& path) {
  try {
    const YAML::Node document = YAML::LoadFile(path);
    return document.IsMap() && document["batch"] && !document["plan"];
  } catch (const YAML::Exception&) {
    return false;  // whoever reads it next says what is wrong
  }
}

// The one name on the command line is an experiment, or the plan itself.
Request sorted_out(Request request) {
  std::string reason;
  const auto experiment = locate(request.home, Document::experiment, request.experiment, ".", reason);
  const auto plan = locate(request.home, Document::plan, request.experiment, ".", reason);
  const bool means_plan = plan && (!experiment || (*experiment == *plan && is_plan(*plan)));
  if (request.plan.empty() && means_plan) {
    request.plan = request.experiment;
    request.experiment.clear();
  }
  return request;
}

// A plan by itself says how its passes are ordered, if it says how many microbatches there are.
Drawn of_plan_alone(const Request& request) {
  Reading reading;
  const Overrides overrides = split_overrides(reading, request.overrides);
  std::string reason;
  const auto path = locate(request.home, Document::plan, request.plan, ".", reason);
  if (!path) reading.problems.push_back({"", 0, "plan", reason});
  reading.throw_if_any();
  const ParallelPlan plan = read_plan(reading, *path, overrides.plan);
  reading.throw_if_any();
  const auto refuse = [&](const std::string& key, std::string why) {
    reading.problems.push_back({*path, 0, key, std::move(why)});
    reading.throw_if_any();
  };
  if (!has_schedule(plan))
    refuse("schedule", fmt::format("\"{}\" is no schedule; see stepsim list schedules", plan.schedule));
  if (is_automatic(plan)) refuse("schedule", "automatic needs pass times and memory; name --model and --cluster too");
  int microbatches = plan.passes ? plan.passes->microbatches : 0;
  if (plan.parallel.data > 0) {
    const double wanted = microbatches_of(plan, {});
    if (wanted != std::floor(wanted) || wanted > 1e6)
      refuse("batch.global_sequences", fmt::format("makes {:.6g} microbatches", wanted));
    microbatches = static_cast<int>(wanted);
  }
  if (microbatches == 0) {
    refuse("parallel.data",
           "auto leaves open how many microbatches there are; name --model and --cluster too, or --set "
           "plan.parallel.data=N");
  }
  for (const auto& [key, why] : shape_problems(plan, microbatches)) reading.problems.push_back({*path, 0, key, why});
  reading.throw_if_any();
  return {plan.name, plan.schedule, schedule_of(plan, microbatches), unit_times(), false};
}

Drawn of_inputs(const Request& request, bool real) {
    if (!request.scenario.empty()) {
    throw InputError({{"", 0, "scenario", "a schedule is made for the cluster as it is meant to be, so that a scenario changes nothing here; leave it out"}});
  }
  const Inputs in = settle(load(request), Options{});
  StepOutline outline = outline_step(in.model, in.planned_on, in.plan);
  const std::string& found = in.plan.passes_origin;
  const std::string origin = found.empty() || found == in.plan.schedule ? in.plan.schedule : fmt::format("{}, which is {}", in.plan.schedule, found);
  return {in.name, origin, std::move(outline.schedule), real ? outline.planned : unit_times(), real};
}

// A column is the shortest pass.
Seconds slot_of(const Drawn& drawn) {
  double shortest = 0;
  for (int rank = 0; rank < drawn.schedule.ranks(); ++rank) {
    for (const Pass& pass : drawn.schedule.order[rank]) {
      const double takes = duration(drawn.times, pass.kind, drawn.schedule.placement[rank][pass.chunk]).value;
      if (takes > 0 && (shortest == 0 || takes < shortest)) shortest = takes;
    }
  }
  return Seconds(shortest > 0 ? shortest : 1);
}

// Forward, input-gradient and weight-gradient time of the stage that takes longest, and a message's.
std::string real_times(const Drawn& drawn, Seconds slot) {
  StageTimes longest{};
  const auto total = [](const StageTimes& t) { return t.forward + t.input_gradient + t.weight_gradient; };
  for (int stage = 0; stage < drawn.schedule.stages; ++stage) {
    if (total(drawn.times.of(stage)) > total(longest)) longest = drawn.times.of(stage);
  }
  return fmt::format("slowest stage: F {:.3g} ms, I {:.3g} ms, W {:.3g} ms; a message {:.3g} ms; a slot {:.3g} ms",
                     longest.forward.value * 1e3, longest.input_gradient.value * 1e3, longest.weight_gradient.value * 1e3,
                     drawn.times.communication.value * 1e3, slot.value * 1e3);
}

std::string to_text(const Drawn& drawn) {
  const Schedule& s = drawn.schedule;
  const ScheduleTimes times = times_of(s, drawn.times);
  const Seconds slot = slot_of(drawn);
  double bubble = 0;
  for (int rank = 0; rank < s.ranks(); ++rank) bubble += times.bubble(rank) / times.makespan / s.ranks();
  const std::vector<double> peaks = peak_in_flight(s);
  std::string text = fmt::format("{}: {}; {} ranks, {} stages, {} microbatches\n", drawn.name, drawn.origin, s.ranks(),
                                 s.stages, s.microbatches);
  const std::string what =
      drawn.real ? real_times(drawn, slot)
                 : "F = I = W = 1 slot, B = 2, messages take no time";
  text += fmt::format(
      "{}\n{:.0f} slots, bubble {:.1f} % of them; a rank holds at most {:.0f} activations of one microbatch in a "
      "stage\n\n",
      what, times.makespan / slot, 100 * bubble, *std::max_element(peaks.begin(), peaks.end()));
  return text + schedule_to_text(s, drawn.times, slot, kWidth);
}

struct Arguments {
  InputArguments inputs;
  OutputArguments outputs;
  std::string times = "unit";
};

int run(const Arguments& args, const std::string& program) {
  args.outputs.require_writable();
  const Request request = sorted_out(args.inputs.complete(program));
  const bool alone =
      request.experiment.empty() && request.model.empty() && request.cluster.empty() && !request.plan.empty();
  const bool real = args.times == "real";
  if (alone && real)
    throw InputError({{"", 0, "--times", "real times need a model and a cluster; name --model and --cluster too"}});
  const Drawn drawn = alone ? of_plan_alone(request) : of_inputs(request, real);
  args.outputs.write("--csv", [&] { return schedule_to_csv(drawn.schedule); });
  args.outputs.write("--svg", [&] { return schedule_to_svg(drawn.schedule, drawn.times); });
  if (!args.outputs.wants_standard_output()) write_output("-", to_text(drawn));
  return 0;
}

std::function<int()> declare(CLI::App& verb, const std::string& program) {
  const auto args = std::make_shared<Arguments>();
  args->inputs.declare(verb, "plan");
  verb.add_option("--times", args->times, "unit: all passes alike; real: of the model on the cluster")
      ->check(CLI::IsMember({"unit", "real"}))
      ->capture_default_str();
  args->outputs.declare(verb, "--csv", "write PyTorch's schedule CSV to this file (-: standard output)");
  args->outputs.declare(verb, "--svg", "write a drawing to scale");
  return [args, program] { return run(*args, program); };
}

}  // namespace verb_schedule

Verb schedule_verb() {
  return {"schedule", "the order of passes: a row a rank, a column a slot", verb_schedule::declare};
}

}  // namespace stepsim
