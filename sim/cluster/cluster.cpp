#include "sim/cluster/cluster.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "sim/cluster/cluster_parts.hpp"
#include "sim/cluster/uplinks.hpp"

namespace stepsim {
namespace {

// A path, relative to where it is named; or, without '/' and ending, the name of a shipped file.
std::string locate(const Origin& origin, const std::string& value, const std::string& shipped,
                   const std::string& ending) {
  namespace fs = std::filesystem;
  const bool is_path = value.find('/') != std::string::npos || !fs::path(value).extension().empty();
  if (is_path || shipped.empty()) return (fs::path(origin.folder()) / value).lexically_normal().string();
  return (fs::path(shipped) / (value + ending)).lexically_normal().string();
}

// Those of the GPU's own file ("gpu.memory"), taken out of the cluster's.
std::vector<Override> take_gpu(std::vector<Override>& overrides) {
  constexpr std::string_view kGpu = "gpu.";
  std::vector<Override> of_gpu;
  std::erase_if(overrides, [&](Override& o) {
    if (!o.key.starts_with(kGpu)) return false;
    of_gpu.push_back({o.key.substr(kGpu.size()), std::move(o.value), std::move(o.from)});
    return true;
  });
  return of_gpu;
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

void read_platform_into(Reading& reading, const std::string& path, ClusterSpec& cluster) {
  try {
    cluster.platform = read_platform(path);
  } catch (const InputError& error) {
    reading.problems.insert(reading.problems.end(), error.problems().begin(), error.problems().end());
    return;
  }
}

// The scenario's and what-ifs' view starts as the platform's own.
void take_speeds(ClusterSpec& cluster) {
  for (const PlatformLink& link : cluster.platform->links()) {
    cluster.bandwidth.push_back(link.bandwidth);
    cluster.latency.push_back(link.latency);
  }
}

}  // namespace

ClusterSpec read_cluster(Reading& reading, const std::string& path, std::vector<Override> overrides, Rates rates,
                         const std::string& shipped) {
  const std::vector<Override> of_gpu = take_gpu(overrides);
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
  if (!platform.empty()) read_platform_into(reading, locate(document->origin("platform"), platform, shipped, ".xml"), cluster);
  const std::string gpus = shipped.empty() ? "" : shipped + "/gpus";
  if (!gpu.empty()) cluster.gpu = read_gpu(reading, locate(document->origin("gpu"), gpu, gpus, ".yaml"), rates, of_gpu);

  cluster.platform = read_uplinks(*document, std::move(cluster.platform));
  if (cluster.platform) take_speeds(cluster);
  read_hosts(*document, cluster);
  read_tiers(*document, cluster);
  read_port_bandwidth(*document, cluster);
  if (cluster.platform) refuse_unshared_links(*document, cluster);
  document->finish();
  if (reading.problems.size() > before) return cluster;

  cluster.speed.assign(static_cast<std::size_t>(cluster.ranks()), 1.0);
  try {
    find_owners(cluster);
  } catch (const InputError& error) {  // two GPUs that the platform joins in no way
    document->problem("hosts", error.problems().front().reason);
  }
  return cluster;
}

std::vector<bool> links_within_reach(const ClusterSpec& cluster) {
  std::vector<bool> taken(cluster.platform->hosts().size(), false);
  for (const auto* hosts : {&cluster.nvlink_hosts, &cluster.nic_hosts}) {
    for (const HostId host : *hosts) taken[static_cast<std::size_t>(host)] = true;
  }
  std::vector<bool> within;
  for (const PlatformLink& link : cluster.platform->links()) within.push_back(link.owner < 0 || taken[static_cast<std::size_t>(link.owner)]);
  return within;
}

}  // namespace stepsim
