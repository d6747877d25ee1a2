#include "sim/cluster/moved.hpp"

#include <algorithm>

namespace stepsim {
namespace {

bool stays_as_built(const ClusterSpec& cluster) {
  return cluster.avoided.empty() && cluster.bandwidth_changes.empty() && cluster.speed_changes.empty() && cluster.routings.empty() &&
         cluster.reroutings.empty() && cluster.jitter == Jitter{};
}

bool nodes_stay_whole(const ClusterSpec& cluster, std::span<const RankId> to) {
  for (RankId r = 0; r < cluster.ranks(); ++r) {
    const RankId first = to[static_cast<std::size_t>(r - cluster.local_of(r))];
    if (to[static_cast<std::size_t>(r)] != first + cluster.local_of(r) || cluster.local_of(first) != 0) return false;
    if (cluster.speed[static_cast<std::size_t>(r)] != cluster.speed[static_cast<std::size_t>(to[static_cast<std::size_t>(r)])]) return false;
  }
  return true;
}

// False where ranks with one host go to ranks with two.
bool move_hosts(const std::vector<HostId>& hosts, std::span<const RankId> to, std::vector<HostId>& host_to) {
  for (std::size_t r = 0; r < hosts.size(); ++r) {
    HostId& host = host_to[static_cast<std::size_t>(hosts[r])];
    const HostId other = hosts[static_cast<std::size_t>(to[r])];
    if (host >= 0 && host != other) return false;
    host = other;
  }
  return true;
}

bool links_are_alike(const ClusterSpec& cluster, std::span<const RankId> to, const std::vector<LinkId>& links) {
  for (std::size_t a = 0; a < links.size(); ++a) {
    if (links[a] < 0) continue;
    const auto b = static_cast<std::size_t>(links[a]);
    const RankId owner = cluster.link_owner[a];
    if (cluster.bandwidth[a] != cluster.bandwidth[b] || cluster.latency[a] != cluster.latency[b] ||
        cluster.link_tier[a] != cluster.link_tier[b] || cluster.link_owner[b] != (owner < 0 ? owner : to[static_cast<std::size_t>(owner)])) {
      return false;
    }
  }
  return std::all_of(cluster.shared_ports.begin(), cluster.shared_ports.end(), [&](const SharedPort& port) {
    const LinkId link = links[static_cast<std::size_t>(port.link)];
    return link < 0 || std::binary_search(cluster.shared_ports.begin(), cluster.shared_ports.end(),
                                          SharedPort{link, to[static_cast<std::size_t>(port.rank)]});
  });
}

}  // namespace

std::optional<std::vector<LinkId>> links_moved(const ClusterSpec& cluster, std::span<const RankId> to) {
  if (!stays_as_built(cluster) || !nodes_stay_whole(cluster, to)) return std::nullopt;
  std::vector<HostId> hosts(cluster.platform->hosts().size(), -1);
  if (!move_hosts(cluster.nvlink_hosts, to, hosts) || !move_hosts(cluster.nic_hosts, to, hosts)) return std::nullopt;
  auto links = cluster.platform->links_moved(hosts);
  if (!links || !links_are_alike(cluster, to, *links)) return std::nullopt;
  return links;
}

}  // namespace stepsim
