#include "sim/cluster/star.hpp"

#include <fmt/format.h>

#include <charconv>

#include "sim/cluster/longest_way.hpp"

namespace stepsim {
namespace {

// Host h has links 2 h to the switch and 2 h + 1 from it.
class StarPlatform : public Platform {
 public:
  StarPlatform(int hosts, BytesPerSecond bandwidth, Seconds latency) {
    for (HostId h = 0; h < hosts; ++h) {
      hosts_.push_back(fmt::format("port{}", h));
      for (const char* way : {"up", "down"})
        links_.push_back({hosts_.back() + "_" + way, bandwidth, latency / 2, true, h});
    }
  }

  const std::vector<std::string>& hosts() const override { return hosts_; }
  const std::vector<PlatformLink>& links() const override { return links_; }
  void append_route(HostId from, HostId to, std::vector<LinkId>& links) const override {
    if (from != to) links.insert(links.end(), {2 * from, 2 * to + 1});
  }
  HostId host(std::string_view name) const override {
    HostId found = -1;
    if (!name.starts_with("port")) return found;
    const auto [end, error] = std::from_chars(name.data() + 4, name.data() + name.size(), found);
    const bool known = error == std::errc() && end == name.data() + name.size() && found >= 0;
    return known && found < static_cast<HostId>(hosts_.size()) && hosts_[static_cast<std::size_t>(found)] == name
               ? found
               : -1;
  }
  std::optional<AllPairs> all_pairs(std::span<const HostId> hosts, std::span<const Seconds> latency) const override {
    if (hosts.size() < 2) return std::nullopt;
    AllPairs pairs{std::vector<double>(links_.size(), 0), 0};
    std::vector<std::pair<double, int>> up, down;
    for (const HostId h : hosts) {
      const auto link = 2 * static_cast<std::size_t>(h);
      pairs.legs[link] = pairs.legs[link + 1] = static_cast<double>(hosts.size() - 1);
      up.emplace_back(latency[link].value, h);
      down.emplace_back(latency[link + 1].value, h);
    }
    pairs.latency = longest_way(std::move(up), std::move(down));
    return pairs;
  }

 private:
  std::vector<std::string> hosts_;
  std::vector<PlatformLink> links_;
};

}  // namespace

ClusterSpec star_cluster(int ranks, BytesPerSecond bandwidth, Seconds latency) {
  ClusterSpec cluster;
  cluster.name = fmt::format("star of {} ports", ranks);
  cluster.nodes = ranks;
  cluster.gpus_per_node = 1;
  cluster.gpu.name = "none";
  cluster.platform = std::make_shared<StarPlatform>(ranks, bandwidth, latency);
  cluster.tiers = {"port"};
  cluster.speed.assign(static_cast<std::size_t>(ranks), 1.0);
  for (RankId r = 0; r < ranks; ++r) {
    cluster.nvlink_hosts.push_back(r);
    cluster.nic_hosts.push_back(r);
  }
  for (const PlatformLink& link : cluster.platform->links()) {
    cluster.bandwidth.push_back(link.bandwidth);
    cluster.latency.push_back(link.latency);
    cluster.link_tier.push_back(0);
    cluster.link_owner.push_back(link.owner);
  }
  return cluster;
}

}  // namespace stepsim
