// Moving the GPUs of a cluster onto each other so that nothing can tell.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "sim/cluster/cluster.hpp"

namespace stepsim {

// Rank r goes to rank to[r], one to one. If nodes stay whole, each GPU keeps its place in its node, and all speeds, routes
// and links' values come out as they are: [link] where it goes, -1 for links that no route between ranks crosses. Nothing
// if they do not, where anything changes at a time, or if that would take long to know (Platform::links_moved).
std::optional<std::vector<LinkId>> links_moved(const ClusterSpec& cluster, std::span<const RankId> to);

}  // namespace stepsim
