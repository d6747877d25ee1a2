// Scenarios: stragglers, slow and dead links laid over a cluster, and what cannot be laid over it.
#include "sim/cluster/scenario.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <stdexcept>
#include <string>
#include <vector>

#include "support/temp_file.hpp"

namespace stepsim::scenario_test {
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
links:
  - {match: "nic*", scale: 0.5}
  - {match: "nix*", scale: 0.5}
)");
  EXPECT_TRUE(reading.problems.empty());
  (void)apply(reading, cluster(), scenario);
  ASSERT_EQ(reading.problems.size(), 3U);
  EXPECT_EQ(reading.problems[0].key, "scenario.stragglers[0].ranks");
  EXPECT_NE(reading.problems[0].reason.find("there is no rank 2048; h800-256x8 has ranks 0 to 2047"),
            std::string::npos);
  EXPECT_NE(reading.problems[1].reason.find("rank 3 stands twice"), std::string::npos);
  EXPECT_EQ(reading.problems[0].line, 2);
  EXPECT_EQ(reading.problems[2].key, "scenario.links[1].match");
  EXPECT_EQ(reading.problems[2].line, 5);
  EXPECT_NE(reading.problems[2].reason.find("no link of h800-256x8 matches 'nix*'"), std::string::npos);
}

// The link of that name.
LinkId link(const ClusterSpec& spec, const std::string& name) {
  for (std::size_t l = 0; l < spec.bandwidth.size(); ++l) {
    if (spec.platform->links()[l].name == name) return static_cast<LinkId>(l);
  }
  throw std::runtime_error("no link " + name);
}

ClusterSpec under(const std::string& text) {
  Reading reading;
  const Scenario scenario = read(reading, text);
  reading.throw_if_any();
  ClusterSpec spec = apply(reading, cluster(), scenario);
  reading.throw_if_any();
  return spec;
}

TEST(Scenario, StragglersOfAPartOfTheStep) {
  const ClusterSpec spec = under(R"(
stragglers: [{ranks: [3], speed: 0.8, from: 2s, until: 4s}, {ranks: [3], speed: 0.5, from: 4s}, {ranks: [4], speed: 0.9, until: 1s}]
)");
  EXPECT_EQ(spec.speed[3], 1);
  EXPECT_EQ(spec.speed_changes.at(3), (std::vector<Change>{{2, 0.8}, {4, 0.5}}));
  EXPECT_EQ(spec.speed[4], 0.9);
  EXPECT_EQ(spec.speed_changes.at(4), (std::vector<Change>{{1, 1}}));
  EXPECT_EQ(spec.speed_changes.size(), 2U);
}

// 50 GB/s; halved in [1, 3], a tenth of what is left in [2, 4]; down in [3.5, 5].
TEST(Scenario, LinksOfAPartOfTheStep) {
  const ClusterSpec spec = under(R"(
links:
  - {match: nic9_up, scale: 0.5, from: 1s, until: 3s}
  - {match: nic9_up, scale: 0.1, from: 2s, until: 4s}
  - {match: nic9_up, down_at: 3500ms, up_at: 5s}
)");
  const LinkId nic = link(spec, "nic9_up");
  EXPECT_DOUBLE_EQ(spec.bandwidth[static_cast<std::size_t>(nic)].value, 50e9);
  const std::vector<Change> expected = {{1, 25e9}, {2, 2.5e9}, {3, 5e9}, {3.5, 0}, {5, 50e9}};
  const std::vector<Change>& changes = spec.bandwidth_changes.at(nic);
  ASSERT_EQ(changes.size(), expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i) {
    EXPECT_DOUBLE_EQ(changes[i].time, expected[i].time);
    EXPECT_NEAR(changes[i].value, expected[i].value, 1);
  }
  EXPECT_EQ(spec.bandwidth_changes.size(), 1U);
  EXPECT_TRUE(spec.reroutings.empty());
}

TEST(Scenario, ADeadLinkFromTheStart) {
  const ClusterSpec spec = under("links: [{match: nic9_up, down_at: 0s}]");
  EXPECT_EQ(spec.bandwidth[static_cast<std::size_t>(link(spec, "nic9_up"))].value, 0);
  EXPECT_TRUE(spec.bandwidth_changes.empty());
}

