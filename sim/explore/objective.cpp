#include "sim/explore/objective.hpp"

#include <fmt/format.h>

#include "sim/report/words.hpp"

namespace stepsim {
namespace {

double tokens(const Inputs& in) {
  return static_cast<double>(in.plan.batch.global_sequences) * in.plan.batch.sequence_length;
}

constexpr double kSecondsPerHour = 3600;
constexpr double kMillion = 1e6;

}  // namespace

const std::vector<Objective>& objectives() {
  constexpr auto always = [](const Inputs&) { return true; };
  constexpr auto one = [](const Inputs&) { return 1.0; };
  static const std::vector<Objective> table = {
      {"step_time", "the step's time", one, [](double v) { return seconds_text(v); }, always, ""},
      {"tokens_per_gpu", "tokens/s/GPU, for plans whose batches or clusters differ",
       [](const Inputs& in) { return in.cluster.ranks() / tokens(in); },
       [](double v) { return number_text(v > 0 ? 1 / v : 0) + " tokens/s/GPU"; }, always, ""},
      {"cost_per_token", "price of a million tokens, from the cluster's gpu_hour_price",
       [](const Inputs& in) {
         return in.cluster.gpu_hour_price * in.cluster.ranks() / kSecondsPerHour / tokens(in) * kMillion;
       },
       [](double v) { return fmt::format("{:.4g} a million tokens", v); },
       [](const Inputs& in) { return in.cluster.gpu_hour_price > 0; },
       "needs the price of a GPU-hour; write --set cluster.gpu_hour_price=2.5 (any currency)"},
      {"resilience", "the step's time under the scenario", one, [](double v) { return seconds_text(v); },
       [](const Inputs& in) { return in.scenario != "none"; }, "needs a scenario; name one with --scenario"},
  };
  return table;
}

const Objective* find_objective(std::string_view name) {
  for (const Objective& o : objectives()) {
    if (o.name == name) return &o;
  }
  return nullptr;
}

}  // namespace stepsim
