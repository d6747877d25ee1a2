// ClusterSpec: nodes of GPUs, the wires between them, and which route a message takes.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "sim/base/fields.hpp"
#include "sim/cluster/gpu.hpp"
#include "sim/cluster/platform.hpp"

namespace stepsim {

// Rank r is GPU r % gpus_per_node of node r / gpus_per_node. Every rank has two hosts in the platform: one on its
// node's NVSwitch (or PCIe switch), one for its NIC.
struct ClusterSpec {
  std::string name;
  int nodes = 0;
  int gpus_per_node = 0;
  double gpu_hour_price = 0;  // of a GPU for an hour, in any currency; 0: not known
  Gpu gpu;
  std::shared_ptr<const Platform> platform;
  std::vector<HostId> nvlink_hosts;  // [rank]
  std::vector<HostId> nic_hosts;     // [rank]
  std::vector<std::string> tiers;    // names of the wires: "nvlink", "infiniband"; the first is the one inside a node
  std::vector<int> link_tier;        // [link] index into tiers
  std::vector<RankId> link_owner;    // [link] the rank whose own port it is, -1 for a shared link

  // The scenario's and what-ifs' view of the platform's links: start as the platform's own values.
  std::vector<BytesPerSecond> bandwidth;  // [link]
  std::vector<Seconds> latency;           // [link]
  std::vector<double> speed;              // [rank] of compute, 1 unless a straggler

  int ranks() const { return nodes * gpus_per_node; }
  int node_of(RankId rank) const { return rank / gpus_per_node; }
  int local_of(RankId rank) const { return rank % gpus_per_node; }
};

// The links a message from one GPU to another crosses: NVLink inside a node; between nodes the NICs' network, with a
// hop over NVLink in the sender's node first where the two NICs stand in different planes (no route between them).
// Empty for a message to itself. Throws InputError naming the two GPUs when the platform joins them in no way.
std::vector<LinkId> route_between(const ClusterSpec& cluster, RankId from, RankId to);
Seconds route_latency(const ClusterSpec& cluster, const std::vector<LinkId>& route);

// Reads a cluster's YAML, its platform and its GPU. Keys: name, platform, gpu, nodes, gpus_per_node, gpu_hour_price;
// hosts {nvlink, nic}: the hosts' names with {rank}, {node} or {local} (index in the node) in them; tiers: for each wire the patterns
// of its links' names (`*` any characters, `?` any one), the wire inside a node first. Every link is in exactly one
// tier. `rates` picks which of the GPU's rates are filled in. Problems go to `reading`; the result is only meaningful
// when there are none. Paths inside the YAML are relative to its folder.
ClusterSpec read_cluster(Reading& reading, const std::string& path, const std::vector<Override>& overrides,
                         Rates rates);

}  // namespace stepsim