// Up for 0.75 s of each second, from 1 s to 3.5 s.
TEST(Scenario, AFlappingLink) {
  const ClusterSpec spec = under("links: [{match: nic9_up, flap: {period: 1s, duty: 0.75}, from: 1s, until: 3500ms}]");
  EXPECT_EQ(spec.bandwidth_changes.at(link(spec, "nic9_up")),
            (std::vector<Change>{{1.75, 0}, {2, 50e9}, {2.75, 0}, {3, 50e9}}));
}

TEST(Scenario, LatencyChangesAreRoutings) {
  const ClusterSpec spec = under("links: [{match: nic9_up, latency: 9us, from: 1s, until: 2s}]");
  const auto nic = static_cast<std::size_t>(link(spec, "nic9_up"));
  EXPECT_EQ(spec.reroutings, (std::vector<Rerouting>{{1, 1}, {2, 0}}));
  ASSERT_EQ(spec.routings.size(), 1U);
  EXPECT_EQ(spec.routings[0].latency[nic], Seconds(9e-6));
  EXPECT_EQ(under_routing(spec, 1).latency[nic], Seconds(9e-6));
  EXPECT_EQ(spec.latency, cluster().latency);
}

std::vector<std::string> names(const ClusterSpec& spec, const std::vector<LinkId>& route) {
  std::vector<std::string> texts;
  for (const LinkId l : route) texts.push_back(spec.platform->links()[static_cast<std::size_t>(l)].name);
  return texts;
}

// Rank 9 is GPU 1 of node 1. To rank 1 it goes out by its own card; without that, over NVLink to rank 10, by the cards
// of plane 2, and over NVLink to rank 1.
TEST(Scenario, FailoverGoesOutByTheNeighboursCard) {
  const ClusterSpec spec =
      under("links: [{match: \"nic9_*\", down_at: 1s, up_at: 3s, failover: nvlink, failover_delay: 500ms}]");
  EXPECT_EQ(spec.reroutings, (std::vector<Rerouting>{{1.5, 1}, {3, 0}}));
  EXPECT_EQ(names(spec, route_between(spec, 9, 1)), (std::vector<std::string>{"nic9_up", "nic1_down"}));
  const ClusterSpec round = under_routing(spec, 1);
  EXPECT_EQ(names(spec, route_between(round, 9, 1)),
            (std::vector<std::string>{"nv9_up", "nv10_down", "nic10_up", "nic2_down", "nv2_up", "nv1_down"}));
  EXPECT_EQ(names(spec, route_between(round, 1, 9)),
            (std::vector<std::string>{"nv1_up", "nv2_down", "nic2_up", "nic10_down", "nv10_up", "nv9_down"}));
  // Across planes one hop does: it was made over rank 9's own card before only if that is the receiver's plane.
  EXPECT_EQ(names(spec, route_between(round, 9, 2)),
            (std::vector<std::string>{"nv9_up", "nv10_down", "nic10_up", "nic2_down"}));
  // Others keep their routes.
  EXPECT_EQ(names(spec, route_between(round, 8, 0)), (std::vector<std::string>{"nic8_up", "nic0_down"}));
  EXPECT_EQ(names(spec, route_between(round, 9, 10)), (std::vector<std::string>{"nv9_up", "nv10_down"}));
}

// All cards of a node are dead: there is no way round, and the route stays what it is.
TEST(Scenario, FailoverWithoutANeighbourKeepsTheRoute) {
  std::string faults;
  for (int rank = 8; rank < 16; ++rank)
    faults += "  - {match: \"nic" + std::to_string(rank) + "_*\", down_at: 0s, failover: nvlink}\n";
  const ClusterSpec spec = under("links:\n" + faults);
  EXPECT_EQ(names(spec, route_between(spec, 9, 1)), (std::vector<std::string>{"nic9_up", "nic1_down"}));
  EXPECT_EQ(spec.avoided.size(), 16U);
  EXPECT_TRUE(spec.reroutings.empty());
}

