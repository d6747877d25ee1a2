// The routes of a graph's parts, and how fast a part moves that has its route to itself.
#pragma once

#include <cstdint>
#include <map>
#include <tuple>
#include <vector>

#include "sim/graph/step_graph.hpp"

namespace stepsim {

struct PartId {
  std::int32_t group, pattern, part;

  auto operator<=>(const PartId&) const = default;
};

struct Route {
  std::vector<LinkId> links;  // each once
  std::vector<double> legs;   // [link of `links`]
  std::vector<double> alone;  // [link of `links`] that share it when a call is alone
  double rate = 0;            // bytes/s along a leg when alone, now; 0 while a link is down
  double divisor = 1;         // of the legs, here and wherever the route could meet another: so many times the bytes
                              // over so many times fewer legs is the same to max-min fairness
};

// Parts of equal loads share a route.
class RouteTable {
 public:
  // `contended`: calls of groups that a folded one stands for share their links.
  RouteTable(const StepGraph& graph, bool contended);

  const std::vector<Route>& routes() const { return routes_; }
  int route_of(const PartId& id, std::int32_t routing) const;
  double capacity(LinkId link) const { return capacity_[link]; }  // now
  void set_capacity(LinkId link, double capacity);  // of a link that has capacity_changes

 private:
  using LegList = std::vector<std::tuple<LinkId, double, double>>;

  int add(const std::vector<Load>& loads, std::map<LegList, int>& known);
  void find_rate(Route& route) const;
  void find_divisors();

  const StepGraph& graph_;
  const bool contended_;
  std::vector<double> capacity_;                         // [link]
  std::vector<Route> routes_;
  std::vector<std::vector<std::vector<int>>> route_of_;  // [group][pattern][part], under the first routing
  std::map<PartId, std::vector<int>> detours_;           // [routing - 1], of the parts that have some
  std::map<LinkId, std::vector<int>> routes_over_;       // of the links that change
};

}  // namespace stepsim
