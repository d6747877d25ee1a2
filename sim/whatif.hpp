// What if: the step with one thing changed, simulated again.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "sim/simulate.hpp"

namespace stepsim {

// One change: a resource that is faster, or keys of the plan.
struct Alternative {
  std::string kind;   // "resource", "schedule", "pipeline", "recompute", ...: what the change is about
  std::string text;   // "infiniband 2 x as fast", "schedule zb-h1"
  std::string resource;               // as with_faster() names it; "" for a change of the plan
  double factor = 1;
  std::vector<std::string> overrides;  // "plan.schedule=zb-h1"

  bool operator==(const Alternative&) const = default;
};

struct Effect {
  Alternative change;
  std::string refused;  // why the plan cannot run so; "" when it was simulated
  double step_time_s = 0;
  double saved_s = 0;         // by the change; negative: lost
  double memory_bytes = 0;    // of the fullest GPU
  bool fits = true;

  bool operator==(const Effect&) const = default;
};

struct WhatIf {
  double step_time_s = 0;  // as it is
  double memory_bytes = 0;
  bool fits = true;
  std::vector<Effect> effects;  // simulated ones by seconds saved, then those that were refused
};

// Faster compute, HBM, wires and latency, and every choice next door to the plan's own (neighbours.hpp). The order of
// passes and kernels stays as planned on the cluster as it is while a resource gets faster, and is planned anew when the
// plan changes. Changes that make no difference are left in, with nothing saved.
WhatIf what_if(const Inputs& inputs, const Options& options);

// The inputs with further keys of the plan replaced. nullopt, and the reasons in `refused`, when they cannot run.
std::optional<Inputs> with_plan(const Inputs& inputs, const std::vector<std::string>& overrides, std::string& refused);

std::string to_text(const WhatIf& result, const Inputs& inputs, bool all);
std::string to_json(const WhatIf& result, const Inputs& inputs);

}  // namespace stepsim
