#include "sim/collective/rerouted.hpp"

#include <algorithm>
#include <stdexcept>

namespace stepsim {

std::vector<ClusterSpec> clusters_of_routings(const ClusterSpec& cluster) {
  std::vector<ClusterSpec> clusters;
  for (std::size_t n = 0; n <= cluster.routings.size(); ++n) clusters.push_back(under_routing(cluster, static_cast<int>(n)));
  return clusters;
}

Pattern make_rerouted_pattern(std::span<const ClusterSpec> routings, std::span<const RankId> members,
                              Operation operation, std::string_view algorithm, const TokenRouting& routing,
                              Detail detail, double payload) {
  Pattern pattern = make_pattern(routings[0], members, operation, algorithm, routing, detail, payload);
  for (const ClusterSpec& cluster : routings.subspan(1)) {
    Pattern other = make_pattern(cluster, members, operation, pattern.algorithm, routing, detail, payload);
    if (other.parts.size() != pattern.parts.size()) throw std::logic_error("a route changes the parts of a " + pattern.operation);
    for (std::size_t p = 0; p < other.parts.size(); ++p) {
      pattern.parts[p].detours.push_back({std::move(other.parts[p].loads), other.parts[p].alpha});
    }
  }
  for (Part& part : pattern.parts) {
    const bool stays = std::all_of(part.detours.begin(), part.detours.end(), [&](const Detour& detour) {
      return detour.loads == part.loads && detour.alpha == part.alpha;
    });
    if (stays) part.detours.clear();
  }
  return pattern;
}

}  // namespace stepsim
