#include "sim/report/derived.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace stepsim {
namespace {

double utilisation(const Report& report, double flops) {
  const double available = report.step_time_s * gpus_of(report) * report.facts.peak_flops_per_gpu;
  return available > 0 ? flops / available : 0;
}

}  // namespace

int gpus_of(const Report& report) {
  if (report.inputs.gpus > 0) return report.inputs.gpus;
  int sum = 0;
  for (const RankRow& row : report.ranks) sum += row.count;
  return sum;
}

double tokens_per_second_per_gpu(const Report& report) {
  const double gpu_seconds = report.step_time_s * gpus_of(report);
  return gpu_seconds > 0 ? report.facts.tokens_per_step / gpu_seconds : 0;
}

double model_utilisation(const Report& report) {
  return utilisation(report, report.facts.model_flops_per_step);
}
double hardware_utilisation(const Report& report) {
  return utilisation(report, report.facts.hardware_flops_per_step);
}

Shares mean_shares(const Report& report) {
  Shares sum;
  double weight = 0;
  for (const RankRow& row : report.ranks) {
    sum.compute += row.count * row.compute_s;
    sum.overlapped += row.count * row.overlapped_communication_s;
    sum.exposed += row.count * row.exposed_communication_s;
    sum.wait += row.count * row.wait_s;
    sum.bubble += row.count * row.bubble_s;
    weight += row.count * report.step_time_s;
  }
  if (weight <= 0) return {};
  for (double* share : {&sum.compute, &sum.overlapped, &sum.exposed, &sum.wait, &sum.bubble}) *share /= weight;
  return sum;
}

std::vector<RankRow> rank_kinds(const Report& report) {
  std::map<std::string, std::size_t> seen;
  std::vector<RankRow> kinds;
  for (const RankRow& row : report.ranks) {
    std::string key = fmt::format("{} {:.6g} {:.6g}", row.stage, row.peak_memory_bytes, row.compute_s);
    for (const double share : {row.overlapped_communication_s, row.exposed_communication_s, row.wait_s, row.bubble_s}) {
      key += fmt::format(" {:.5f}", report.step_time_s > 0 ? share / report.step_time_s : 0);
    }
    const auto [found, isnew] = seen.try_emplace(key, kinds.size());
    if (isnew) {
      kinds.push_back(row);
    } else {
      kinds[found->second].count += row.count;
    }
  }
  return kinds;
}

std::vector<LinkRow> link_kinds(const Report& report) {
  std::map<std::string, std::size_t> seen;
  std::vector<LinkRow> kinds;
  for (const LinkRow& link : report.links) {
    const auto [found, isnew] = seen.try_emplace(fmt::format("{} {:.6g} {:.6g}", link.tier, link.bytes, link.capacity), kinds.size());
    if (isnew) {
      kinds.push_back(link);
    } else {
      kinds[found->second].count += link.count;
    }
  }
  return kinds;
}

const RankRow* fullest_rank(const Report& report) {
  const auto found = std::max_element(report.ranks.begin(), report.ranks.end(), [](const RankRow& a, const RankRow& b) {
    return a.peak_memory_bytes < b.peak_memory_bytes;
  });
  return found == report.ranks.end() ? nullptr : &*found;
}

bool fits_in_memory(const Report& report) {
  const RankRow* fullest = fullest_rank(report);
  return report.facts.gpu_memory_bytes <= 0 || fullest == nullptr ||
         fullest->peak_memory_bytes <= report.facts.gpu_memory_bytes;
}

WireNeed largest_wire(const Report& report) {
  WireNeed need;
  for (std::size_t t = 0; t < std::min(report.tiers.size(), report.roofline.wire_s.size()); ++t) {
    if (report.roofline.wire_s[t] > need.seconds) need = {report.tiers[t], report.roofline.wire_s[t]};
  }
  return need;
}

std::string bound_by(const Report& report) {
  return report.verdict.bound == "unknown" || report.verdict.bound.empty() ? report.roofline.bound
                                                                           : report.verdict.resource;
}

double elasticity_of(const Report& report, const std::string& resource) {
  for (const Elasticity& elasticity : report.verdict.elasticities) {
    if (elasticity.resource == resource) return elasticity.value;
  }
  return 0;
}

}  // namespace stepsim
