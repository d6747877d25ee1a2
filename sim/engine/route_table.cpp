#include "sim/engine/route_table.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace stepsim {

RouteTable::RouteTable(const StepGraph& graph, bool contended) : graph_(graph), contended_(contended) {
  for (const GraphLink& link : graph.links) capacity_.push_back(link.capacity);
  std::map<LegList, int> known;
  for (std::size_t g = 0; g < graph.groups.size(); ++g) {
    auto& of_group = route_of_.emplace_back();
    const auto& patterns = graph.groups[g].patterns;
    for (std::size_t p = 0; p < patterns.size(); ++p) {
      auto& of_pattern = of_group.emplace_back();
      for (std::size_t q = 0; q < patterns[p].parts.size(); ++q) {
        const Part& part = patterns[p].parts[q];
        of_pattern.push_back(add(part.loads, known));
        if (part.detours.empty()) continue;
        const PartId id{static_cast<std::int32_t>(g), static_cast<std::int32_t>(p), static_cast<std::int32_t>(q)};
        for (const Detour& detour : part.detours) detours_[id].push_back(add(detour.loads, known));
      }
    }
  }
  find_divisors();
  for (std::size_t i = 0; i < routes_.size(); ++i) {
    for (const LinkId link : routes_[i].links) {
      if (!graph.links[link].capacity_changes.empty()) routes_over_[link].push_back(static_cast<int>(i));
    }
  }
}

int RouteTable::route_of(const PartId& id, std::int32_t routing) const {
  if (routing > 0) {
    const auto found = detours_.find(id);
    if (found != detours_.end()) return found->second[static_cast<std::size_t>(routing) - 1];
  }
  return route_of_[id.group][id.pattern][id.part];
}

void RouteTable::set_capacity(LinkId link, double capacity) {
  capacity_[link] = capacity;
  for (const int route : routes_over_[link]) find_rate(routes_[route]);
}

int RouteTable::add(const std::vector<Load>& loads, std::map<LegList, int>& known) {
  LegList legs;
  for (const Load& load : loads) legs.emplace_back(load.link, load.legs, contended_ || load.alone == 0 ? load.legs : load.alone);
  std::sort(legs.begin(), legs.end());
  const auto [it, fresh] = known.try_emplace(legs, static_cast<int>(routes_.size()));
  if (!fresh) return it->second;
  Route& route = routes_.emplace_back();
  for (const auto& [link, count, alone] : legs) {
    route.links.push_back(link);
    route.legs.push_back(count);
    route.alone.push_back(alone);
  }
  find_rate(route);
  return it->second;
}

void RouteTable::find_rate(Route& route) const {
  for (std::size_t i = 0; i < route.links.size(); ++i) {
    const double rate = capacity_[route.links[i]] / route.alone[i];
    route.rate = i == 0 ? rate : std::min(route.rate, rate);
  }
}

// Fairness is between messages, so legs may only be divided by what divides all legs of all routes that meet: the
// greatest common divisor over each set of links that routes join.
void RouteTable::find_divisors() {
  std::vector<LinkId> parent(graph_.links.size());
  std::iota(parent.begin(), parent.end(), 0);
  const auto root = [&](LinkId l) {
    while (parent[l] != l) l = parent[l] = parent[parent[l]];
    return l;
  };
  for (const Route& route : routes_) {
    for (const LinkId link : route.links) parent[root(link)] = root(route.links[0]);
  }
  std::vector<std::int64_t> divisor(graph_.links.size(), 0);
  for (const Route& route : routes_) {
    for (std::size_t i = 0; i < route.links.size(); ++i) {
      std::int64_t& d = divisor[root(route.links[i])];
      d = std::gcd(d, std::llround(route.legs[i]));
    }
  }
  for (Route& route : routes_) {
    if (!route.links.empty()) route.divisor = static_cast<double>(divisor[root(route.links[0])]);
  }
}

}  // namespace stepsim
