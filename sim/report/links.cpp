// What the wires carried.
#include <algorithm>

#include "sim/graph/changes.hpp"
#include "sim/report/calls.hpp"
#include "sim/report/report.hpp"

namespace stepsim {

std::vector<LinkRow> collect_links(const StepGraph& graph, const Timeline& timeline) {
  const auto bytes = link_bytes(graph, timeline);
  std::vector<LinkRow> rows;
  for (std::size_t i = 0; i < graph.links.size(); ++i) {
    const GraphLink& link = graph.links[i];
    if (bytes[i] <= 0) continue;  // an idle link says nothing
    const double capacity = mean_value(link.capacity, link.capacity_changes, timeline.end);
    const double room = capacity * timeline.end;
    rows.push_back({.name = link.name,
                    .tier = link.tier < 0 ? "" : graph.tiers[static_cast<std::size_t>(link.tier)],
                    .rank = link.owner < 0 ? -1 : graph.ranks[static_cast<std::size_t>(link.owner)].original,
                    .count = link.count,
                    .bytes = bytes[i],
                    .capacity = capacity,
                    .utilisation = room > 0 ? bytes[i] / room : 0});
  }
  std::stable_sort(rows.begin(), rows.end(),
                   [](const LinkRow& a, const LinkRow& b) { return a.utilisation > b.utilisation; });
  return rows;
}

}  // namespace stepsim
