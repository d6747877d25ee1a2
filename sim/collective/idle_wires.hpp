// All-to-alls leave wires idle between their messages (AllToAllRates): time that a call takes beside its bytes, and in
// which the wire is free for others.
#pragma once

#include <vector>

#include "sim/cluster/cluster.hpp"
#include "sim/collective/algorithm.hpp"

namespace stepsim {

// To each part, of detail aggregate, what its bytes leave idle on its slowest wire.
void add_idle_wires(const ClusterSpec& cluster, std::vector<Part>& parts);
// After the last of all messages, of detail flow, the most that a part of the same call in detail aggregate leaves idle.
void add_idle_end(const ClusterSpec& cluster, std::vector<Part> aggregate, std::vector<Part>& messages);
// To each term of a closed form.
void add_idle_wires(std::vector<Term>& terms, const AllToAllRates& rates);

}  // namespace stepsim
