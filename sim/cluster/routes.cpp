// Which links a message between two GPUs crosses.
#include <fmt/format.h>

#include "sim/cluster/cluster.hpp"

namespace stepsim {
namespace {

std::vector<LinkId> hosts_route(const ClusterSpec& cluster, const std::vector<HostId>& hosts, RankId from, RankId to) {
  return cluster.platform->route(hosts[static_cast<std::size_t>(from)], hosts[static_cast<std::size_t>(to)]);
}

}  // namespace

std::vector<LinkId> route_between(const ClusterSpec& cluster, RankId from, RankId to) {
  if (from == to) return {};
  const int node = cluster.node_of(from);
  if (node == cluster.node_of(to)) {
    std::vector<LinkId> inside = hosts_route(cluster, cluster.nvlink_hosts, from, to);
    if (!inside.empty()) return inside;
  } else {
    std::vector<LinkId> direct = hosts_route(cluster, cluster.nic_hosts, from, to);
    if (!direct.empty()) return direct;
    // The GPU of the sender's node with the receiver's index is first choice, then by index.
    for (int i = 0; i < cluster.gpus_per_node; ++i) {
      const RankId via = node * cluster.gpus_per_node + (cluster.local_of(to) + i) % cluster.gpus_per_node;
      if (via == from) continue;
      std::vector<LinkId> hop = hosts_route(cluster, cluster.nvlink_hosts, from, via);
      const std::vector<LinkId> rest = hosts_route(cluster, cluster.nic_hosts, via, to);
      if (hop.empty() || rest.empty()) continue;
      hop.insert(hop.end(), rest.begin(), rest.end());
      return hop;
    }
  }
  throw InputError({{"", 0, "", fmt::format("the platform has no route from rank {} to rank {}", from, to)}});
}

Seconds route_latency(const ClusterSpec& cluster, const std::vector<LinkId>& route) {
  Seconds sum;
  for (const LinkId link : route) sum += cluster.latency[static_cast<std::size_t>(link)];
  return sum;
}

}  // namespace stepsim
