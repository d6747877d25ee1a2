// What binds the step, from measured elasticities: the words a reader takes away.
#include <fmt/format.h>

#include <algorithm>

#include "sim/report/derived.hpp"
#include "sim/report/guardrails.hpp"
#include "sim/report/report.hpp"
#include "sim/report/words.hpp"

namespace stepsim {
namespace {

// Both sides of the question, and the largest resource of each. What makes a step longer when it is faster takes nothing
// from what others would save.
struct Sides {
  double compute = 0, communication = 0;  // measured together, or sums of elasticities above 0
  const Elasticity* largest_compute = nullptr;
  const Elasticity* largest_communication = nullptr;
};

Sides weigh(const std::vector<Elasticity>& elasticities, const std::optional<Together>& together) {
  Sides sides;
  for (const Elasticity& e : elasticities) {
    const bool compute = is_compute_resource(e.resource);
    (compute ? sides.compute : sides.communication) += std::max(0.0, e.value);
    const Elasticity*& largest = compute ? sides.largest_compute : sides.largest_communication;
    if (largest == nullptr || e.value > largest->value) largest = &e;
  }
  if (together) {
    sides.compute = std::max(0.0, together->compute);
    sides.communication = std::max(0.0, together->communication);
  }
  return sides;
}

double saved_by_10_percent(double elasticity, double step_time) {
  return elasticity * step_time * (1 - 1 / 1.1);
}

// In the order compute, hbm, starts of kernels (where they take time), wires, latency, then whatever else was measured.
std::vector<Elasticity> in_order(const Report& report, const std::map<std::string, double>& measured) {
  std::vector<std::string> names{"compute", "hbm", "starts"};
  names.insert(names.end(), report.tiers.begin(), report.tiers.end());
  names.emplace_back("latency");
  for (const auto& [name, value] : measured) {
    if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
  }
  std::vector<Elasticity> result;
  for (const std::string& name : names) {
    const auto found = measured.find(name);
    if (found == measured.end()) continue;
    result.push_back({name, found->second, saved_by_10_percent(found->second, report.step_time_s)});
  }
  return result;
}

std::string margin(double larger, double smaller) {
  if (smaller <= 0.005 * larger) return ", entirely";
  const double factor = larger / smaller;
  return factor < 1.5 ? ", narrowly" : fmt::format(", by a factor of {}", factor_text(factor));
}

// "88 % of the critical path moves over infiniband."
std::string path_share(const Report& report, const std::string& resource) {
  if (report.step_time_s <= 0) return "";
  const auto& path = report.critical_path;
  const auto& shares = is_compute_resource(resource) ? path.by_kind : path.by_wire;
  const auto found = shares.find(is_compute_resource(resource) ? "compute" : resource);
  const double seconds = found == shares.end() ? 0 : found->second;
  const std::string share = percent_text(seconds / report.step_time_s);
  if (is_compute_resource(resource)) return fmt::format(" {} of the critical path computes.", share);
  if (resource == "latency") return fmt::format(" {} of the critical path is latency.", share);
  return fmt::format(" {} of the critical path is limited by {}.", share, resource);
}

std::string in_words(const Report& report, const Sides& sides) {
  const bool communication = report.verdict.bound == "communication";
  const Elasticity& first = communication ? *sides.largest_communication : *sides.largest_compute;
  const double other = communication ? sides.compute : sides.communication;
  const double mine = communication ? sides.communication : sides.compute;
  std::string text = communication ? fmt::format("Communication-bound by {}", first.resource) : "Compute-bound";
  if (!communication && first.resource != "compute") text += " by " + resource_text(first.resource);
  // Two that bind at the same time: either alone saves little, both together do.
  const bool at_once = report.verdict.together && first.value < 0.5 * mine;
  if (at_once) text = communication ? "Communication-bound by several wires at once" : "Compute-bound by several resources at once";
  const std::string faster =
      first.resource == "latency" ? "10 % less latency" : first.resource == "starts" ? "10 % shorter kernel starts" : fmt::format("10 % faster {}", resource_text(first.resource));
  const auto saved = [&](double elasticity) {
    return seconds_text(std::max(0.0, saved_by_10_percent(elasticity, report.step_time_s)));
  };
  const auto& all = report.verdict.elasticities;
  const bool starts = std::any_of(all.begin(), all.end(), [](const Elasticity& e) { return e.resource == "starts"; });
  text += fmt::format("{}: {} saves {} of {}; 10 % faster wires and latency together save {}, 10 % faster compute{} {}.",
                      margin(mine, other), faster, seconds_text(std::max(0.0, first.saved_by_10_percent_s)),
                      seconds_text(report.step_time_s), saved(sides.communication), starts ? ", HBM and kernel starts" : " and HBM", saved(sides.compute));
  return at_once ? text : text + path_share(report, first.resource);
}

}  // namespace

bool is_compute_resource(const std::string& resource) {
  return resource == "compute" || resource == "hbm" || resource == "starts";
}

void judge(Report& report, const std::map<std::string, double>& elasticities, const std::optional<Together>& together) {
  Verdict& verdict = report.verdict;
  verdict = {.bound = "unknown", .resource = "", .elasticities = in_order(report, elasticities), .text = ""};
  verdict.together = together;
  const Sides sides = weigh(verdict.elasticities, together);
  if (sides.communication > sides.compute && sides.largest_communication != nullptr) {
    verdict.bound = "communication";
    verdict.resource = sides.largest_communication->resource;
  } else if (sides.compute > 0 && sides.largest_compute != nullptr) {
    verdict.bound = "compute";
    verdict.resource = sides.largest_compute->resource;
  }
  if (verdict.bound == "unknown") {
    verdict.text = elasticities.empty() ? "Not judged: elasticities were not measured."
                                        : "Not judged: no resource changes the step time.";
    if (!report.roofline.bound.empty()) {
      verdict.text +=
          fmt::format(" The roofline of the worst rank is bound by {}.", resource_text(report.roofline.bound));
    }
    return;
  }
  verdict.text = in_words(report, sides);
  for (std::string& warning : verdict_guardrails(report)) {
    if (std::find(report.warnings.begin(), report.warnings.end(), warning) == report.warnings.end()) {
      report.warnings.push_back(std::move(warning));
    }
  }
}

}  // namespace stepsim
