// What each modelling element and assumption is worth: the errors without it.
#include <algorithm>
#include <map>

#include "sim/validate/validation.hpp"

namespace stepsim {
namespace {

std::vector<std::string> rows_with(const Validation& validation, const std::string& assumption) {
  std::vector<std::string> ids;
  for (const RunResult& r : validation.results) {
    const bool needs = assumption.empty() || std::find(r.assumptions.begin(), r.assumptions.end(), assumption) != r.assumptions.end();
    if (r.simulated() && needs) ids.push_back(r.run.id);
  }
  return ids;
}

Ablation without(const Assumption& element, const std::string& assumption, const ValidationRequest& request,
                 const Validation& validation) {
  Ablation out{std::string(element.id), std::string(element.about), element.instead, 0, 0, {}};
  ValidationRequest again = request;
  again.ids = rows_with(validation, assumption);
  out.rows = static_cast<int>(again.ids.size());
  if (element.instead.empty() || again.ids.empty()) return out;
  again.overrides.insert(again.overrides.end(), element.instead.begin(), element.instead.end());
  std::map<std::string, RunResult> changed;
  for (RunResult& r : validate(again).results) {
    if (r.simulated()) changed[r.run.id] = std::move(r);
  }
  out.refused = out.rows - static_cast<int>(changed.size());
  Validation mixed = validation;
  for (RunResult& r : mixed.results) {
    if (const auto at = changed.find(r.run.id); at != changed.end()) r = at->second;
  }
  summarise(mixed);
  out.families_alike = mixed.families_alike;
  return out;
}

}  // namespace

void ablate(const ValidationRequest& request, Validation& validation) {
  for (const Assumption& element : cost_elements()) validation.ablations.push_back(without(element, "", request, validation));
  for (const Assumption& assumption : run_assumptions()) {
    Ablation ablation = without(assumption, std::string(assumption.id), request, validation);
    if (ablation.rows > 0) validation.ablations.push_back(std::move(ablation));
  }
}

}  // namespace stepsim
