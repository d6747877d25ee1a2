#include "sim/cluster/cluster.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "sim/cluster/glob.hpp"

namespace stepsim {
namespace {

struct Tier {
  std::string name;
  std::vector<std::string> patterns;
};

std::string beside(const std::string& file, const std::string& path) {
  return (std::filesystem::path(file).parent_path() / path).lexically_normal().string();
}

void replace_all(std::string& text, std::string_view what, int value) {
  for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at)) {
    text.replace(at, what.size(), fmt::format("{}", value));
  }
}

std::string host_name(std::string pattern, const ClusterSpec& cluster, RankId rank) {
  replace_all(pattern, "{rank}", rank);
  replace_all(pattern, "{node}", cluster.node_of(rank));
  replace_all(pattern, "{local}", cluster.local_of(rank));
  return pattern;
}

// The host of every rank; those the platform lacks make one problem that names the first of them.
std::vector<HostId> find_hosts(Fields& hosts, std::string_view key, const ClusterSpec& cluster) {
  std::string pattern;
  hosts.text(key, pattern, required());
  std::vector<HostId> found;
  std::string missing;
  int lacking = 0;
  if (pattern.empty() || !cluster.platform) return found;
  for (RankId rank = 0; rank < cluster.ranks(); ++rank) {
    const std::string name = host_name(pattern, cluster, rank);
    found.push_back(cluster.platform->host(name));
    if (found.back() >= 0) continue;
    if (++lacking <= 3) missing += (missing.empty() ? "" : ", ") + name;
  }
  if (lacking > 3) missing += fmt::format(" and {} more", lacking - 3);
  if (lacking > 0) hosts.problem(key, fmt::format("the platform has no host {}", missing));
  return found;
}

std::vector<Tier> read_tiers(Fields& document) {
  std::vector<Tier> tiers;
  const auto node = document.node("tiers", required());
  if (!node) return tiers;
  Fields fields = document.mapping("tiers", required());
  if (!node->IsMap()) return tiers;
  for (const auto& pair : *node) {
    if (!pair.first.IsScalar()) continue;  // finish() notes it
    Tier tier{.name = pair.first.Scalar(), .patterns = {}};
    fields.texts(tier.name, tier.patterns, required());
    for (const char* taken : {"compute", "hbm", "latency", "none", "other", "formula"}) {
      if (tier.name == taken) fields.problem(tier.name, "is the report's own word; name the wire (nvlink, infiniband, ethernet, ...)");
    }
    tiers.push_back(std::move(tier));
  }
  fields.finish();
  if (tiers.empty()) document.problem("tiers", "names no wire; write for each wire the names of its links");
  return tiers;
}

// The tier of every link. Links in none or in two are problems, one for each kind, naming the first such link.
void assign_tiers(Fields& document, const std::vector<Tier>& tiers, ClusterSpec& cluster) {
  std::string in_none, in_two;
  int number_in_none = 0, number_in_two = 0;
  for (const Tier& tier : tiers) cluster.tiers.push_back(tier.name);
  for (const PlatformLink& link : cluster.platform->links()) {
    int chosen = -1;
    for (std::size_t t = 0; t < tiers.size(); ++t) {
      const bool matches = std::any_of(tiers[t].patterns.begin(), tiers[t].patterns.end(),
                                       [&](const std::string& pattern) { return glob_matches(pattern, link.name); });
      if (!matches) continue;
      if (chosen >= 0 && number_in_two++ == 0) {
        in_two = fmt::format("{} is in {} and in {}", link.name, tiers[static_cast<std::size_t>(chosen)].name,
                             tiers[t].name);
      }
      chosen = static_cast<int>(t);
    }
    if (chosen < 0 && number_in_none++ == 0) in_none = link.name;
    cluster.link_tier.push_back(chosen);
  }
  const auto more = [](int number) { return number > 1 ? fmt::format(", and {} more links", number - 1) : ""; };
  if (number_in_none > 0) {
    document.problem("tiers", fmt::format("the link {} is in no tier{}; add a pattern", in_none, more(number_in_none)));
  }
  if (number_in_two > 0) {
    document.problem("tiers", fmt::format("the link {}{}; a link is in one", in_two, more(number_in_two)));
  }
}

