#include "sim/settle.hpp"

#include <algorithm>

#include "sim/engine/child.hpp"
#include "sim/engine/engine.hpp"
#include "sim/folded_step.hpp"
#include "workloads/plan_schedule.hpp"

namespace stepsim {

Inputs settle(Inputs inputs, const Options& options) {
  if (!is_automatic(inputs.plan)) return inputs;
  const std::vector<PassPlan> offers = make_step(inputs.model, inputs.cluster, inputs.plan, options.detail, &inputs.planned_on).offers;
  const auto with = [&](const PassPlan& offer) {
    Inputs one = inputs;
    one.plan.passes = offer.schedule;
    one.plan.passes_origin = offer.origin;
    return one;
  };
  SharedArray<double> times(offers.size());
  std::vector<std::function<void()>> works;
  for (std::size_t i = 0; i < offers.size(); ++i) {
    works.push_back([&, i] {
      simulate_here_next();
      const Inputs one = with(offers[i]);
      times[i] = make_engine(options.engine)->run(folded_step(one, options).graph).end;
    });
  }
  if (offers.size() > 1) run_in_children(works, options.jobs);
  std::size_t best = 0;
  for (std::size_t i = 1; i < offers.size(); ++i) {
    if (times[i] < times[best]) best = i;
  }
  return with(offers[best]);
}

}  // namespace stepsim
