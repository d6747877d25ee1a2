// A shipped cluster, with keys replaced, and the names of the links of a route.
#pragma once

#include <string>
#include <vector>

#include "sim/cluster/cluster.hpp"

namespace stepsim::test {

inline std::string platforms() {
  return std::string(STEPSIM_SOURCE_DIR) + "/platforms";
}

inline ClusterSpec shipped_cluster(const std::string& name, const std::vector<Override>& overrides = {}) {
  Reading reading;
  ClusterSpec cluster =
      read_cluster(reading, platforms() + "/" + name + ".yaml", overrides, Rates::speed_of_light, platforms());
  reading.throw_if_any();
  return cluster;
}

inline std::string names_of(const ClusterSpec& cluster, RankId from, RankId to) {
  std::string text;
  for (const LinkId link : route_between(cluster, from, to)) {
    text += (text.empty() ? "" : " ") + cluster.platform->links()[static_cast<std::size_t>(link)].name;
  }
  return text;
}

inline double latency_of(const ClusterSpec& cluster, RankId from, RankId to) {
  return route_latency(cluster, route_between(cluster, from, to)).value;
}

inline LinkId link_named(const ClusterSpec& cluster, const std::string& name) {
  const auto& links = cluster.platform->links();
  for (std::size_t i = 0; i < links.size(); ++i) {
    if (links[i].name == name) return static_cast<LinkId>(i);
  }
  return -1;
}

inline double bandwidth_of(const ClusterSpec& cluster, const std::string& name) {
  const LinkId link = link_named(cluster, name);
  return link < 0 ? 0 : cluster.bandwidth[static_cast<std::size_t>(link)].value;
}

}  // namespace stepsim::test
