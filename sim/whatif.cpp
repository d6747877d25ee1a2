#include "sim/whatif.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "sim/engine/child.hpp"
#include "sim/engine/engine.hpp"
#include "sim/folded_step.hpp"
#include "sim/neighbours.hpp"
#include "sim/settle.hpp"
#include "workloads/check.hpp"
#include "workloads/experiment.hpp"

namespace stepsim {
namespace {

struct Measured {
  double step_time_s, memory_bytes;
};

Measured measure(const Inputs& inputs, const ClusterSpec& planned_on, const Options& options) {
  const Step step = folded_step(inputs, options, inputs.cluster, planned_on);
  double memory = 0;
  for (const MemoryUse& use : step.memory) memory = std::max(memory, use.total().value);
  return {make_engine(options.engine)->run(step.graph).end, memory};
}

std::vector<Alternative> faster_resources(const ClusterSpec& cluster) {
  std::vector<Alternative> changes;
  for (const std::string& name : resources_of(cluster)) {
    const char* better = name == "latency" ? "low" : name == "starts" ? "short" : "fast";
    for (const double factor : {1.1, 2.0}) {
      changes.push_back({"resource", fmt::format("{} {:g} x as {}", name == "starts" ? "kernel starts" : name, factor, better), name, factor, {}});
    }
  }
  for (const double factor : {1.1, 2.0}) {
    changes.push_back({"resource", fmt::format("all wires and latency {:g} x as fast", factor), std::string(kAllCommunication), factor, {}});
  }
  return changes;
}

// What runs, with the changed inputs; what does not, with the reason.
struct Candidate {
  Effect effect;
  std::optional<Inputs> inputs;
};

Candidate candidate_of(const Inputs& inputs, const Alternative& change) {
  Candidate candidate;
  candidate.effect.change = change;
  if (change.resource.empty()) {
    candidate.inputs = with_plan(inputs, change.overrides, candidate.effect.refused);
  } else {
    candidate.inputs = inputs;
    candidate.inputs->cluster = with_faster(inputs.cluster, change.resource, change.factor);
  }
  return candidate;
}

}  // namespace

std::optional<Inputs> with_plan(const Inputs& inputs, const std::vector<std::string>& overrides, std::string& refused) {
  const auto file = std::find_if(inputs.files.begin(), inputs.files.end(), [](const auto& f) { return f.first == "plan"; });
  std::vector<std::string> all = inputs.overrides;
  all.insert(all.end(), overrides.begin(), overrides.end());
  Reading reading;
  const Overrides split = split_overrides(reading, all, inputs.set);
  Inputs changed = inputs;
  changed.overrides = all;
  changed.plan = read_plan(reading, file->second, split.plan);
  if (reading.problems.empty()) reading.problems = check(changed.model, changed.cluster, changed.plan, source_of(file->second, reading));
  for (const Problem& problem : reading.problems) {
    refused += fmt::format("{}{}: {}", refused.empty() ? "" : "; ", problem.key, problem.reason);
  }
  if (!refused.empty()) return std::nullopt;
  changed.plan = resolve(changed.plan, changed.cluster);
  return changed;
}

WhatIf what_if(const Inputs& given, const Options& options) {
  const Inputs inputs = settle(given, options);
  std::vector<Alternative> changes = faster_resources(inputs.cluster);
  for (Alternative& change : neighbours(given)) changes.push_back(std::move(change));
  std::vector<Candidate> candidates;
  for (const Alternative& change : changes) candidates.push_back(candidate_of(change.resource.empty() ? given : inputs, change));

  SharedArray<Measured> measured(candidates.size() + 1);
  std::vector<std::function<void()>> works = {[&] { measured[candidates.size()] = measure(inputs, inputs.planned_on, options); }};
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    if (!candidates[i].inputs) continue;
    works.push_back([&, i] {
      Options alone = options;
      alone.jobs = 1;
      measured[i] = measure(settle(*candidates[i].inputs, alone), inputs.planned_on, options);
    });
  }
  run_in_children(works, options.jobs);

  WhatIf result;
  const double room = inputs.cluster.gpu.memory.value;
  result.step_time_s = measured[candidates.size()].step_time_s;
  result.memory_bytes = measured[candidates.size()].memory_bytes;
  result.fits = result.memory_bytes <= room;
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    Effect& effect = candidates[i].effect;
    if (candidates[i].inputs) {
      effect.step_time_s = measured[i].step_time_s;
      effect.saved_s = result.step_time_s - measured[i].step_time_s;
      effect.memory_bytes = measured[i].memory_bytes;
      effect.fits = effect.memory_bytes <= room;
    }
    result.effects.push_back(std::move(effect));
  }
  std::stable_sort(result.effects.begin(), result.effects.end(), [](const Effect& a, const Effect& b) {
    if (a.refused.empty() != b.refused.empty()) return a.refused.empty();
    return a.refused.empty() && a.saved_s > b.saved_s;
  });
  return result;
}

}  // namespace stepsim
