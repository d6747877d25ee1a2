// A part of a cluster, as a job that does not fill it sees it.
#pragma once

#include "sim/cluster/cluster.hpp"

namespace stepsim {

// The first `gpus_per_node` GPUs of each of the first `nodes` nodes, on the whole platform: links stay as they are, ports
// of GPUs left out have no owner. Both at least 1 and at most what the cluster has.
ClusterSpec part_of(const ClusterSpec& cluster, int nodes, int gpus_per_node);

}  // namespace stepsim
