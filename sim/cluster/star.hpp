// A cluster without files: GPUs on one ideal switch, a port each.
#pragma once

#include "sim/cluster/cluster.hpp"

namespace stepsim {

// `ranks` nodes of one GPU, whose ports carry `bandwidth` each way; a message takes `latency` from any to any other.
// The wire is called "port"; the GPU computes nothing.
ClusterSpec star_cluster(int ranks, BytesPerSecond bandwidth, Seconds latency);

}  // namespace stepsim
