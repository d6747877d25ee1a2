// Routes of all pairs counted together (Platform::all_pairs, Legs::add_all_pairs) against route by route.
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <map>
#include <numeric>

#include "sim/collective/legs.hpp"
#include "sim/cluster/star.hpp"
#include "support/ring_of_leaves.hpp"
#include "support/shipped_cluster.hpp"
#include "support/small_clusters.hpp"

namespace stepsim::all_pairs_test {

Platform::AllPairs one_by_one(const ClusterSpec& cluster, const std::vector<HostId>& hosts) {
  Platform::AllPairs pairs{std::vector<double>(cluster.bandwidth.size(), 0), 0};
  for (const HostId from : hosts) {
    for (const HostId to : hosts) {
      const std::vector<LinkId> route = cluster.platform->route(from, to);
      for (const LinkId link : route) ++pairs.legs[link];
      pairs.latency = std::max(pairs.latency, route_latency(cluster, route).value);
    }
  }
  return pairs;
}

std::map<std::string, ClusterSpec> clusters() {
  std::map<std::string, ClusterSpec> all;
  for (const char* name : {"h800-256x8", "h100-fat-tree-4to1", "h100-fat-tree-3", "h100-dragonfly", "h100-two-sites", "a100-pcie", "a100-4x200",
                           "gb200-nvl72"}) {
    all.emplace(name, test::shipped_cluster(name));
  }
  for (const int leaves : {4, 5}) {
    for (const std::string routing : {"Floyd", "Dijkstra"}) all.emplace(routing + std::to_string(leaves), testing::RingOfLeaves(leaves, routing).cluster());
  }
  all.emplace("star", star_cluster(40, BytesPerSecond(50e9), Seconds(2e-6)));
  return all;
}

// Random hosts, those that are joined by their NICs and those that are not: where the platform answers, it is what the
// routes say. Latencies are made unequal, so that the longest route is one.
TEST(AllPairs, AreAllRoutes) {
  std::map<std::string, ClusterSpec> all = clusters();
  std::map<std::string, int> answered;
  for (auto& [name, cluster] : all) {
    for (std::size_t l = 0; l < cluster.latency.size(); ++l) cluster.latency[l] *= 1 + 0.001 * static_cast<double>(l * 7919 % 101);
  }
  EXPECT_TRUE(rc::check("all pairs at once are all pairs", [&] {
    const auto& [name, cluster] = *std::next(all.begin(), *rc::gen::inRange<int>(0, static_cast<int>(all.size())));
    const auto rail = *rc::gen::inRange(0, 2 * cluster.gpus_per_node);  // half of the time no single one
    std::vector<HostId> hosts;
    for (RankId r = 0; r < cluster.ranks(); ++r) {
      const bool on_rail = rail >= cluster.gpus_per_node || cluster.local_of(r) == rail;
      if (on_rail && *rc::gen::inRange(0, 100) < 4000 / cluster.ranks() + 2) hosts.push_back(cluster.nic_hosts[r]);
    }
    std::sort(hosts.begin(), hosts.end());
    hosts.erase(std::unique(hosts.begin(), hosts.end()), hosts.end());
    RC_PRE(hosts.size() > 1);
    RC_LOG() << name << ", " << hosts.size() << " hosts\n";
    const auto pairs = cluster.platform->all_pairs(hosts, cluster.latency);
    if (!pairs) return;
    ++answered[name];
    const Platform::AllPairs routes = one_by_one(cluster, hosts);
    RC_ASSERT(pairs->legs == routes.legs);
    RC_ASSERT(std::abs(pairs->latency - routes.latency) <= 1e-12 * routes.latency);
  }));
  EXPECT_GE(answered.size(), 9u);
}

// Groups of 64 GPUs and more: over NVLink inside nodes, by NICs between them; in networks of planes by the neighbour.
TEST(AllPairs, OfGroups) {
  for (const auto& [name, cluster] : clusters()) {
    for (const int stride : {1, 2, 8}) {
      std::vector<RankId> members;
      for (RankId r = 0; r < cluster.ranks() && members.size() < 96; r += stride) members.push_back(r);
      if (members.size() < 64) continue;
      Legs at_once(cluster), singly(cluster);
      at_once.add_all_pairs(members, 3);
      for (const RankId from : members) {
        for (const RankId to : members) singly.add(from, to, 3);
      }
      EXPECT_NEAR(at_once.latency(), singly.latency(), 1e-12 * singly.latency()) << name;
      EXPECT_EQ(at_once.take(), singly.take()) << name << " " << stride;
    }
  }
}

TEST(AllPairs, InPlanes) {
  const ClusterSpec cluster = test::shipped_cluster("h800-256x8", {{"nodes", "80"}});  // two leaves and a half
  std::vector<RankId> members(static_cast<std::size_t>(cluster.ranks()));
  std::iota(members.begin(), members.end(), 0);
  Legs at_once(cluster), singly(cluster);
  at_once.add_all_pairs_in_planes(by_node(cluster, members));
  for (const RankId from : members) {
    for (const RankId to : members) singly.add(from, to);
  }
  EXPECT_NEAR(at_once.latency(), singly.latency(), 1e-12 * singly.latency());
  EXPECT_EQ(at_once.take(), singly.take());
}

}  // namespace stepsim::all_pairs_test
