// Errors of rows -> numbers for a family, a GPU, a model, all.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "sim/validate/validation.hpp"

namespace stepsim {
namespace {

struct Weighted {
  double value, weight = 1;
};

// The value below which half of the weight lies; halfway between the two middle ones where the halves meet between them.
double quantile(std::vector<Weighted> values, double part) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end(), [](const Weighted& a, const Weighted& b) { return a.value < b.value; });
  const double all = std::accumulate(values.begin(), values.end(), 0.0, [](double s, const Weighted& w) { return s + w.weight; });
  double below = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    below += values[i].weight;
    if (std::abs(below - part * all) < 1e-9 * all && i + 1 < values.size()) return (values[i].value + values[i + 1].value) / 2;
    if (below > part * all) return values[i].value;
  }
  return values.back().value;
}

std::vector<ErrorSummary> by(const Validation& validation, std::string (*key)(const RunResult&)) {
  std::map<std::string, std::vector<const RunResult*>> groups;
  for (const RunResult& result : validation.results) groups[key(result)].push_back(&result);
  std::vector<ErrorSummary> summaries;
  for (const auto& [name, rows] : groups) summaries.push_back(summary_of(name, rows));
  return summaries;
}

ErrorSummary weigh_families(const Validation& validation) {
  ErrorSummary all = validation.rows_alike;
  all.name = "families alike";
  std::map<std::string, const ErrorSummary*> family;
  double sum = 0, counted = 0, memory = 0, memory_counted = 0;
  for (const ErrorSummary& f : validation.families) {
    family[f.name] = &f;
    if (f.simulated > 0) sum += f.mean_absolute, ++counted;
    if (f.memory_rows > 0) memory += f.memory_mean_absolute, ++memory_counted;
  }
  if (counted > 0) all.mean_absolute = sum / counted;
  if (memory_counted > 0) all.memory_mean_absolute = memory / memory_counted;
  std::vector<Weighted> errors, sizes, memories;
  for (const RunResult& r : validation.results) {
    if (!r.simulated()) continue;
    const ErrorSummary& f = *family.at(r.family);
    errors.push_back({r.error, 1.0 / f.simulated});
    sizes.push_back({std::abs(r.error), 1.0 / f.simulated});
    if (r.predicted_memory_gb) memories.push_back({*r.predicted_memory_gb / *r.run.memory_gb - 1, 1.0 / f.memory_rows});
  }
  all.signed_median = quantile(errors, 0.5);
  all.percentile_90 = quantile(sizes, 0.9);
  all.memory_signed_median = quantile(memories, 0.5);
  return all;
}

}  // namespace

ErrorSummary summary_of(const std::string& name, const std::vector<const RunResult*>& rows) {
  ErrorSummary s;
  s.name = name;
  std::vector<Weighted> errors, sizes, memories;
  for (const RunResult* r : rows) {
    ++s.rows;
    if (!r->simulated()) continue;
    ++s.simulated;
    errors.push_back({r->error});
    sizes.push_back({std::abs(r->error)});
    s.mean_absolute += std::abs(r->error);
    if (!r->predicted_memory_gb) continue;
    ++s.memory_rows;
    memories.push_back({*r->predicted_memory_gb / *r->run.memory_gb - 1});
    s.memory_mean_absolute += std::abs(memories.back().value);
  }
  if (s.simulated > 0) s.mean_absolute /= s.simulated;
  if (s.memory_rows > 0) s.memory_mean_absolute /= s.memory_rows;
  s.signed_median = quantile(errors, 0.5);
  s.percentile_90 = quantile(sizes, 0.9);
  s.memory_signed_median = quantile(memories, 0.5);
  return s;
}

void summarise(Validation& validation) {
  validation.families = by(validation, [](const RunResult& r) { return r.family; });
  validation.gpus = by(validation, [](const RunResult& r) { return r.gpu; });
  validation.models = by(validation, [](const RunResult& r) { return r.run.model; });
  std::vector<const RunResult*> rows;
  for (const RunResult& r : validation.results) rows.push_back(&r);
  validation.rows_alike = summary_of("rows alike", rows);
  validation.families_alike = weigh_families(validation);
}

}  // namespace stepsim
