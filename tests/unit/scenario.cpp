// Scenarios: stragglers and slow links laid over a cluster, and what cannot be laid over it.
#include "sim/cluster/scenario.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "support/temp_file.hpp"

namespace stepsim {
namespace {

ClusterSpec cluster() {
  Reading reading;
  ClusterSpec spec =
      read_cluster(reading, std::string(STEPSIM_SOURCE_DIR) + "/platforms/h800-256x8.yaml", {}, Rates::speed_of_light);
  reading.throw_if_any();
  return spec;
}

Scenario read(Reading& reading, const std::string& text) {
  const test::TempFile file(text, ".yaml");
  return read_scenario(reading, file.path(), {});
}

TEST(Scenario, StragglersAndLinksTakeEffect) {
  Reading reading;
  const Scenario scenario = read(reading, R"(
name: rough
stragglers: [{ranks: [17, 18], speed: 0.8}]
links: [{match: "nic17_up", bandwidth: 25GBps}, {match: "leaf_p?_0_*", scale: 0.5}, {match: "nic17_up", scale: 0.1}]
)");
  const ClusterSpec before = cluster();
  const ClusterSpec after = apply(reading, before, scenario);
  reading.throw_if_any();
  for (RankId rank = 0; rank < before.ranks(); ++rank) {
    EXPECT_DOUBLE_EQ(after.speed[static_cast<std::size_t>(rank)], rank == 17 || rank == 18 ? 0.8 : 1.0);
  }
  int halved = 0;
  for (std::size_t i = 0; i < before.bandwidth.size(); ++i) {
    const double ratio = after.bandwidth[i] / before.bandwidth[i];
    const std::string& name = before.platform->links()[i].name;
    if (name == "nic17_up") {
      EXPECT_DOUBLE_EQ(after.bandwidth[i].value, 2.5e9);  // the second fault acts on what the first one left
    } else if (ratio != 1) {
      EXPECT_TRUE(name.starts_with("leaf_p") && name.find("_0_") != std::string::npos) << name;
      EXPECT_DOUBLE_EQ(ratio, 0.5);
      ++halved;
    }
  }
  EXPECT_EQ(halved, 16);  // 8 planes, both directions
  EXPECT_EQ(after.latency, before.latency);
}

TEST(Scenario, AnEmptyOneChangesNothing) {
  Reading reading;
  const ClusterSpec before = cluster();
  const ClusterSpec after = apply(reading, before, Scenario{});
  EXPECT_TRUE(reading.problems.empty());
  EXPECT_EQ(after.bandwidth, before.bandwidth);
  EXPECT_EQ(after.speed, before.speed);
}

TEST(Scenario, WhatTheClusterLacksIsNamed) {
  Reading reading;
  const Scenario scenario = read(reading, R"(
stragglers: [{ranks: [2048], speed: 0.8}, {ranks: [3], speed: 0.9}, {ranks: [3], speed: 0.7}]
links: [{match: "nix*", scale: 0.5}]
)");
  EXPECT_TRUE(reading.problems.empty());
  (void)apply(reading, cluster(), scenario);
  ASSERT_EQ(reading.problems.size(), 3U);
  EXPECT_EQ(reading.problems[0].key, "scenario.stragglers[0].ranks");
  EXPECT_NE(reading.problems[0].reason.find("there is no rank 2048; h800-256x8 has ranks 0 to 2047"),
            std::string::npos);
  EXPECT_NE(reading.problems[1].reason.find("rank 3 stands twice"), std::string::npos);
  EXPECT_EQ(reading.problems[2].key, "scenario.links[0].match");
  EXPECT_NE(reading.problems[2].reason.find("no link of h800-256x8 matches 'nix*'"), std::string::npos);
}

TEST(Scenario, KeysThatAreNotSimulatedAreRefused) {
  for (const char* text : {
           "links: [{match: \"leaf*\", scale: 0.5, from: 2s}]",
           "links: [{match: \"leaf*\", scale: 0.5, until: 4s}]",
           "links: [{match: \"leaf*\", scale: 1, down_at: 3s}]",
           "stragglers: [{ranks: [1], speed: 0.5, from: 1s}]",
           "jitter: {compute_sigma: 0.03, seed: 1}",
       }) {
    Reading reading;
    (void)read(reading, text);
    ASSERT_EQ(reading.problems.size(), 1U) << text;
    EXPECT_NE(reading.problems[0].reason.find("not simulated yet"), std::string::npos) << text;
    EXPECT_EQ(reading.problems[0].line, 1) << text;
  }
}

TEST(Scenario, BadValuesAreRefused) {
  for (const char* text : {
           "links: [{match: \"leaf*\"}]",
           "links: [{match: \"leaf*\", scale: 0.5, bandwidth: 1GBps}]",
           "links: [{match: \"leaf*\", scale: 0}]",
           "links: [{match: \"leaf*\", bandwidth: 5}]",
           "links: [{match: \"leaf*\", bandwidth: -5GBps}]",
           "links: [{scale: 0.5}]",
           "links: 3",
           "stragglers: [{ranks: [], speed: 0.5}]",
           "stragglers: [{ranks: [1], speed: 0}]",
           "stragglers: [{ranks: [1]}]",
           "stragglers: [{ranks: [-1], speed: 0.5}]",
           "stragler: []",
           "[]",
           "",
       }) {
    Reading reading;
    (void)read(reading, text);
    EXPECT_EQ(reading.problems.size(), 1U) << text;
  }
}

}  // namespace
}  // namespace stepsim
