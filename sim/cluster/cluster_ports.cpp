// Which links are whose ports.
#include <algorithm>
#include <numeric>
#include <utility>

#include "sim/cluster/cluster_parts.hpp"

namespace stepsim {
namespace {

// Links that only messages of one host cross.
void add_own_links(const ClusterSpec& cluster, std::vector<SharedPort>& ports) {
  std::vector<std::int32_t> first(cluster.platform->hosts().size(), -1);  // [host] of its links in next
  const auto& links = cluster.platform->links();
  std::vector<std::int32_t> next(links.size(), -1);
  for (std::size_t l = links.size(); l-- > 0;) {
    if (links[l].owner < 0) continue;
    std::int32_t& head = first[static_cast<std::size_t>(links[l].owner)];
    next[l] = std::exchange(head, static_cast<std::int32_t>(l));
  }
  const auto add = [&](HostId host, RankId rank) {
    for (std::int32_t l = first[static_cast<std::size_t>(host)]; l >= 0; l = next[static_cast<std::size_t>(l)]) {
      ports.push_back({l, rank});
    }
  };
  for (RankId rank = 0; rank < cluster.ranks(); ++rank) {
    const auto r = static_cast<std::size_t>(rank);
    add(cluster.nvlink_hosts[r], rank);
    if (cluster.nic_hosts[r] != cluster.nvlink_hosts[r]) add(cluster.nic_hosts[r], rank);
  }
}

// Between nodes, a GPU's port is the first link of the network on its way out, and the last on its way in: also where
// its host stands behind other links, as at a PCIe switch. Only where every GPU has one: a thin link between two sites
// is nobody's port.
void add_first_links(const ClusterSpec& cluster, std::vector<SharedPort>& ports) {
  const std::size_t tiers = cluster.tiers.size();
  std::vector<std::vector<SharedPort>> found(tiers);
  std::vector<int> having(tiers, 0);
  std::vector<bool> seen, done;
  std::vector<LinkId> route;
  for (RankId rank = 0; rank < cluster.ranks(); ++rank) {
    const RankId neighbour = rank - cluster.local_of(rank) + (cluster.local_of(rank) + 1) % cluster.gpus_per_node;
    route_between(cluster, rank, neighbour, route);
    if (cluster.nodes == 1) continue;
    const RankId peer = (rank + cluster.gpus_per_node) % cluster.ranks();
    seen.assign(tiers, false);
    const auto see = [&](LinkId link) {
      const auto tier = static_cast<std::size_t>(cluster.link_tier[static_cast<std::size_t>(link)]);
      if (done[tier]) return;
      done[tier] = seen[tier] = true;
      found[tier].push_back({link, rank});
    };
    done.assign(tiers, false);
    route_between(cluster, rank, peer, route);
    std::for_each(route.begin(), route.end(), see);
    done.assign(tiers, false);
    route_between(cluster, peer, rank, route);
    std::for_each(route.rbegin(), route.rend(), see);
    for (std::size_t t = 0; t < tiers; ++t) having[t] += seen[t] ? 1 : 0;
  }
  for (std::size_t t = 0; t < tiers; ++t) {
    if (having[t] == cluster.ranks()) ports.insert(ports.end(), found[t].begin(), found[t].end());
  }
}

// Sorted, each once. Of one link there are few.
void sort_ports(std::vector<SharedPort>& ports, std::size_t links) {
  std::vector<std::size_t> begin(links + 1, 0);
  for (const SharedPort& port : ports) ++begin[static_cast<std::size_t>(port.link) + 1];
  std::partial_sum(begin.begin(), begin.end(), begin.begin());
  std::vector<SharedPort> sorted(ports.size());
  std::vector<std::size_t> end(begin.begin(), begin.end() - 1);
  for (const SharedPort& port : ports) sorted[end[static_cast<std::size_t>(port.link)]++] = port;
  for (std::size_t l = 0; l < links; ++l) {
    if (end[l] - begin[l] < 2) continue;
    std::sort(sorted.begin() + static_cast<std::ptrdiff_t>(begin[l]), sorted.begin() + static_cast<std::ptrdiff_t>(end[l]));
  }
  sorted.erase(std::unique(sorted.begin(), sorted.end()), sorted.end());
  ports = std::move(sorted);
}

}  // namespace

void find_owners(ClusterSpec& cluster) {
  constexpr RankId kNobody = -1;
  std::vector<SharedPort> ports;
  add_own_links(cluster, ports);
  add_first_links(cluster, ports);
  sort_ports(ports, cluster.platform->links().size());
  cluster.shared_ports.clear();
  cluster.link_owner.assign(cluster.platform->links().size(), kNobody);
  for (auto first = ports.begin(); first != ports.end();) {
    const auto last = std::find_if(first, ports.end(), [&](const SharedPort& p) { return p.link != first->link; });
    const bool in_one_node = std::all_of(
        first, last, [&](const SharedPort& p) { return cluster.node_of(p.rank) == cluster.node_of(first->rank); });
    if (last - first == 1) {
      cluster.link_owner[static_cast<std::size_t>(first->link)] = first->rank;
    } else if (in_one_node) {
      cluster.shared_ports.insert(cluster.shared_ports.end(), first, last);
    }
    first = last;
  }
}

}  // namespace stepsim
