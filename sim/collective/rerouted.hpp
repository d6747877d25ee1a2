// Patterns of calls on a cluster whose routes change during the step.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "sim/collective/algorithm.hpp"

namespace stepsim {

// The cluster as each of its routings has it, [0] as it is at the start.
std::vector<ClusterSpec> clusters_of_routings(const ClusterSpec& cluster);

// make_pattern() for each of them, in one: parts that change have detours.
Pattern make_rerouted_pattern(std::span<const ClusterSpec> routings, std::span<const RankId> members,
                              Operation operation, std::string_view algorithm, const TokenRouting& routing,
                              Detail detail, double payload = kLargePayload);

}  // namespace stepsim