// A host's private link is the port of the rank that has this host, if it is the only one.
void find_owners(ClusterSpec& cluster) {
  constexpr RankId kNobody = -1, kSeveral = -2;
  std::vector<RankId> rank_of_host(cluster.platform->hosts().size(), kNobody);
  for (RankId rank = 0; rank < cluster.ranks(); ++rank) {
    for (const auto* hosts : {&cluster.nvlink_hosts, &cluster.nic_hosts}) {
      RankId& known = rank_of_host[static_cast<std::size_t>((*hosts)[static_cast<std::size_t>(rank)])];
      known = known == kNobody || known == rank ? rank : kSeveral;
    }
  }
  for (const PlatformLink& link : cluster.platform->links()) {
    const RankId rank = link.owner < 0 ? kNobody : rank_of_host[static_cast<std::size_t>(link.owner)];
    cluster.link_owner.push_back(std::max(rank, kNobody));
  }
}

// FATPIPE gives each message the whole link. Engines share every link, so that they would be wrong about it.
void refuse_unshared_links(Fields& document, const ClusterSpec& cluster) {
  for (const PlatformLink& link : cluster.platform->links()) {
    if (link.shared) continue;
    document.problem("platform", fmt::format("the link {} is FATPIPE, which is not simulated: leave it out where it "
                                             "limits nothing, or make it SHARED",
                                             link.name));
    return;
  }
}

// Each rank to its neighbours in the node and to its peer on the next node: every port both ways.
void check_routes(Fields& document, const ClusterSpec& cluster) {
  for (RankId rank = 0; rank < cluster.ranks(); ++rank) {
    const RankId first = cluster.node_of(rank) * cluster.gpus_per_node;
    const RankId neighbour = first + (cluster.local_of(rank) + 1) % cluster.gpus_per_node;
    const RankId peer = (rank + cluster.gpus_per_node) % cluster.ranks();
    try {
      (void)route_between(cluster, rank, neighbour);
      (void)route_between(cluster, rank, peer);
    } catch (const InputError& error) {
      document.problem("hosts", error.problems().front().reason);
      return;
    }
  }
}

void read_platform_into(Reading& reading, const std::string& path, ClusterSpec& cluster) {
  try {
    cluster.platform = read_platform(path);
  } catch (const InputError& error) {
    reading.problems.insert(reading.problems.end(), error.problems().begin(), error.problems().end());
    return;
  }
  for (const PlatformLink& link : cluster.platform->links()) {
    cluster.bandwidth.push_back(link.bandwidth);
    cluster.latency.push_back(link.latency);
  }
}

}  // namespace

ClusterSpec read_cluster(Reading& reading, const std::string& path, const std::vector<Override>& overrides,
                         Rates rates) {
  const std::size_t before = reading.problems.size();
  constexpr int kMost = 1 << 20;
  ClusterSpec cluster;
  std::optional<Fields> document = open_document(reading, path, overrides, "cluster");
  if (!document) return cluster;

  std::string platform, gpu;
  document->text("name", cluster.name, required());
  document->text("platform", platform, required());
  document->text("gpu", gpu, required());
  document->integer("nodes", cluster.nodes, required(), 1, kMost);
  document->integer("gpus_per_node", cluster.gpus_per_node, required(), 1, kMost / std::max(cluster.nodes, 1));
  document->number("gpu_hour_price", cluster.gpu_hour_price, or_default("not known: nothing is said about costs"), 0, 1e9);
  if (!platform.empty()) read_platform_into(reading, beside(path, platform), cluster);
  if (!gpu.empty()) cluster.gpu = read_gpu(reading, beside(path, gpu), rates);

  Fields hosts = document->mapping("hosts", required());
  if (document->has("hosts")) {
    cluster.nvlink_hosts = find_hosts(hosts, "nvlink", cluster);
    cluster.nic_hosts = find_hosts(hosts, "nic", cluster);
    hosts.finish();
  }
  const std::vector<Tier> tiers = read_tiers(*document);
  if (cluster.platform && !tiers.empty()) assign_tiers(*document, tiers, cluster);
  if (cluster.platform) refuse_unshared_links(*document, cluster);
  document->finish();
  if (reading.problems.size() > before) return cluster;

  cluster.speed.assign(static_cast<std::size_t>(cluster.ranks()), 1.0);
  find_owners(cluster);
  check_routes(*document, cluster);
  return cluster;
}

}  // namespace stepsim
