// Which hosts of the platform are the GPUs'.
#include <fmt/format.h>

#include <algorithm>

#include "sim/cluster/cluster_parts.hpp"
#include "sim/cluster/host_pattern.hpp"

namespace stepsim {
namespace {

constexpr RankId kNobody = -1;

// One name a rank: the pattern filled in, or the first names of a list.
std::vector<std::string> names_of(Fields& hosts, std::string_view key, const ClusterSpec& cluster) {
  std::vector<std::string> names;
  const auto node = hosts.node(key, required());
  if (!node) return names;
  if (node->IsSequence()) {
    hosts.texts(key, names, required());
    const auto wanted = static_cast<std::size_t>(cluster.ranks());
    if (names.size() < wanted) {
      hosts.problem(
          key, fmt::format("the list names {} host{}, and {} node{} of {} GPU{} need {}; all nodes have the "
                           "same number of GPUs",
                           names.size(), names.size() == 1 ? "" : "s", cluster.nodes, cluster.nodes == 1 ? "" : "s",
                           cluster.gpus_per_node, cluster.gpus_per_node == 1 ? "" : "s", wanted));
      return {};
    }
    names.resize(wanted);
    return names;
  }
  std::string pattern;
  hosts.text(key, pattern, required());
  if (pattern.empty()) return names;
  try {
    const HostPattern hosts_named(pattern);
    for (RankId rank = 0; rank < cluster.ranks(); ++rank) {
      names.push_back(hosts_named.name({rank, cluster.node_of(rank), cluster.local_of(rank)}));
    }
  } catch (const PatternError& error) {
    hosts.problem(key, error.what());
    return {};
  }
  return names;
}

// The host of every rank; those the platform lacks make one problem that names the first of them.
std::vector<HostId> find_hosts(Fields& document, Fields& hosts, std::string_view key, const ClusterSpec& cluster) {
  std::vector<HostId> found;
  std::string missing;
  int lacking = 0;
  for (const std::string& name : names_of(hosts, key, cluster)) {
    if (!cluster.platform) break;
    found.push_back(cluster.platform->host(name));
    if (found.back() >= 0) continue;
    if (++lacking <= 3) missing += (missing.empty() ? "" : ", ") + name;
  }
  if (lacking > 3) missing += fmt::format(" and {} more", lacking - 3);
  // More nodes than there are hosts for: whoever set their number is told.
  const bool asked_for = document.origin("nodes").file != document.file() && !found.empty() && found.front() >= 0;
  if (lacking > 0 && asked_for) {
    document.problem("nodes", fmt::format("{} nodes of {} GPUs; the platform has no host {}", cluster.nodes, cluster.gpus_per_node, missing));
  } else if (lacking > 0) {
    hosts.problem(key, fmt::format("the platform has no host {}", missing));
  }
  return lacking > 0 ? std::vector<HostId>{} : found;
}

// No two GPUs have the same port inside the node, and only GPUs of one node share a network card.
void check_sharing(Fields& hosts, std::string_view key, const ClusterSpec& cluster, const std::vector<HostId>& found,
                   bool in_node) {
  std::vector<RankId> rank_of(cluster.platform ? cluster.platform->hosts().size() : 0, kNobody);
  for (std::size_t i = 0; i < found.size(); ++i) {
    const auto rank = static_cast<RankId>(i);
    RankId& first = rank_of[static_cast<std::size_t>(found[i])];
    if (first == kNobody) {
      first = rank;
    } else if (!in_node || cluster.node_of(first) != cluster.node_of(rank)) {
      const std::string& name = cluster.platform->hosts()[static_cast<std::size_t>(found[i])];
      return hosts.problem(key, fmt::format("{} is the host of rank {} and of rank {}; {}", name, first, rank,
                                            in_node ? "a network card belongs to one node"
                                                    : "every GPU has a port of its own in its node"));
    }
  }
}

}  // namespace

void read_hosts(Fields& document, ClusterSpec& cluster) {
  Fields hosts = document.mapping("hosts", required());
  if (!document.has("hosts")) return;
  if (hosts.has("gpu")) {
    if (hosts.has("nvlink") || hosts.has("nic")) {
      hosts.problem("gpu", "stands beside nvlink or nic; give either gpu (one host for all traffic) or nvlink and nic");
    }
    cluster.nvlink_hosts = cluster.nic_hosts = find_hosts(document, hosts, "gpu", cluster);
    check_sharing(hosts, "gpu", cluster, cluster.nvlink_hosts, false);
  } else {
    cluster.nvlink_hosts = find_hosts(document, hosts, "nvlink", cluster);
    cluster.nic_hosts = find_hosts(document, hosts, "nic", cluster);
    check_sharing(hosts, "nvlink", cluster, cluster.nvlink_hosts, false);
    check_sharing(hosts, "nic", cluster, cluster.nic_hosts, true);
  }
  hosts.finish();
}

}  // namespace stepsim
