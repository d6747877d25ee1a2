// Parts of reading a cluster. Internal to this folder.
#pragma once

#include "sim/cluster/cluster.hpp"

namespace stepsim {

// Fills nvlink_hosts and nic_hosts. Needs nodes, gpus_per_node and the platform.
void read_hosts(Fields& document, ClusterSpec& cluster);

// Fills link_owner and shared_ports. Needs all else. Throws InputError where a GPU has no route to its neighbour in the node
// or to and from its peer on the next node.
void find_owners(ClusterSpec& cluster);

// Fills tiers and link_tier.
void read_tiers(Fields& document, ClusterSpec& cluster);

// The optional key port_bandwidth: for a wire, the speed of the hosts' own links; all its links change in proportion.
void read_port_bandwidth(Fields& document, ClusterSpec& cluster);

}  // namespace stepsim