TEST(Scenario, Jitter) {
  const ClusterSpec spec = under("jitter: {compute_sigma: 0.03, communication_sigma: 0.1, seed: 9}");
  EXPECT_EQ(spec.jitter, (Jitter{0.03, 0.1, 9}));
}

TEST(Scenario, ShippedOnesAreSoundOnTheShippedCluster) {
  int read_ones = 0;
  for (const auto& entry :
       std::filesystem::directory_iterator(std::string(STEPSIM_SOURCE_DIR) + "/workloads/scenarios")) {
    Reading reading;
    const Scenario scenario = read_scenario(reading, entry.path().string(), {});
    (void)apply(reading, cluster(), scenario);
    EXPECT_TRUE(reading.problems.empty()) << entry.path() << ": " << reading.problems.front().reason;
    EXPECT_EQ(scenario.name, entry.path().stem());
    ++read_ones;
  }
  EXPECT_GE(read_ones, 6);
}

// Each contradiction once, at its line, with what would be right.
TEST(Scenario, ContradictionsAreRefused) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"links: [{match: \"leaf*\", scale: 0.5, from: 4s, until: 2s}]", "is not after from"},
      {"links: [{match: \"leaf*\", down_at: 4s, up_at: 4s}]", "is not after down_at"},
      {"links: [{match: \"leaf*\", down_at: 3s, scale: 0.5}]", "has several of bandwidth"},
      {"links: [{match: \"leaf*\", down_at: 3s, from: 1s}]", "down_at and up_at say when"},
      {"links: [{match: \"leaf*\", scale: 0.5, up_at: 4s}]", "goes with down_at"},
      {"links: [{match: \"leaf*\", scale: 0.5, failover: nvlink}]", "goes with down_at or flap"},
      {"links: [{match: \"leaf*\", down_at: 1s, failover_delay: 1s}]", "goes with failover: nvlink"},
      {"links: [{match: \"leaf*\", down_at: 1s, failover: nvlnk}]", "did you mean nvlink?"},
      {"links: [{match: \"leaf*\", flap: {period: 1s, duty: 0.5}}]", "needs an until"},
      {"links: [{match: \"leaf*\", flap: {period: 1us, duty: 0.5}, until: 10s}]", "at most 50000 are simulated"},
      {"links: [{match: \"leaf*\", flap: {period: 0s, duty: 0.5}, until: 10s}]", "more than zero"},
      {"links: [{match: \"leaf*\", flap: {period: 1s, duty: 1.5}, until: 10s}]", "is not between 0 and 1"},
      {"links: [{match: \"leaf*\", scale: 0.5, form: 1s}]", "did you mean from?"},
      {"links: [{match: \"leaf*\", down: 1s, scale: 0.5}]",
       "the keys here are match, bandwidth, scale, latency, down_at"},
      {"stragglers: [{ranks: [1], speed: 0.5, untl: 1s}]", "did you mean until?"},
      {"stragglers: [{ranks: [1], speed: 0.5, from: 1}]", "has no unit"},
      {"jitter: {compute_sigma: 0.03}", "missing"},
      {"jitter: {seed: 1}", "neither compute_sigma nor communication_sigma"},
      {"jitter: {compute_sgma: 0.1, communication_sigma: 0.1, seed: 1}", "did you mean compute_sigma?"},
      {"jitters: {seed: 1}", "did you mean jitter?"},
  };
  for (const auto& [text, what] : cases) {
    Reading reading;
    (void)read(reading, text);
    ASSERT_EQ(reading.problems.size(), 1U) << text;
    EXPECT_NE(reading.problems[0].reason.find(what), std::string::npos) << text << ": " << reading.problems[0].reason;
    EXPECT_EQ(reading.problems[0].line, 1) << text;
  }
}

TEST(Scenario, FailoverIsForTheNetworkOnly) {
  Reading reading;
  (void)apply(reading, cluster(), read(reading, "links: [{match: \"nv3_up\", down_at: 1s, failover: nvlink}]"));
  ASSERT_EQ(reading.problems.size(), 1U);
  EXPECT_NE(reading.problems[0].reason.find("nv3_up is a link inside a node (nvlink)"), std::string::npos);
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

}  // namespace stepsim::scenario_test
