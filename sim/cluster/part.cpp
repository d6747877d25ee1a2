#include "sim/cluster/part.hpp"

#include <cassert>

#include "sim/cluster/cluster_parts.hpp"

namespace stepsim {

ClusterSpec part_of(const ClusterSpec& cluster, int nodes, int gpus_per_node) {
  assert(nodes >= 1 && nodes <= cluster.nodes && gpus_per_node >= 1 && gpus_per_node <= cluster.gpus_per_node);
  ClusterSpec part = cluster;
  part.nodes = nodes;
  part.gpus_per_node = gpus_per_node;
  part.nvlink_hosts.clear();
  part.nic_hosts.clear();
  part.speed.clear();
  for (RankId rank = 0; rank < part.ranks(); ++rank) {
    const auto before = static_cast<std::size_t>(part.node_of(rank) * cluster.gpus_per_node + part.local_of(rank));
    part.nvlink_hosts.push_back(cluster.nvlink_hosts[before]);
    part.nic_hosts.push_back(cluster.nic_hosts[before]);
    part.speed.push_back(cluster.speed[before]);
  }
  find_owners(part);
  return part;
}

}  // namespace stepsim
