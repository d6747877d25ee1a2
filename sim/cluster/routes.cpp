// Which links a message between two GPUs crosses.
#include <fmt/format.h>

#include <algorithm>

#include "sim/cluster/cluster.hpp"

namespace stepsim {
namespace {

std::vector<LinkId> hosts_route(const ClusterSpec& cluster, const std::vector<HostId>& hosts, RankId from, RankId to) {
  return cluster.platform->route(hosts[static_cast<std::size_t>(from)], hosts[static_cast<std::size_t>(to)]);
}

bool avoids(const ClusterSpec& cluster, const std::vector<LinkId>& route) {
  return std::none_of(route.begin(), route.end(), [&](LinkId link) { return cluster.avoided.contains(link); });
}

// Over NVLink from `from` to `out`, by the NICs from there to `in`, over NVLink to `to`. Empty: no such route that
// avoids what is to be avoided.
std::vector<LinkId> route_through(const ClusterSpec& cluster, RankId from, RankId out, RankId in, RankId to) {
  std::vector<LinkId> route = hosts_route(cluster, cluster.nic_hosts, out, in);
  if (route.empty()) return {};
  if (out != from) {
    const std::vector<LinkId> hop = hosts_route(cluster, cluster.nvlink_hosts, from, out);
    if (hop.empty()) return {};
    route.insert(route.begin(), hop.begin(), hop.end());
  }
  if (in != to) {
    const std::vector<LinkId> hop = hosts_route(cluster, cluster.nvlink_hosts, in, to);
    if (hop.empty()) return {};
    route.insert(route.end(), hop.begin(), hop.end());
  }
  return avoids(cluster, route) ? route : std::vector<LinkId>{};
}

std::vector<LinkId> detour_between(const ClusterSpec& cluster, RankId from, RankId to) {
  const int g = cluster.gpus_per_node;
  const auto neighbour = [&](RankId rank, int i) {
    return cluster.node_of(rank) * g + (cluster.local_of(rank) + i) % g;
  };
  for (const int hops : {0, 1, 2}) {
    for (int i = 0; i < g; ++i) {
      for (int j = 0; j < g; ++j) {
        if ((i > 0) + (j > 0) != hops) continue;
        std::vector<LinkId> route = route_through(cluster, from, neighbour(from, i), neighbour(to, j), to);
        if (!route.empty()) return route;
      }
    }
  }
  return {};
}

// Into an empty `route`.
void find_preferred_route(const ClusterSpec& cluster, RankId from, RankId to, std::vector<LinkId>& route) {
  const auto append = [&](const std::vector<HostId>& hosts) {
    cluster.platform->append_route(hosts[static_cast<std::size_t>(from)], hosts[static_cast<std::size_t>(to)], route);
    return !route.empty();
  };
  const int node = cluster.node_of(from);
  if (node == cluster.node_of(to)) {
    if (append(cluster.nvlink_hosts)) return;
  } else {
    if (append(cluster.nic_hosts)) return;
    // The GPU of the sender's node with the receiver's index is first choice, then by index.
    for (int i = 0; i < cluster.gpus_per_node; ++i) {
      const RankId via = node * cluster.gpus_per_node + (cluster.local_of(to) + i) % cluster.gpus_per_node;
      if (via == from) continue;
      std::vector<LinkId> hop = hosts_route(cluster, cluster.nvlink_hosts, from, via);
      const std::vector<LinkId> rest = hosts_route(cluster, cluster.nic_hosts, via, to);
      if (hop.empty() || rest.empty()) continue;
      route = std::move(hop);
      route.insert(route.end(), rest.begin(), rest.end());
      return;
    }
  }
  throw InputError({{"", 0, "", fmt::format("the platform has no route from rank {} to rank {}", from, to)}});
}

}  // namespace

void route_between(const ClusterSpec& cluster, RankId from, RankId to, std::vector<LinkId>& route) {
  route.clear();
  if (from == to) return;
  find_preferred_route(cluster, from, to, route);
  if (cluster.avoided.empty() || cluster.node_of(from) == cluster.node_of(to) || avoids(cluster, route)) return;
  std::vector<LinkId> detour = detour_between(cluster, from, to);
  if (!detour.empty()) route = std::move(detour);
}

std::vector<LinkId> route_between(const ClusterSpec& cluster, RankId from, RankId to) {
  std::vector<LinkId> route;
  route_between(cluster, from, to, route);
  return route;
}

ClusterSpec under_routing(const ClusterSpec& cluster, int n) {
  ClusterSpec under = cluster;
  if (n == 0) return under;
  const RouteState& routing = cluster.routings[static_cast<std::size_t>(n) - 1];
  under.avoided = routing.avoided;
  under.latency = routing.latency;
  return under;
}

Seconds route_latency(const ClusterSpec& cluster, const std::vector<LinkId>& route) {
  Seconds sum;
  for (const LinkId link : route) sum += cluster.latency[static_cast<std::size_t>(link)];
  return sum;
}

}  // namespace stepsim
