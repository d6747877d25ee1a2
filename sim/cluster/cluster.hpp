// ClusterSpec: nodes of GPUs, the wires between them, and which route a message takes.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "sim/base/fields.hpp"
#include "sim/cluster/gpu.hpp"
#include "sim/cluster/platform.hpp"

namespace stepsim {

// Which links messages avoid and what latency they pay, at other times than the start.
struct RouteState {
  std::set<LinkId> avoided;
  std::vector<Seconds> latency;  // [link]

  bool operator==(const RouteState&) const = default;
};

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
  std::vector<SharedPort> shared_ports;  // of ranks of one node that share a network card, sorted

  // The scenario's and what-ifs' view of the platform's links: start as the platform's own values.
  std::vector<BytesPerSecond> bandwidth;  // [link] 0: down
  std::vector<Seconds> latency;           // [link]
  std::vector<double> speed;              // [rank] of compute, 1 unless a straggler
  std::set<LinkId> avoided;               // messages go round them by a neighbour's NIC, where there is such a way

  // What changes during the step, as the graph has it (Change, Rerouting); all empty without a scenario.
  std::map<LinkId, std::vector<Change>> bandwidth_changes;  // bytes/s
  std::map<RankId, std::vector<Change>> speed_changes;
  std::vector<RouteState> routings;  // [n - 1] is routing n
  std::vector<Rerouting> reroutings;
  Jitter jitter;

  int ranks() const { return nodes * gpus_per_node; }
  int node_of(RankId rank) const { return rank / gpus_per_node; }
  int local_of(RankId rank) const { return rank % gpus_per_node; }
};

// The cluster as routing n has it; 0: the cluster itself.
ClusterSpec under_routing(const ClusterSpec& cluster, int n);

// The links a message from one GPU to another crosses: NVLink inside a node; between nodes the NICs' network, with a
// hop over NVLink in the sender's node first where the two NICs stand in different planes (no route between them).
// Where such a route between nodes crosses an avoided link, another is taken that crosses none: out through the NIC of
// the next GPU of the sender's node, in through that of the receiver's, or both (fewest hops first, then the nearest
// neighbours by index); if there is none, the route stays.
// Empty for a message to itself. Throws InputError naming the two GPUs when the platform joins them in no way.
std::vector<LinkId> route_between(const ClusterSpec& cluster, RankId from, RankId to);
void route_between(const ClusterSpec& cluster, RankId from, RankId to, std::vector<LinkId>& route);  // into `route`
Seconds route_latency(const ClusterSpec& cluster, const std::vector<LinkId>& route);

// Reads a cluster's YAML, its platform and its GPU. Keys:
//   name
//   platform, gpu      paths relative to the YAML's folder; or, without '/' and ending, names of shipped ones
//   nodes, gpus_per_node
//   gpu_hour_price     of one GPU, in the currency of your choice; for costs
//   hosts              {nvlink, nic}: patterns of the hosts' names ("nic{node*4+local/2}", see host_pattern.hpp) or
//                      lists of names by rank, of which the first are used; or {gpu}: the same for platforms where one
//                      host does both. GPUs of a node may share a network card.
//   tiers              for each wire the patterns of its links' names (`*` any characters, `?` any one), the wire inside
//                      a node first. Every link is in exactly one.
//   port_bandwidth     {WIRE: BANDWIDTH}: the hosts' own links of the wire get this, its other links in proportion
//   uplinks            how messages spread over links that are several cables; see uplinks.hpp
// Overrides of "gpu.KEY" change the GPU's file. `rates` picks which of the GPU's rates are filled in; `shipped` is the
// folder of shipped platforms with its gpus/, empty when names mean nothing. Problems go to `reading`; the result is
// only meaningful when there are none.
ClusterSpec read_cluster(Reading& reading, const std::string& path, std::vector<Override> overrides, Rates rates,
                         const std::string& shipped = "");

// [link] whether the cluster's ranks may use it: all but the private links of hosts that no rank has (nodes of a platform
// that the cluster takes only a part of).
std::vector<bool> links_within_reach(const ClusterSpec& cluster);

}  // namespace stepsim
