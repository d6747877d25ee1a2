// What the error of a row is likely made of.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "sim/graph/step_graph.hpp"
#include "sim/validate/validation.hpp"

namespace stepsim {
namespace {

struct StepPart {
  std::string name;
  double share = 0;  // of the predicted step
};

// Compute, exposed communication by dimension, wait, bubble; largest first.
std::vector<StepPart> parts_of(const RunResult& r) {
  std::vector<StepPart> parts = {{"compute", r.parts.compute_s / r.predicted_s},
                             {"wait", r.parts.wait_s / r.predicted_s},
                             {"bubble", r.parts.bubble_s / r.predicted_s}};
  double by_dimension = 0;
  for (const double s : r.parts.exposed_by_dimension) by_dimension += s;
  for (std::size_t d = 0; d < r.parts.exposed_by_dimension.size(); ++d) {
    if (by_dimension <= 0 || r.parts.exposed_by_dimension[d] <= 0) continue;
    const double share = r.parts.exposed_s * r.parts.exposed_by_dimension[d] / by_dimension / r.predicted_s;
    parts.push_back({fmt::format("exposed {} communication", to_text(static_cast<Dimension>(d))), share});
  }
  std::sort(parts.begin(), parts.end(), [](const StepPart& a, const StepPart& b) { return a.share > b.share; });
  return parts;
}

double share_of(const RunResult& r, const std::string& name) {
  for (const StepPart& p : parts_of(r)) {
    if (p.name == name) return p.share;
  }
  return 0;
}

// Of the parts, the one whose share goes along with the error from row to row of the family (Pearson's r), if any does.
std::string companion(const std::vector<const RunResult*>& family) {
  if (family.size() < 6) return "";
  std::map<std::string, bool> names;
  for (const RunResult* r : family) {
    for (const StepPart& p : parts_of(*r)) names[p.name] = true;
  }
  std::string best;
  double strongest = 0.6;  // below that nothing is said
  for (const auto& [name, _] : names) {
    double n = 0, x = 0, y = 0, xx = 0, yy = 0, xy = 0;
    for (const RunResult* r : family) {
      const double a = share_of(*r, name), b = r->error;
      ++n, x += a, y += b, xx += a * a, yy += b * b, xy += a * b;
    }
    const double spread = std::sqrt(std::max(0.0, (n * xx - x * x) * (n * yy - y * y)));
    const double r = spread > 1e-12 ? (n * xy - x * y) / spread : 0;
    if (std::abs(r) <= strongest) continue;
    strongest = std::abs(r);
    best = fmt::format("errors of the family go with its {} (r = {:+.2f})", name, r);
  }
  return best;
}

std::string cause_of(const RunResult& r, const std::string& family) {
  const std::vector<StepPart> parts = parts_of(r);
  std::string text = fmt::format("{} {:.0f} %", parts[0].name, 100 * parts[0].share);
  for (std::size_t i = 1; i < parts.size() && i < 3 && parts[i].share > 0.02; ++i) {
    text += fmt::format(", {} {:.0f} %", parts[i].name, 100 * parts[i].share);
  }
  return family.empty() ? text : text + "; " + family;
}

}  // namespace

void judge_causes(Validation& validation) {
  std::map<std::string, std::vector<const RunResult*>> families;
  for (const RunResult& r : validation.results) {
    if (r.simulated()) families[r.family].push_back(&r);
  }
  std::map<std::string, std::string> companions;
  for (const auto& [name, rows] : families) companions[name] = companion(rows);
  for (RunResult& r : validation.results) {
    if (r.simulated()) r.cause = cause_of(r, companions[r.family]);
  }
}

}  // namespace stepsim
