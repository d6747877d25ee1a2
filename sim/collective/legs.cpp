#include "sim/collective/legs.hpp"

#include <algorithm>
#include <unordered_map>

namespace stepsim {

void Legs::add_route(const std::vector<LinkId>& route, double times) {
  double latency = 0;
  for (const LinkId link : route) {
    loads_.push_back({link, times});
    latency += cluster_.latency[link].value;
  }
  latency_ = std::max(latency_, latency);
  if (loads_.size() >= kMany) count_densely();
}

void Legs::count_densely() {
  if (dense_.empty()) dense_.assign(cluster_.bandwidth.size(), 0);
  for (const Load& load : loads_) dense_[static_cast<std::size_t>(load.link)] += load.legs;
  loads_.clear();
}

const std::vector<LinkId>& Legs::add(RankId from, RankId to, double times) {
  route_between(cluster_, from, to, route_);
  add_route(route_, times);
  return route_;
}

void Legs::add_by_rail(RankId from, RankId to, double times) {
  const RankId via = cluster_.node_of(from) * cluster_.gpus_per_node + cluster_.local_of(to);
  std::vector<LinkId> route = route_between(cluster_, from, via);
  if (via != to) {
    const std::vector<LinkId> rest = route_between(cluster_, via, to);
    route.insert(route.end(), rest.begin(), rest.end());
  }
  add_route(route, times);
}

void Legs::add_all_pairs(std::span<const RankId> members, double times) {
  if (add_all_pairs_at_once(members, times)) return;
  for (const RankId from : members) {
    for (const RankId to : members) add(from, to, times);
  }
}

// Between the NICs of all members; then those of one node, which talk over NVLink, are taken out again. False, and nothing
// added, where that is not what the routes are or the platform cannot tell.
bool Legs::add_all_pairs_at_once(std::span<const RankId> members, double times) {
  constexpr std::size_t kWorth = 64;
  if (members.size() < kWorth || !cluster_.avoided.empty()) return false;
  std::vector<HostId> hosts;
  for (const RankId rank : members) hosts.push_back(cluster_.nic_hosts[rank]);
  std::vector<HostId> sorted = hosts;
  std::sort(sorted.begin(), sorted.end());
  if (std::adjacent_find(sorted.begin(), sorted.end()) != sorted.end()) return false;  // GPUs that share a network card
  auto pairs = cluster_.platform->all_pairs(hosts, cluster_.latency);
  if (!pairs) return false;
  const Nodes nodes = by_node(cluster_, members);
  double inside = 0;  // the longest route between NICs of one node
  for (const NodeMembers& node : nodes) {
    for (const RankId from : node) {
      for (const RankId to : node) {
        if (from == to) continue;
        route_.clear();
        cluster_.platform->append_route(cluster_.nic_hosts[from], cluster_.nic_hosts[to], route_);
        for (const LinkId link : route_) --pairs->legs[link];
        inside = std::max(inside, route_latency(cluster_, route_).value);
      }
    }
  }
  if (inside >= pairs->latency && nodes.size() < members.size()) return false;  // which pairs have the longest is not known
  if (dense_.empty()) dense_.assign(cluster_.bandwidth.size(), 0);
  for (std::size_t l = 0; l < dense_.size(); ++l) dense_[l] += times * pairs->legs[l];
  latency_ = std::max(latency_, pairs->latency);
  add_inside(nodes, times);
  return true;
}

void Legs::add_all_pairs_in_planes(const Nodes& nodes, double times) {
  Legs hops(cluster_), rails(cluster_);
  hops.add_inside(nodes, times * static_cast<double>(nodes.size()));  // its own share, and one hop for each other node
  for (std::size_t i = 0; i < nodes[0].size(); ++i) {
    std::vector<RankId> rail;
    for (const NodeMembers& node : nodes) rail.push_back(node[i]);
    rails.add_all_pairs(rail, times * static_cast<double>(nodes[0].size()));  // the shares of all of a node's members
  }
  latency_ = std::max(latency_, hops.latency() + rails.latency());
  for (Legs* legs : {&hops, &rails}) {
    for (const Load& load : legs->take()) loads_.push_back(load);
  }
}

void Legs::add_inside(const Nodes& nodes, double times) {
  for (const auto& node : nodes) {
    for (const RankId from : node) {
      for (const RankId to : node) add(from, to, times);
    }
  }
}

void Legs::add_port(std::span<const RankId> node, std::size_t member, double out, double in) {
  const RankId rank = node[member], one = node[(member + 1) % node.size()], other = node[(member + 2) % node.size()];
  const auto common = [&](const std::vector<LinkId>& a, const std::vector<LinkId>& b, double legs) {
    for (const LinkId link : a) {
      if (legs > 0 && std::find(b.begin(), b.end(), link) != b.end()) loads_.push_back({link, legs});
    }
  };
  common(route_between(cluster_, rank, one), route_between(cluster_, rank, other), out);
  common(route_between(cluster_, one, rank), route_between(cluster_, other, rank), in);
}

std::vector<Load> Legs::take() {
  if (!dense_.empty()) {
    count_densely();
    std::vector<Load> merged;
    for (std::size_t l = 0; l < dense_.size(); ++l) {
      if (dense_[l] != 0) merged.push_back({static_cast<LinkId>(l), dense_[l]});
    }
    dense_.clear();
    return merged;
  }
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

double seconds_per_byte(const ClusterSpec& cluster, const std::vector<Load>& loads) {
  double most = 0;
  for (const Load& load : loads) {
    const double bandwidth = cluster.bandwidth[load.link].value;
    if (bandwidth > 0) most = std::max(most, load.legs / bandwidth);
  }
  return most;
}

double seconds_per_byte(const ClusterSpec& cluster, const std::vector<LinkId>& route) {
  double most = 0;
  for (const LinkId link : route) {
    const double bandwidth = cluster.bandwidth[link].value;
    if (bandwidth > 0) most = std::max(most, 1 / bandwidth);
  }
  return most;
}

Nodes by_node(const ClusterSpec& cluster, std::span<const RankId> members) {
  Nodes nodes;
  std::unordered_map<int, std::size_t> places;  // once a node comes that is not the highest so far; else empty
  int last = -1, highest = -1;
  std::size_t place = 0;
  for (const RankId r : members) {
    const int node = cluster.node_of(r);
    if (node != last) {  // members mostly come node by node
      if (node < highest && places.empty()) {
        for (std::size_t k = 0; k < nodes.size(); ++k) places.emplace(cluster.node_of(nodes[k][0]), k);
      }
      place = nodes.size();
      if (!places.empty()) place = places.try_emplace(node, place).first->second;
      if (place == nodes.size()) nodes.emplace_back();
      last = node;
      highest = std::max(highest, node);
    }
    nodes[place].push_back(r);
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

std::vector<Part> only(Part&& part) {
  std::vector<Part> parts;
  parts.push_back(std::move(part));
  return parts;
}

}  // namespace stepsim
