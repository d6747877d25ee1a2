#include "workloads/group_bound.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <set>

namespace stepsim {
namespace {

// The members' places: for each of their nodes, in order, the places in it.
std::vector<int> form_of(const ClusterSpec& cluster, const std::vector<RankId>& members) {
  std::vector<int> form, nodes;
  for (const RankId r : members) {
    const int node = cluster.node_of(r);
    auto at = std::find(nodes.begin(), nodes.end(), node);
    if (at == nodes.end()) at = nodes.insert(nodes.end(), node);
    form.push_back(static_cast<int>(at - nodes.begin()) * cluster.gpus_per_node + cluster.local_of(r));
  }
  return form;
}

}  // namespace

RankLists strided(int world, int stride, int size) {
  RankLists lists;
  for (RankId first = 0; first < world; ++first) {
    if (first / stride % size != 0) continue;
    auto& list = lists.emplace_back();
    for (int i = 0; i < size; ++i) list.push_back(first + i * stride);
  }
  return lists;
}

GroupBound GroupBound::least(const GroupBound& other) const {
  GroupBound result = *this;
  result.seconds_per_byte = std::min(seconds_per_byte, other.seconds_per_byte);
  for (std::size_t t = 0; t < port.size(); ++t) result.port[t] = std::min(port[t], other.port[t]);
  return result;
}

GroupBounds::GroupBounds(const ClusterSpec& cluster)
    : cluster_(cluster), fastest_(cluster.tiers.size(), 0),
      ports_(static_cast<std::size_t>(cluster.ranks()), std::vector<int>(cluster.tiers.size(), 0)) {
  for (std::size_t l = 0; l < cluster.bandwidth.size(); ++l) {
    double& fastest = fastest_[cluster.link_tier[l]];
    fastest = std::max(fastest, cluster.bandwidth[l].value);
    const auto changes = cluster.bandwidth_changes.find(static_cast<LinkId>(l));
    if (changes != cluster.bandwidth_changes.end()) {
      for (const Change& change : changes->second) fastest = std::max(fastest, change.value);
    }
    if (cluster.link_owner[l] >= 0) ++ports_[cluster.link_owner[l]][cluster.link_tier[l]];
  }
}

GroupBound GroupBounds::of_pattern(const std::vector<RankId>& members, const Pattern& pattern) const {
  GroupBound bound;
  bound.port.assign(fastest_.size(), 0);
  for (const Part& part : pattern.parts) {
    for (const Load& load : part.loads) {
      if (cluster_.link_owner[load.link] < 0) continue;
      const int tier = cluster_.link_tier[load.link];
      const double seconds = part.bytes_per_payload * load.legs / fastest_[tier];
      bound.seconds_per_byte = std::max(bound.seconds_per_byte, seconds);
      bound.port[tier] += seconds;
    }
  }
  for (std::size_t t = 0; t < fastest_.size(); ++t) {
    int ports = 0;
    for (const RankId r : members) ports += ports_[r][t];
    bound.port[t] = ports > 0 ? bound.port[t] / ports : 0;
  }
  return bound;
}

namespace {

std::string full_key(const std::string& key, Operation operation, const std::string& algorithm, const TokenRouting& routing) {
  return fmt::format("{} {} {} {} {} {}", key, static_cast<int>(operation), algorithm, routing.experts, routing.top_k,
                     routing.max_nodes);
}

}  // namespace

const GroupBound* GroupBounds::find(const std::string& key, Operation operation, const std::string& algorithm,
                                    const TokenRouting& routing) const {
  const auto known = known_.find(full_key(key, operation, algorithm, routing));
  return known == known_.end() ? nullptr : &known->second;
}

// What "auto" takes depends on the payload, which a bound does not know.
std::vector<std::string> GroupBounds::names_of(const std::vector<RankId>& members, Operation operation,
                                               const std::string& algorithm, const TokenRouting& routing) const {
  if (algorithm != "auto") return {algorithm};
  std::vector<std::string> names;
  for (const Algorithm* a : automatic_choices(shape_of(cluster_, members), operation, routing))
    names.emplace_back(a->name);
  return names;
}

const GroupBound& GroupBounds::of(const std::string& key, const RankLists& groups, Operation operation,
                                  const std::string& algorithm, const TokenRouting& routing) {
  const std::string full = full_key(key, operation, algorithm, routing);
  const auto known = known_.find(full);
  if (known != known_.end()) return known->second;
  GroupBound least;
  least.port.assign(fastest_.size(), 0);
  bool first = true;
  std::set<std::vector<int>> forms;
  for (const std::vector<RankId>& members : groups) {
    if (members.size() < 2 || !forms.insert(form_of(cluster_, members)).second) continue;
    for (const std::string& name : names_of(members, operation, algorithm, routing)) {
      const GroupBound one =
          of_pattern(members, make_pattern(cluster_, members, operation, name, routing, Detail::aggregate));
      least = first ? one : least.least(one);
      first = false;
    }
  }
  return known_.emplace(full, least).first->second;
}

double GroupBounds::message(RankId from, RankId to) const {
  if (from == to) return 0;
  // Inside a node over the first tier; else through a port of the sender of another tier.
  const bool inside = cluster_.node_of(from) == cluster_.node_of(to);
  double fastest = 0;
  for (std::size_t t = 0; t < fastest_.size(); ++t) {
    if ((t == 0) == inside && ports_[from][t] > 0) fastest = std::max(fastest, fastest_[t]);
  }
  return fastest > 0 ? 1 / fastest : 0;
}

}  // namespace stepsim
