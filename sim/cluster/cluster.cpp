#include "sim/cluster/cluster.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "sim/cluster/cluster_parts.hpp"

namespace stepsim {
namespace {

std::string beside(const std::string& file, const std::string& path) {
  return (std::filesystem::path(file).parent_path() / path).lexically_normal().string();
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
  if (!platform.empty()) read_platform_into(reading, beside(path, platform), cluster);
  if (!gpu.empty()) cluster.gpu = read_gpu(reading, beside(path, gpu), rates);

  read_hosts(*document, cluster);
  read_tiers(*document, cluster);
  if (cluster.platform) refuse_unshared_links(*document, cluster);
  document->finish();
  if (reading.problems.size() > before) return cluster;

  cluster.speed.assign(static_cast<std::size_t>(cluster.ranks()), 1.0);
  find_owners(cluster);
  check_routes(*document, cluster);
  return cluster;
}

}  // namespace stepsim
