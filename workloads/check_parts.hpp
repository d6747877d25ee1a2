// The parts of check(), each about one side of a plan. Internal to check.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <string>

#include "workloads/check.hpp"
#include "workloads/grid.hpp"

namespace stepsim {

class Check {
 public:
  Check(const ModelSpec& m, const ClusterSpec& c, const ParallelPlan& p, const PlanSource& s)
      : model(m), cluster(c), plan(p), source(s), world(c.ranks()) {}

  void add(const std::string& key, std::string reason);

  const ModelSpec& model;
  const ClusterSpec& cluster;
  const ParallelPlan& plan;
  const PlanSource& source;
  const std::int64_t world;
  std::vector<Problem> problems;
};

// Whether tensor x context x pipeline (and data, when given) fit the cluster. What builds on the grid of ranks is only
// checked when they do.
bool check_degrees(Check& check);
// Whether expert and expert_tensor fit the model and the ranks of a stage.
bool check_experts(Check& check);
void check_model(Check& check);  // against heads, widths and the sequence's length; what has no effect
void check_batch(Check& check);  // needs good degrees
void check_schedule(Check& check, bool degrees_fit);
void check_zero(Check& check);  // needs good degrees
void check_algorithms(Check& check);
void check_groups(Check& check, const Grid& grid);  // where the groups of ranks come to lie

// "; nearest: 4, 8": the allowed values nearest to `found` on both sides, from 1 to `most`; "" when there is none.
template <typename Allowed>
std::string nearest_values(std::int64_t found, std::int64_t most, const Allowed& allowed) {
  std::string text;
  for (std::int64_t below = std::min(found - 1, most); below >= 1; --below) {
    if (!allowed(below)) continue;
    text = fmt::format("{}", below);
    break;
  }
  for (std::int64_t above = found + 1; above <= most; ++above) {
    if (!allowed(above)) continue;
    text += fmt::format("{}{}", text.empty() ? "" : ", ", above);
    break;
  }
  return text.empty() ? "" : "; nearest: " + text;
}

}  // namespace stepsim
