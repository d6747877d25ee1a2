#include "sim/collective/legs.hpp"

#include <algorithm>

namespace stepsim {

void Legs::add(RankId from, RankId to, double times) {
  const std::vector<LinkId> route = route_between(cluster_, from, to);
  double latency = 0;
  for (const LinkId link : route) {
    loads_.push_back({link, times});
    latency += cluster_.latency[link].value;
  }
  latency_ = std::max(latency_, latency);
}

std::vector<Load> Legs::take() {
  std::sort(loads_.begin(), loads_.end(), [](const Load& a, const Load& b) { return a.link < b.link; });
  std::vector<Load> merged;
  for (const Load& load : loads_) {
    if (!merged.empty() && merged.back().link == load.link) {
      merged.back().legs += load.legs;
    } else {
      merged.push_back(load);
    }
  }
  loads_.clear();
  return merged;
}

std::vector<std::vector<RankId>> by_node(const ClusterSpec& cluster, std::span<const RankId> members) {
  std::vector<std::vector<RankId>> nodes;
  std::vector<int> ids;
  for (const RankId r : members) {
    const int node = cluster.node_of(r);
    auto at = std::find(ids.rbegin(), ids.rend(), node);  // members mostly come node by node
    if (at == ids.rend()) {
      ids.push_back(node);
      nodes.push_back({r});
    } else {
      nodes[ids.rend() - at - 1].push_back(r);
    }
  }
  return nodes;
}

Part make_part(Legs& legs, double bytes_per_payload, double steps) {
  Part part;
  part.alpha = steps * legs.latency();
  part.bytes_per_payload = bytes_per_payload;
  part.loads = legs.take();
  return part;
}

}  // namespace stepsim
