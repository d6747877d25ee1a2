#include "sim/crossover.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <optional>

#include "sim/neighbours.hpp"
#include "sim/settle.hpp"

namespace stepsim {
namespace {

constexpr double kFarthest = 1024;   // factors looked at, up and down
constexpr double kPrecision = 5e-4;  // of the factor

struct Bound {
  bool communication = false;
  std::string resource;
  double step_time_s = 0;
};

Bound bound_of(const Inputs& inputs, const Options& options) {
  Options judged = options;
  judged.elasticities = true;
  const Report report = simulate(inputs, judged).report;
  return {report.verdict.bound == "communication", report.verdict.resource, report.step_time_s};
}

std::string name_of(bool communication) { return communication ? "communication" : "compute"; }

std::string resource_named(const ClusterSpec& cluster, const std::string& what) {
  if (what == "cluster.nvlink") return cluster.tiers.front();
  if (what == "cluster.nic") return cluster.tiers.back();
  std::vector<std::string> known = {"compute", "hbm", "latency", "tokens", "precision", "cluster.nic", "cluster.nvlink"};
  known.insert(known.end(), cluster.tiers.begin(), cluster.tiers.end());
  if (std::find(known.begin(), known.end(), what) != known.end()) return what;
  throw InputError({{"", 0, "--crossover", fmt::format("\"{}\" is not one of {}", what, fmt::join(known, ", "))}});
}

// Of one GPU, as the cluster and the plan have it.
void set_value(Crossover& c, const Inputs& in) {
  const Gpu& gpu = in.cluster.gpu;
  if (c.what == "compute") {
    c.value_now = rate_of(gpu, in.plan.precision.linear).value;
    c.unit = "FLOP/s";
  } else if (c.what == "hbm") {
    c.value_now = gpu.hbm.value;
    c.unit = "B/s";
  } else if (c.what == "tokens") {
    c.value_now = in.plan.batch.sequences() * in.plan.batch.sequence_length / in.plan.parallel.context;
    c.unit = "tokens";
  } else {
    const bool latency = c.what == "latency";
    c.unit = latency ? "s" : "B/s";
    for (std::size_t l = 0; l < in.cluster.bandwidth.size(); ++l) {
      const bool own = in.cluster.link_owner[l] >= 0;
      if (!own || (!latency && in.cluster.tiers[in.cluster.link_tier[l]] != c.what)) continue;
      c.value_now = std::max(c.value_now, latency ? in.cluster.latency[l].value : in.cluster.bandwidth[l].value);
    }
  }
}

Inputs scaled(const Inputs& inputs, const std::string& what, double factor) {
  Inputs changed = inputs;
  if (what == "tokens") {
    changed.plan.batch.factor = factor;
  } else {
    // A factor is of the value: for latency, of how long it takes.
    changed.cluster = with_faster(inputs.cluster, what, what == "latency" ? 1 / factor : factor);
  }
  return changed;
}

// From a factor where the verdict is as now (`same`) to one where it is not.
double bisect(double same, double other, const std::function<bool(double)>& flipped) {
  while (std::abs(std::log(other / same)) > kPrecision) {
    const double middle = std::sqrt(same * other);
    (flipped(middle) ? other : same) = middle;
  }
  return std::sqrt(same * other);
}

void search(Crossover& c, const Inputs& inputs, const Options& options, bool now) {
  const auto flipped = [&](double factor) { return bound_of(scaled(inputs, c.what, factor), options).communication != now; };
  c.searched_low = 1 / kFarthest;
  c.searched_high = kFarthest;
  for (double far = 2; far <= kFarthest; far *= 2) {
    for (const bool up : {false, true}) {
      const double other = up ? far : 1 / far, same = up ? far / 2 : 2 / far;
      if (!flipped(other)) continue;
      c.factor = bisect(same, other, flipped);
      c.value = c.value_now * c.factor;
      return;
    }
  }
}

void judge_precisions(Crossover& c, const Inputs& inputs, const Options& options) {
  for (const Alternative& change : neighbours(inputs)) {
    if (change.kind != "precision") continue;
    Judged judged;
    judged.text = change.text;
    if (const std::optional<Inputs> changed = with_plan(inputs, change.overrides, judged.refused)) {
      const Bound bound = bound_of(*changed, options);
      judged.bound = name_of(bound.communication);
      judged.resource = bound.resource;
      judged.step_time_s = bound.step_time_s;
    }
    c.choices.push_back(std::move(judged));
  }
}

}  // namespace

Crossover find_crossover(const Inputs& given, const Options& options, const std::string& what) {
  Crossover c;
  c.what = resource_named(given.cluster, what);
  const Inputs inputs = settle(given, options);
  const Bound now = bound_of(inputs, options);
  c.bound_now = name_of(now.communication);
  c.resource_now = now.resource;
  if (c.what == "precision") {
    judge_precisions(c, given, options);
    return c;
  }
  set_value(c, inputs);
  search(c, inputs, options, now.communication);
  return c;
}

}  // namespace stepsim
