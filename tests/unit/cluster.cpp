// A cluster from its YAML: routes, latencies and capacities of the shipped clusters against arithmetic, and bad inputs.
#include "sim/cluster/cluster.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "sim/cluster/glob.hpp"
#include "support/shipped_cluster.hpp"
#include "support/temp_file.hpp"

namespace stepsim::cluster_test {
std::string platforms() {
  return std::string(STEPSIM_SOURCE_DIR) + "/platforms/";
}

ClusterSpec shipped(const std::string& name) {
  Reading reading;
  ClusterSpec cluster = read_cluster(reading, platforms() + name + ".yaml", {}, Rates::speed_of_light);
  reading.throw_if_any();
  return cluster;
}

std::string names(const ClusterSpec& cluster, RankId from, RankId to) {
  std::string text;
  for (const LinkId link : route_between(cluster, from, to)) {
    text += (text.empty() ? "" : " ") + cluster.platform->links()[static_cast<std::size_t>(link)].name;
  }
  return text;
}

double latency(const ClusterSpec& cluster, RankId from, RankId to) {
  return route_latency(cluster, route_between(cluster, from, to)).value;
}

TEST(Cluster, H800RoutesAndLatencies) {
  const ClusterSpec c = shipped("h800-256x8");
  EXPECT_EQ(c.ranks(), 2048);
  EXPECT_EQ(c.node_of(2047), 255);
  EXPECT_EQ(c.local_of(2047), 7);
  EXPECT_EQ(names(c, 5, 5), "");
  EXPECT_EQ(names(c, 0, 7), "nv0_up nv7_down");
  EXPECT_EQ(names(c, 0, 8), "nic0_up nic8_down");
  EXPECT_EQ(names(c, 3, 259), "nic3_up leaf_p3_0_up leaf_p3_1_down nic259_down");
  // 3 and 12 differ in index, so in plane: over NVLink to the GPU with the receiver's index, then its network.
  EXPECT_EQ(names(c, 3, 12), "nv3_up nv4_down nic4_up nic12_down");
  // Table 5 of "Insights into DeepSeek-V3": NVLink 3.33 us; InfiniBand 2.8 us in a leaf, 3.7 us across.
  EXPECT_DOUBLE_EQ(latency(c, 0, 7), 3.33e-6);
  EXPECT_DOUBLE_EQ(latency(c, 0, 8), 2.8e-6);
  EXPECT_DOUBLE_EQ(latency(c, 3, 259), 3.7e-6);
  EXPECT_DOUBLE_EQ(latency(c, 3, 12), 3.33e-6 + 2.8e-6);
  EXPECT_DOUBLE_EQ(latency(c, 0, 5), latency(c, 5, 0));
}

// Two links a GPU for NVLink and two for its network card; two a leaf (32 nodes) and plane. 32 cards of 50 GB/s fill a
// leaf's way up: 1.6 TB/s.
TEST(Cluster, H800LinksTiersAndOwners) {
  for (const int nodes : {256, 2048}) {
    const ClusterSpec c = shipped("h800-" + std::to_string(nodes) + "x8");
    const int gpus = nodes * 8;
    EXPECT_EQ(c.ranks(), gpus);
    EXPECT_EQ(c.tiers, (std::vector<std::string>{"nvlink", "infiniband"}));
    const auto& links = c.platform->links();
    EXPECT_EQ(static_cast<int>(links.size()), 4 * gpus + 2 * 8 * nodes / 32);
    std::vector<int> ports(static_cast<std::size_t>(gpus), 0);
    for (std::size_t i = 0; i < links.size(); ++i) {
      const bool nvlink = links[i].name.starts_with("nv");
      const bool leaf = links[i].name.starts_with("leaf_p");
      EXPECT_EQ(c.link_tier[i], nvlink ? 0 : 1);
      EXPECT_DOUBLE_EQ(c.bandwidth[i].value, nvlink ? 160e9 : leaf ? 1.6e12 : 50e9);
      EXPECT_EQ(c.link_owner[i] < 0, leaf);
      if (leaf) continue;
      const int rank = std::stoi(links[i].name.substr(nvlink ? 2 : 3));
      EXPECT_EQ(c.link_owner[i], rank);
      ++ports[static_cast<std::size_t>(rank)];
    }
    EXPECT_EQ(std::count(ports.begin(), ports.end(), 4), gpus);
  }
}

TEST(Cluster, LargestClusterReachesItsLastGpu) {
  const ClusterSpec c = shipped("h800-2048x8");
  EXPECT_EQ(names(c, 0, 16376), "nic0_up leaf_p0_0_up leaf_p0_63_down nic16376_down");
  EXPECT_DOUBLE_EQ(latency(c, 0, 16376), 3.7e-6);
  EXPECT_EQ(names(c, 16383, 0), "nv16383_up nv16376_down nic16376_up leaf_p0_63_up leaf_p0_0_down nic0_down");
}

TEST(Cluster, GpuAtTheSpeedOfLight) {
  const Gpu gpu = shipped("h800-256x8").gpu;
  EXPECT_EQ(gpu.sms, 132);
  EXPECT_DOUBLE_EQ(gpu.memory.value, 79.11 * 1024 * 1024 * 1024);
  EXPECT_DOUBLE_EQ(rate_of(gpu, Precision::bf16).value, 758e12);
  EXPECT_DOUBLE_EQ(rate_of(gpu, Precision::fp16).value, 758e12);
  EXPECT_DOUBLE_EQ(rate_of(gpu, Precision::fp8).value, 1.46e15);
  EXPECT_EQ(rate_of(gpu, Precision::tf32), rate_of(gpu, Precision::fp32));
  EXPECT_DOUBLE_EQ(gpu.hbm.value, 2970e9);
  EXPECT_DOUBLE_EQ(gpu.bf16_peak.value, 989e12);
  EXPECT_DOUBLE_EQ(gpu.launch_gap.value, 0);
  // TF32 is assumed to reach the share of its peak (494.5) that BF16 reaches.
  EXPECT_NEAR(gpu.fp32.value / 494.5e12, gpu.bf16.value / gpu.bf16_peak.value, 1e-3);
}

std::vector<Problem> problems_with(const std::vector<Override>& overrides, Rates rates = Rates::speed_of_light) {
  Reading reading;
  (void)read_cluster(reading, platforms() + "h800-256x8.yaml", overrides, rates);
  return reading.problems;
}

void expect_problem(const std::vector<Override>& overrides, const std::string& key, const std::string& reason) {
  const std::vector<Problem> problems = problems_with(overrides);
  const bool found = std::any_of(problems.begin(), problems.end(), [&](const Problem& p) {
    return p.key == key && p.reason.find(reason) != std::string::npos;
  });
  EXPECT_TRUE(found) << key << ": " << reason;
  for (const Problem& p : problems) {
    if (!found) ADD_FAILURE() << to_text(p);
  }
}

TEST(Cluster, WhatIsWrongIsNamed) {
  EXPECT_TRUE(problems_with({}).empty());
  expect_problem({{"nodes", "257"}}, "cluster.nodes", "no host nv2048, nv2049, nv2050 and 5 more");
  expect_problem({{"nodes", "257"}}, "cluster.nodes", "no host nic2048, nic2049, nic2050 and 5 more");
  expect_problem({{"hosts.nic", "card{rank}"}}, "cluster.hosts.nic", "no host card0, card1, card2 and 2045 more");
  expect_problem({{"hosts.nik", "nic{rank}"}}, "cluster.hosts.nik", "did you mean nic?");
  expect_problem({{"nodes", "0"}}, "cluster.nodes", "");
  expect_problem({{"nodes", "two"}}, "cluster.nodes", "");
  expect_problem({{"gpus_per_node", "100000"}}, "cluster.gpus_per_node", "");
  expect_problem({{"platform", "nowhere.xml"}}, "", "there is no such file");
  expect_problem({{"platform", platforms() + "h800-256x8.yaml"}}, "", "is not XML");
  expect_problem({{"gpu", "gpus/none.yaml"}}, "", "there is no such file");
  expect_problem({{"tiers", "{nvlink: nv*, infiniband: nic*}"}}, "cluster.tiers",
                 "the link leaf_p0_0_up is in no tier, and 127 more links; add");
  expect_problem({{"tiers", "{nvlink: n*, infiniband: \"nic*, leaf*\"}"}}, "cluster.tiers",
                 "the link nic0_up is in nvlink and in infiniband, and 4095 more links");
  expect_problem({{"tiers", "{}"}}, "cluster.tiers", "");
  expect_problem({{"tiers", "nv*"}}, "cluster.tiers", "");
  expect_problem({{"colour", "red"}}, "cluster.colour", "unknown key");
  // Only the nv hosts carry NVLink: two network cards of one node are in different planes.
  expect_problem({{"hosts.nvlink", "nic{rank}"}}, "cluster.hosts", "no route from rank 0 to rank 1");
}

TEST(Cluster, CalibratedRatesAreReadWhereTheyAreAskedFor) {
  EXPECT_TRUE(problems_with({}, Rates::calibrated).empty());
}

TEST(Cluster, FatpipeLinksAreRefused) {
  const test::TempFile xml(R"(<platform version="4.1">
    <cluster id="c" prefix="h" suffix="" radical="0-7" speed="1f" bw="1GBps" lat="0" bb_bw="2GBps"
             bb_sharing_policy="FATPIPE"/></platform>)");
  const test::TempFile yaml("name: x\nplatform: " + xml.path() + "\ngpu: " + platforms() +
                                "gpus/h800-sxm.yaml\nnodes: 2\ngpus_per_node: 4\n"
                                "hosts: {nvlink: \"h{rank}\", nic: \"h{rank}\"}\ntiers: {wire: \"*\"}\n",
                            ".yaml");
  Reading reading;
  (void)read_cluster(reading, yaml.path(), {}, Rates::speed_of_light);
  ASSERT_EQ(reading.problems.size(), 1U);
  EXPECT_NE(reading.problems[0].reason.find("c_backbone is FATPIPE"), std::string::npos);
}

// Two GPUs share a network card: its links belong to neither.
TEST(Cluster, SharedCardHasNoOwner) {
  const test::TempFile xml(R"(<platform version="4.1"><zone id="z" routing="None">
    <cluster id="p" prefix="gpu" suffix="" radical="0-7" speed="1f" bw="25GBps" lat="1us"/>
    <cluster id="n" prefix="card" suffix="" radical="0-1" speed="1f" bw="12.5GBps" lat="2us"/>
    </zone></platform>)");
  const test::TempFile yaml("name: x\nplatform: " + xml.path() + "\ngpu: " + platforms() +
                                "gpus/h800-sxm.yaml\nnodes: 2\ngpus_per_node: 4\n"
                                "hosts: {nvlink: \"gpu{rank}\", nic: \"card{node}\"}\n"
                                "tiers: {pcie: \"gpu*\", ethernet: \"card*\"}\n",
                            ".yaml");
  Reading reading;
  const ClusterSpec c = read_cluster(reading, yaml.path(), {}, Rates::speed_of_light);
  reading.throw_if_any();
  EXPECT_EQ(names(c, 1, 6), "card0_up card1_down");
  EXPECT_EQ(names(c, 1, 2), "gpu1_up gpu2_down");
  for (std::size_t i = 0; i < c.link_owner.size(); ++i) {
    EXPECT_EQ(c.link_owner[i] < 0, c.platform->links()[i].name.starts_with("card"));
  }
}

// Two nodes of four GPUs at one switch, one host a GPU; `hosts` as it stands in the YAML.
ClusterSpec small_cluster(Reading& reading, const std::string& hosts, const std::string& more = "") {
  const test::TempFile xml(R"(<platform version="4.1">
    <cluster id="c" prefix="h" suffix="" radical="0-7" speed="1f" bw="1GBps" lat="1us"/></platform>)");
  const test::TempFile yaml("name: x\nplatform: " + xml.path() +
                                "\ngpu: h800-sxm\nnodes: 2\ngpus_per_node: 4\nhosts: " + hosts +
                                "\ntiers: {wire: \"*\"}\n" + more,
                            ".yaml");
  return read_cluster(reading, yaml.path(), {}, Rates::speed_of_light, platforms());
}

ClusterSpec small_cluster(const std::string& hosts, const std::string& more = "") {
  Reading reading;
  ClusterSpec cluster = small_cluster(reading, hosts, more);
  reading.throw_if_any();
  return cluster;
}

void expect_refused(const std::string& hosts, const std::string& more, const std::string& key,
                    const std::string& reason) {
  Reading reading;
  (void)small_cluster(reading, hosts, more);
  ASSERT_FALSE(reading.problems.empty()) << hosts << more;
  EXPECT_EQ(reading.problems[0].key, key) << to_text(reading.problems[0]);
  EXPECT_NE(reading.problems[0].reason.find(reason), std::string::npos) << to_text(reading.problems[0]);
}

TEST(Cluster, OneHostAGpuByPatternOrByList) {
  EXPECT_EQ(names(small_cluster("{gpu: \"h{7-rank}\"}"), 0, 1), "h7_up h6_down");
  const ClusterSpec c = small_cluster("{gpu: [h3, h1, h2, h0, h7, h6, h5, h4]}");
  EXPECT_EQ(names(c, 0, 1), "h3_up h1_down");
  EXPECT_EQ(names(c, 0, 7), "h3_up h4_down");
  EXPECT_EQ(c.link_owner[0], 3);  // h0_up
  EXPECT_EQ(names(small_cluster("{nvlink: [h0, h1, h2, h3, h4, h5, h6, h7], nic: \"h{rank}\"}"), 2, 6),
            "h2_up h6_down");
}

TEST(Cluster, HostsThatCannotBeGpusAreRefused) {
  const std::string k = "cluster.hosts.gpu";
  expect_refused("{gpu: [h0, h1, h2, h3, h4, h5]}", "", k,
                 "names 6 hosts, and 2 nodes of 4 GPUs need 8; all nodes have");
  expect_refused("{gpu: [h0, h1, h2, h3, h4, h5, h5, h6]}", "", k, "h5 is the host of rank 5 and of rank 6");
  expect_refused("{gpu: [h0, h1, h2, h3, h4, h5, h6, x]}", "", k, "the platform has no host x");
  expect_refused("{gpu: \"h{local}\"}", "", k, "h0 is the host of rank 0 and of rank 4");
  expect_refused("{gpu: \"h{loca}\"}", "", k, "cannot read 'loca'");
  expect_refused("{gpu: \"h{rank}\", nic: \"h{rank}\"}", "", k, "stands beside nvlink or nic");
  expect_refused("{nvlink: \"h{rank}\", nic: \"h{local}\"}", "", "cluster.hosts.nic",
                 "a network card belongs to one node");
  expect_refused("{nvlink: \"h{rank/2}\", nic: \"h{rank}\"}", "", "cluster.hosts.nvlink",
                 "every GPU has a port of its own");
}

TEST(Cluster, PortsSetTheSpeedOfAWire) {
  const auto speeds = [](const std::vector<Override>& overrides) {
    const ClusterSpec c = test::shipped_cluster("h100-fat-tree-4to1", overrides);
    return std::vector<double>{test::bandwidth_of(c, "nic5_up"), test::bandwidth_of(c, "leaf_p0_0_up"),
                               test::bandwidth_of(c, "nv5_up")};
  };
  EXPECT_EQ(speeds({}), (std::vector<double>{48e9, 768e9, 370e9}));
  EXPECT_EQ(speeds({{"port_bandwidth.infiniband", "12GBps"}}), (std::vector<double>{12e9, 192e9, 370e9}));
  EXPECT_EQ(speeds({{"port_bandwidth", "{nvlink: 450GBps}"}}), (std::vector<double>{48e9, 768e9, 450e9}));
  expect_problem({{"port_bandwidth.nvlnk", "1GBps"}}, "cluster.port_bandwidth.nvlnk", "unknown key");
  expect_problem({{"port_bandwidth.nvlink", "450"}}, "cluster.port_bandwidth.nvlink", "");
  Reading reading;  // two-sites: its wire "wan" has no ports
  (void)read_cluster(reading, platforms() + "h100-two-sites.yaml", {{"port_bandwidth.wan", "1GBps"}},
                     Rates::speed_of_light);
  ASSERT_EQ(reading.problems.size(), 1U);
  EXPECT_NE(reading.problems[0].reason.find("no link of this wire is a host's own"), std::string::npos);
}

TEST(Cluster, GpuByNameWithKeysReplaced) {
  const ClusterSpec c =
      test::shipped_cluster("h800-256x8", {{"gpu", "a100-80-sxm"}, {"gpu.memory", "40GB"}, {"gpu.sms", "7"}});
  EXPECT_EQ(c.gpu.name.substr(0, 4), "A100");
  EXPECT_DOUBLE_EQ(c.gpu.memory.value, 40e9);
  EXPECT_EQ(c.gpu.sms, 7);
  Reading reading;
  (void)read_cluster(reading, platforms() + "h800-256x8.yaml", {{"gpu", "h900"}}, Rates::speed_of_light,
                     test::platforms());
  ASSERT_EQ(reading.problems.size(), 1U);
  EXPECT_EQ(reading.problems[0].file, test::platforms() + "/gpus/h900.yaml");
}

TEST(Glob, StarsAndQuestionMarks) {
  for (const char* pattern : {"*", "nic17_up", "nic*", "*_up", "nic??_up", "n*c*7*up", "**nic17_up**"}) {
    EXPECT_TRUE(glob_matches(pattern, "nic17_up")) << pattern;
  }
  for (const char* pattern : {"", "nic17", "ic*", "*_down", "nic?_up", "nic17_up?", "n*x*"}) {
    EXPECT_FALSE(glob_matches(pattern, "nic17_up")) << pattern;
  }
  EXPECT_TRUE(glob_matches("", ""));
  EXPECT_TRUE(glob_matches("a*ab", "aaaab"));
}

}  // namespace stepsim::cluster_test
