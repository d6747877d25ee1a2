#include "sim/graph/fold.hpp"

#include <algorithm>
#include <array>
#include <cassert>
#include <map>

#include "sim/graph/refiner.hpp"

namespace stepsim {
namespace {

// First (lowest) member of each colour.
std::vector<std::int32_t> representatives(const Coloring& coloring) {
  std::vector<std::int32_t> first(coloring.count, -1);
  for (std::size_t i = 0; i < coloring.color.size(); ++i) {
    if (first[coloring.color[i]] < 0) first[coloring.color[i]] = static_cast<std::int32_t>(i);
  }
  return first;
}

// How many real ones each colour has.
template <class Thing>
std::vector<int> populations(const Coloring& coloring, const std::vector<Thing>& things) {
  std::vector<int> counts(coloring.count, 0);
  for (std::size_t i = 0; i < things.size(); ++i) counts[coloring.color[i]] += things[i].count;
  return counts;
}

std::vector<Rank> quotient_ranks(const StepGraph& graph, const Refiner& refined) {
  const auto first = representatives(refined.ranks());
  const auto counts = populations(refined.ranks(), graph.ranks);
  std::vector<Rank> ranks;
  for (std::size_t c = 0; c < first.size(); ++c) {
    Rank rank = graph.ranks[first[c]];
    rank.count = counts[c];
    for (GroupId& g : rank.slots) {
      if (g >= 0) g = refined.groups().color[g];
    }
    ranks.push_back(std::move(rank));
  }
  return ranks;
}

std::vector<Group> quotient_groups(const StepGraph& graph, const Refiner& refined) {
  const auto first = representatives(refined.groups());
  const auto counts = populations(refined.groups(), graph.groups);
  std::vector<Group> groups;
  for (std::size_t c = 0; c < first.size(); ++c) {
    Group group = graph.groups[first[c]];
    group.count = counts[c];
    for (Endpoint& e : group.endpoints) e.rank = refined.ranks().color[e.rank];
    std::sort(group.endpoints.begin(), group.endpoints.end());
    group.endpoints.erase(std::unique(group.endpoints.begin(), group.endpoints.end()), group.endpoints.end());
    for (Pattern& pattern : group.patterns) {
      for (Part& part : pattern.parts) {
        part.loads.clear();
        for (Detour& detour : part.detours) detour.loads.clear();
      }
    }
    groups.push_back(std::move(group));
  }
  return groups;
}

// All but the programs.
Folding quotient(const StepGraph& graph);

}  // namespace

bool folds(const StepGraph& graph) {
  return graph.jitter.compute_sigma == 0 && graph.jitter.communication_sigma == 0;
}

StepGraph folded(StepGraph graph, bool wanted) { return wanted && folds(graph) ? fold(std::move(graph)).graph : std::move(graph); }

Folding fold(const StepGraph& graph) {
  Folding folding = quotient(graph);
  folding.graph.programs = graph.programs;
  return folding;
}

Folding fold(StepGraph&& graph) {
  Folding folding = quotient(graph);
  folding.graph.programs = std::move(graph.programs);
  graph = {};
  return folding;
}

namespace {

Folding quotient(const StepGraph& graph) {
  assert(folds(graph));
  Refiner refined(graph);
  Folding folding;
  folding.rounds = refined.refine([](const Refiner&) {});
  folding.rank_color = refined.ranks().color;
  folding.group_color = refined.groups().color;
  folding.link_color.assign(graph.links.size(), -1);

  StepGraph& out = folding.graph;
  out.tiers = graph.tiers;
  out.labels = graph.labels;
  out.sms = graph.sms;
  out.reroutings = graph.reroutings;
  out.ranks = quotient_ranks(graph, refined);
  out.groups = quotient_groups(graph, refined);

  const auto first = representatives(refined.links());
  const auto counts = populations(refined.links(), graph.links);
  std::vector<std::int32_t> new_id(first.size(), -1);
  for (std::size_t c = 0; c < first.size(); ++c) {
    if (refined.uses(first[c]).empty()) continue;
    new_id[c] = static_cast<std::int32_t>(out.links.size());
    GraphLink link = graph.links[first[c]];
    link.count = counts[c];
    if (link.owner >= 0) link.owner = folding.rank_color[link.owner];
    out.links.push_back(std::move(link));
    // The legs that all groups of a colour put on this link.
    std::map<std::array<std::int32_t, 4>, std::pair<double, double>> legs;  // and of one group
    for (const Use& use : refined.uses(first[c])) {
      const Place& place = refined.place(use);
      auto& [sum, most] = legs[{folding.group_color[use.group], place.pattern, place.part, place.routing}];
      sum += use.load->legs;
      most = std::max(most, static_cast<double>(most_of_one(*use.load)));
    }
    for (const auto& [where, of] : legs) {
      const auto [sum, most] = of;
      Part& part = out.groups[where[0]].patterns[where[1]].parts[where[2]];
      (where[3] == 0 ? part.loads : part.detours[where[3] - 1].loads).push_back({new_id[c], sum, most == sum ? 0 : static_cast<std::uint32_t>(most)});
    }
  }
  for (const SharedPort& port : graph.shared_ports) {
    const std::int32_t link = new_id[refined.links().color[port.link]];
    if (link >= 0) out.shared_ports.push_back({link, folding.rank_color[port.rank]});
  }
  std::sort(out.shared_ports.begin(), out.shared_ports.end());
  out.shared_ports.erase(std::unique(out.shared_ports.begin(), out.shared_ports.end()), out.shared_ports.end());
  for (std::size_t l = 0; l < graph.links.size(); ++l) folding.link_color[l] = new_id[refined.links().color[l]];
  return folding;
}

}  // namespace

}  // namespace stepsim
