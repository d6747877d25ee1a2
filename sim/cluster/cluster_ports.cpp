// Which links are whose ports.
#include <algorithm>

#include "sim/cluster/cluster_parts.hpp"

namespace stepsim {
namespace {

// Links that only messages of one host cross.
void add_own_links(const ClusterSpec& cluster, std::vector<SharedPort>& ports) {
  std::vector<std::vector<RankId>> ranks_of(cluster.platform->hosts().size());
  for (RankId rank = 0; rank < cluster.ranks(); ++rank) {
    const auto r = static_cast<std::size_t>(rank);
    const HostId nvlink = cluster.nvlink_hosts[r], nic = cluster.nic_hosts[r];
    ranks_of[static_cast<std::size_t>(nvlink)].push_back(rank);
    if (nic != nvlink) ranks_of[static_cast<std::size_t>(nic)].push_back(rank);
  }
  const auto& links = cluster.platform->links();
  for (std::size_t l = 0; l < links.size(); ++l) {
    if (links[l].owner < 0) continue;
    for (const RankId rank : ranks_of[static_cast<std::size_t>(links[l].owner)]) {
      ports.push_back({static_cast<std::int32_t>(l), rank});
    }
  }
}

// Between nodes, a GPU's port is the first link of the network on its way out, and the last on its way in: also where
// its host stands behind other links, as at a PCIe switch. Only where every GPU has one: a thin link between two sites
// is nobody's port.
void add_first_links(const ClusterSpec& cluster, std::vector<SharedPort>& ports) {
  const std::size_t tiers = cluster.tiers.size();
  std::vector<std::vector<SharedPort>> found(tiers);
  std::vector<int> having(tiers, 0);
  for (RankId rank = 0; rank < cluster.ranks() && cluster.nodes > 1; ++rank) {
    const RankId peer = (rank + cluster.gpus_per_node) % cluster.ranks();
    std::vector<bool> seen(tiers, false);
    const auto see = [&](LinkId link, std::vector<bool>& done) {
      const auto tier = static_cast<std::size_t>(cluster.link_tier[static_cast<std::size_t>(link)]);
      if (done[tier]) return;
      done[tier] = seen[tier] = true;
      found[tier].push_back({link, rank});
    };
    const std::vector<LinkId> out = route_between(cluster, rank, peer), in = route_between(cluster, peer, rank);
    std::vector<bool> done(tiers, false);
    for (const LinkId link : out) see(link, done);
    done.assign(tiers, false);
    for (auto link = in.rbegin(); link != in.rend(); ++link) see(*link, done);
    for (std::size_t t = 0; t < tiers; ++t) having[t] += seen[t] ? 1 : 0;
  }
  for (std::size_t t = 0; t < tiers; ++t) {
    if (having[t] == cluster.ranks()) ports.insert(ports.end(), found[t].begin(), found[t].end());
  }
}

}  // namespace

void find_owners(ClusterSpec& cluster) {
  constexpr RankId kNobody = -1;
  std::vector<SharedPort> ports;
  add_own_links(cluster, ports);
  add_first_links(cluster, ports);
  std::sort(ports.begin(), ports.end());
  ports.erase(std::unique(ports.begin(), ports.end()), ports.end());
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
