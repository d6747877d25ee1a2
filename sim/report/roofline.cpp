// The roofline study's method: what each resource would need alone, at its speed of light.
#include <algorithm>

#include "sim/graph/changes.hpp"
#include "sim/report/calls.hpp"
#include "sim/report/report.hpp"

namespace stepsim {

Roofline roofline_of(const std::vector<RankRow>& ranks, const std::vector<std::string>& tiers) {
  Roofline worst;
  double slowest = -1;
  for (const RankRow& row : ranks) {
    Roofline mine{.rank = row.rank,
                  .compute_s = row.compute_roofline_s,
                  .hbm_s = row.hbm_roofline_s,
                  .wire_s = row.wire_roofline_s,
                  .bound = "compute"};
    double most = mine.compute_s;
    const auto consider = [&](double seconds, const std::string& resource) {
      if (seconds > most) {
        most = seconds;
        mine.bound = resource;
      }
    };
    consider(mine.hbm_s, "hbm");
    for (std::size_t t = 0; t < std::min(tiers.size(), mine.wire_s.size()); ++t) consider(mine.wire_s[t], tiers[t]);
    if (most > slowest) {
      slowest = most;
      worst = std::move(mine);
    }
  }
  return worst;
}

void add_shared_links(Roofline& roofline, const StepGraph& graph, const Timeline& timeline) {
  const std::vector<double> bytes = link_bytes(graph, timeline);
  roofline.wire_s.resize(graph.tiers.size(), 0);
  for (std::size_t l = 0; l < graph.links.size(); ++l) {
    const GraphLink& link = graph.links[l];
    const double capacity = mean_value(link.capacity, link.capacity_changes, timeline.end);
    if (link.owner >= 0 || link.tier < 0 || capacity <= 0) continue;
    double& seconds = roofline.wire_s[static_cast<std::size_t>(link.tier)];
    seconds = std::max(seconds, bytes[l] / capacity);
  }
  double most = std::max(roofline.compute_s, roofline.hbm_s);
  for (std::size_t t = 0; t < graph.tiers.size(); ++t) {
    if (roofline.wire_s[t] <= most) continue;
    most = roofline.wire_s[t];
    roofline.bound = graph.tiers[t];
  }
}

}  // namespace stepsim
