// Shipped clusters of every topology: the links of chosen routes, their latencies and speeds, against arithmetic on the
// options in their files.
#include <gtest/gtest.h>

#include <set>
#include <string>
#include <utility>

#include "sim/cluster/part.hpp"
#include "support/shipped_cluster.hpp"

namespace stepsim::topologies_test {
using test::bandwidth_of;
using test::latency_of;
using test::names_of;
using test::shipped_cluster;

TEST(Topologies, RailOptimised) {
  const ClusterSpec c = shipped_cluster("dgx-h100", {{"nodes", "64"}});
  EXPECT_EQ(names_of(c, 3, 4), "nv3_up nv4_down");
  EXPECT_EQ(names_of(c, 3, 31 * 8 + 3), "nic3_up nic251_down");  // node 31 is the last of its scalable unit
  EXPECT_EQ(names_of(c, 3, 32 * 8 + 3), "nic3_up leaf_r3_0_up leaf_r3_1_down nic259_down");
  // Another rail of the same unit is reached over the spine.
  EXPECT_EQ(names_of(c, 3, 12), "nic3_up leaf_r3_0_up leaf_r4_0_down nic12_down");
  EXPECT_DOUBLE_EQ(latency_of(c, 3, 12), 3.7e-6);
  EXPECT_DOUBLE_EQ(latency_of(c, 3, 11), 2.8e-6);
  EXPECT_DOUBLE_EQ(bandwidth_of(c, "nic3_up"), 48e9);
  EXPECT_DOUBLE_EQ(bandwidth_of(c, "leaf_r3_0_up"), 32 * 48e9);
  EXPECT_DOUBLE_EQ(bandwidth_of(c, "nv3_down"), 370e9);
}

TEST(Topologies, OneNvswitchDomainOf72) {
  const ClusterSpec c = shipped_cluster("gb200-nvl72", {{"nodes", "2"}});
  EXPECT_EQ(c.ranks(), 144);
  EXPECT_EQ(names_of(c, 0, 71), "nv0_up nv71_down");
  // Rail 3 of rack 0 has cards 3, 7, ..., 71: 18 of them at one leaf switch.
  EXPECT_EQ(names_of(c, 71, 72 + 3), "nic71_up leaf_r3_0_up leaf_r3_1_down nic75_down");
  EXPECT_DOUBLE_EQ(bandwidth_of(c, "leaf_r3_0_up"), 18 * 48e9);
  EXPECT_DOUBLE_EQ(bandwidth_of(c, "nv143_up"), 680e9);
}

// 64 of a rack's 72 GPUs: rank 64 is the first GPU of the second rack, whose card is number 72.
TEST(Topologies, PartOfANodesGpus) {
  const ClusterSpec c = shipped_cluster("gb200-nvl72", {{"nodes", "2"}, {"gpus_per_node", "64"}});
  EXPECT_EQ(c.ranks(), 128);
  EXPECT_EQ(names_of(c, 0, 64), "nic0_up leaf_r0_0_up leaf_r0_1_down nic72_down");
  EXPECT_EQ(names_of(c, 64, 127), "nv72_up nv135_down");
}

TEST(Topologies, GpusShareCards) {
  const ClusterSpec c = shipped_cluster("a100-4x200", {{"nodes", "40"}});
  EXPECT_EQ(names_of(c, 0, 8), "nic0_up nic4_down");
  EXPECT_EQ(names_of(c, 1, 9), "nic0_up nic4_down");
  EXPECT_EQ(names_of(c, 7, 9), "nic3_up nic4_down");
  EXPECT_EQ(names_of(c, 0, 39 * 8 + 7), "nic0_up leaf_p0_0_up leaf_p0_1_down nic159_down");
  EXPECT_DOUBLE_EQ(bandwidth_of(c, "leaf_p0_1_up"), 32 * 4 * 24e9);
  const ClusterSpec one = shipped_cluster("a100-1x100");
  EXPECT_EQ(names_of(one, 7, 9), "nic0_up nic1_down");
  EXPECT_EQ(one.tiers.back(), "ethernet");
}

// A job on a part of a cluster sees the ports as it would if the cluster had only that part.
TEST(Topologies, PortsOfAPartOfACluster) {
  struct Part {
    const char* cluster;
    int nodes, gpus;
  };
  for (const auto& [name, nodes, gpus] : {Part{"a100-4x200", 2, 8}, Part{"a100-4x200", 3, 4}, Part{"a100-4x200", 2, 3}, Part{"a100-1x100", 2, 2},
                                          Part{"a100-pcie", 2, 6}, Part{"dgx2-v100", 3, 8}, Part{"gb200-nvl72", 2, 64}, Part{"dgx-h100", 1, 4}}) {
    using Ports = std::set<std::pair<std::string, RankId>>;
    const auto ports = [](const ClusterSpec& c) {
      Ports all;
      for (std::size_t l = 0; l < c.link_owner.size(); ++l) {
        if (c.link_owner[l] >= 0) all.emplace(c.platform->links()[l].name, c.link_owner[l]);
      }
      for (const SharedPort& port : c.shared_ports) all.emplace(c.platform->links()[static_cast<std::size_t>(port.link)].name, port.rank);
      return all;
    };
    const ClusterSpec alone = shipped_cluster(name, {{"nodes", std::to_string(nodes)}, {"gpus_per_node", std::to_string(gpus)}});
    const ClusterSpec part = part_of(shipped_cluster(name), nodes, gpus);
    EXPECT_EQ(ports(part), ports(alone)) << name << " " << nodes << " x " << gpus;
    EXPECT_EQ(part.shared_ports.size(), alone.shared_ports.size()) << name;
    EXPECT_FALSE(ports(alone).empty()) << name;
  }
}

TEST(Topologies, LeafOversubscribedFourToOne) {
  const ClusterSpec c = shipped_cluster("h100-fat-tree-4to1");
  EXPECT_EQ(names_of(c, 0, 8 * 8), "nic0_up leaf_p0_0_up leaf_p0_1_down nic64_down");
  EXPECT_EQ(names_of(c, 0, 9), "nic0_up nic9_down");  // one plane: all cards of a node at one leaf switch
  EXPECT_DOUBLE_EQ(bandwidth_of(c, "leaf_p0_0_up"), 8 * 8 * 48e9 / 4);
}

TEST(Topologies, ThreeLayers) {
  const ClusterSpec c = shipped_cluster("h100-fat-tree-3");
  // 4 nodes a leaf, 4 leaves a pod: nodes 0-3, 4-7, ... are leaves; 0-15, 16-31, ... pods.
  EXPECT_EQ(names_of(c, 0, 3 * 8), "nic0_up nic24_down");
  EXPECT_EQ(names_of(c, 0, 15 * 8), "nic0_up leaf_p0_0_up leaf_p0_3_down nic120_down");
  EXPECT_EQ(names_of(c, 0, 16 * 8), "nic0_up leaf_p0_0_up spine_p0_0_up spine_p0_1_down leaf_p0_4_down nic128_down");
  EXPECT_DOUBLE_EQ(latency_of(c, 0, 24), 2.8e-6);
  EXPECT_DOUBLE_EQ(latency_of(c, 0, 120), 3.7e-6);
  EXPECT_DOUBLE_EQ(latency_of(c, 0, 128), 4.6e-6);
  EXPECT_DOUBLE_EQ(bandwidth_of(c, "leaf_p0_0_up"), 4 * 8 * 48e9);
  EXPECT_DOUBLE_EQ(bandwidth_of(c, "spine_p0_0_up"), 4 * 4 * 8 * 48e9 / 2);
}

TEST(Topologies, PcieNodesShareCardsAndLanes) {
  const ClusterSpec c = shipped_cluster("a100-pcie");
  EXPECT_EQ(c.tiers, (std::vector<std::string>{"pcie", "infiniband"}));
  EXPECT_EQ(names_of(c, 0, 3), "gpu0_up gpu3_down");
  EXPECT_EQ(names_of(c, 0, 4), "gpu0_up bridge_0_0_1_up gpu4_down");
  EXPECT_EQ(names_of(c, 4, 0), "gpu4_up bridge_0_0_1_down gpu0_down");
  // GPUs 0-3 use card 0 of the node, 4-7 card 1; PCIe is crossed at both ends.
  EXPECT_EQ(names_of(c, 1, 8 + 6), "gpu1_up nic0_up nic3_down gpu14_down");
  EXPECT_EQ(names_of(c, 1, 8 * 8), "gpu1_up nic0_up leaf_0_up leaf_1_down nic16_down gpu64_down");
  EXPECT_DOUBLE_EQ(latency_of(c, 0, 3), 2e-6);
  EXPECT_DOUBLE_EQ(latency_of(c, 0, 4), 3e-6);
  EXPECT_DOUBLE_EQ(latency_of(c, 1, 14), 2.8e-6);
  EXPECT_DOUBLE_EQ(latency_of(c, 1, 64), 3.7e-6);
  EXPECT_DOUBLE_EQ(bandwidth_of(c, "leaf_0_up"), 8 * 2 * 24e9);
}

TEST(Topologies, TwoSites) {
  const ClusterSpec c = shipped_cluster("h100-two-sites");
  EXPECT_EQ(names_of(c, 0, 31 * 8), "nic0_up nic248_down");
  EXPECT_EQ(names_of(c, 0, 32 * 8), "nic0_up leaf_s0_r0_0_up wan_up leaf_s1_r0_0_down nic256_down");
  EXPECT_EQ(names_of(c, 32 * 8, 0), "nic256_up leaf_s1_r0_0_up wan_down leaf_s0_r0_0_down nic0_down");
  EXPECT_DOUBLE_EQ(latency_of(c, 0, 256), 3.7e-6 + 500e-6);
  EXPECT_DOUBLE_EQ(bandwidth_of(c, "wan_up"), 400e9);
}

// 8 groups of 4 routers with 2 nodes: router_g_r has nodes 8 g + 2 r and the next. Group a's link to group b stands at
// router (b - 1) mod 4 when b > a, else b mod 4.
TEST(Topologies, DragonflyRoutesAreMinimal) {
  const ClusterSpec c = shipped_cluster("h100-dragonfly");
  EXPECT_EQ(names_of(c, 0, 8), "nic0_up nic8_down");
  EXPECT_EQ(names_of(c, 0, 2 * 8), "nic0_up local_0_0_1_up nic16_down");
  EXPECT_EQ(names_of(c, 2 * 8, 0), "nic16_up local_0_0_1_down nic0_down");
  EXPECT_EQ(names_of(c, 0, 8 * 8), "nic0_up global_0_1_up nic64_down");  // both at router 0
  // To node 63, router_7_3: group 0's link to 7 is at router 2, group 7's to 0 at router 0.
  EXPECT_EQ(names_of(c, 0, 63 * 8), "nic0_up local_0_0_2_up global_0_7_up local_7_0_3_up nic504_down");
  EXPECT_DOUBLE_EQ(latency_of(c, 0, 63 * 8), 2.8e-6 + 2 * 0.45e-6 + 0.95e-6);
  EXPECT_DOUBLE_EQ(bandwidth_of(c, "local_0_0_2_up"), 2 * 8 * 48e9 * 2 / 3);
  EXPECT_DOUBLE_EQ(bandwidth_of(c, "global_0_7_up"), 4 * 2 * 8 * 48e9 / 7);
}

}  // namespace stepsim::topologies_test
