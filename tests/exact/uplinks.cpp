// Several cables between switches: spread evenly, or picked by a static hash, whose collisions are counted by hand.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <string>

#include "sim/cluster/uplinks.hpp"
#include "support/shipped_cluster.hpp"
#include "support/temp_file.hpp"

namespace stepsim::uplinks_test {
// Two leaf switches with four cards of 1 GB/s each, and four cables of 1 GB/s from each to a spine.
std::string small_tree() {
  return R"(<platform version="4.1"><zone id="z" routing="Floyd">
    <cluster id="a" prefix="h" suffix="" radical="0-3" speed="1f" bw="1GBps" lat="1us" router_id="ra"/>
    <cluster id="b" prefix="h" suffix="" radical="4-7" speed="1f" bw="1GBps" lat="1us" router_id="rb"/>
    <zone id="s" routing="Full"><router id="rs"/></zone>
    <link id="leaf_a" bandwidth="4GBps" latency="3us" sharing_policy="SPLITDUPLEX"/>
    <link id="leaf_b" bandwidth="4GBps" latency="3us" sharing_policy="SPLITDUPLEX"/>
    <zoneRoute src="a" dst="s" gw_src="ra" gw_dst="rs"><link_ctn id="leaf_a" direction="UP"/></zoneRoute>
    <zoneRoute src="b" dst="s" gw_src="rb" gw_dst="rs"><link_ctn id="leaf_b" direction="UP"/></zoneRoute>
    </zone></platform>)";
}

ClusterSpec small_cluster(Reading& reading, const std::string& uplinks) {
  const test::TempFile xml(small_tree());
  const test::TempFile yaml("name: x\nplatform: " + xml.path() +
                                "\ngpu: h800-sxm\nnodes: 8\ngpus_per_node: 1\nhosts: {gpu: \"h{rank}\"}\n"
                                "tiers: {wire: \"h*\", network: \"leaf*\"}\n" +
                                uplinks,
                            ".yaml");
  return read_cluster(reading, yaml.path(), {}, Rates::speed_of_light, test::platforms());
}

ClusterSpec with(const std::string& uplinks) {
  Reading reading;
  ClusterSpec cluster = small_cluster(reading, uplinks);
  reading.throw_if_any();
  return cluster;
}

// "leaf_a_up.2" -> 2
int cable_of(const std::string& names, const std::string& link) {
  const std::size_t at = names.find(link + ".");
  return at == std::string::npos ? -1 : names[at + link.size() + 1] - '0';
}

// The rate of each message from rank i to rank 4 + i when all four go at once: a cable's speed over those that share
// it.
double slowest_rate(const ClusterSpec& cluster) {
  std::map<int, int> messages;
  for (int i = 0; i < 4; ++i) ++messages[cable_of(test::names_of(cluster, i, 4 + i), "leaf_a_up")];
  int most = 0;
  for (const auto& [cable, count] : messages) most = std::max(most, count);
  return 1e9 / most;
}

TEST(Uplinks, IdealIsOneLinkOfTheJointSpeed) {
  for (const char* uplinks : {"", "uplinks: {choice: ideal, cables: {\"leaf*\": 4}}"}) {
    const ClusterSpec c = with(uplinks);
    EXPECT_EQ(test::names_of(c, 0, 5), "h0_up leaf_a_up leaf_b_down h5_down");
    EXPECT_DOUBLE_EQ(test::bandwidth_of(c, "leaf_a_up"), 4e9);
    EXPECT_EQ(c.platform->links().size(), 8U * 2 + 4);
  }
}

TEST(Uplinks, HashPicksOneCableOfAQuarterOfTheSpeed) {
  const ClusterSpec c = with("uplinks: {choice: hash, cables: {\"leaf*\": 4}}");
  EXPECT_EQ(c.platform->links().size(), 8U * 2 + 4 * 4);
  std::set<int> used;
  for (RankId from = 0; from < 4; ++from) {
    EXPECT_EQ(test::names_of(c, from, (from + 1) % 4),
              "h" + std::to_string(from) + "_up h" + std::to_string((from + 1) % 4) + "_down");
    for (RankId to = 4; to < 8; ++to) {
      const std::string names = test::names_of(c, from, to);
      const int up = cable_of(names, "leaf_a_up");
      EXPECT_GE(up, 0) << names;
      EXPECT_EQ(up, cable_of(names, "leaf_b_down")) << names;  // the same spine's cable leads down
      EXPECT_EQ(names, test::names_of(c, from, to));           // static
      EXPECT_DOUBLE_EQ(test::bandwidth_of(c, "leaf_a_up." + std::to_string(up)), 1e9);
      EXPECT_DOUBLE_EQ(test::latency_of(c, from, to), 8e-6);
      used.insert(up);
    }
  }
  EXPECT_EQ(used.size(), 4U);  // 16 pairs over 4 cables: 1 % chance that a fair hash misses one
  for (std::size_t l = 0; l < c.link_tier.size(); ++l) {
    EXPECT_EQ(c.link_tier[l], c.platform->links()[l].name.starts_with("leaf") ? 1 : 0);
  }
}

// Over all seeds, the four messages 0 > 4, 1 > 5, 2 > 6, 3 > 7 fall onto the four cables as balls into bins: of 256
// ways, 24 without a collision, 144 with two on a cable once, 36 with two pairs, 48 with three on one cable, 4 with all
// on one.
TEST(Uplinks, CollisionsComeAsOftenAsChanceHasIt) {
  constexpr int kSeeds = 1000;
  std::map<double, int> times;
  const test::TempFile xml(small_tree());
  const auto tree = read_platform(xml.path());
  for (int seed = 0; seed < kSeeds; ++seed) {
    const auto spread = hashed(tree, {{.match = "leaf*", .count = 4}}, seed);
    std::map<LinkId, int> load;
    for (int i = 0; i < 4; ++i) {
      ++load[spread->route(spread->host("h" + std::to_string(i)), spread->host("h" + std::to_string(4 + i))).at(1)];
    }
    int most = 0;
    for (const auto& [cable, count] : load) most = std::max(most, count);
    ++times[1.0 / most];
  }
  // Four standard deviations of a binomial.
  const auto near = [&](double rate, double chance) {
    EXPECT_NEAR(times[rate], kSeeds * chance, 4 * std::sqrt(kSeeds * chance * (1 - chance))) << rate;
  };
  near(1.0, 24 / 256.0);
  near(0.5, (144 + 36) / 256.0);
  near(1.0 / 3, 48 / 256.0);
  near(0.25, 4 / 256.0);
}

TEST(Uplinks, SeedsDiffer) {
  std::set<double> rates;
  for (int seed = 1; seed <= 12; ++seed) {
    rates.insert(
        slowest_rate(with("uplinks: {choice: hash, cables: {\"leaf*\": 4}, seed: " + std::to_string(seed) + "}")));
  }
  EXPECT_GT(rates.size(), 1U);
}

// A pod's 16 leaf cables lead to 16 spine switches; of its 32 cables to the core, two stand at each of them.
TEST(Uplinks, CablesOfTheNextLayerStandAtTheSwitchThatWasPicked) {
  const ClusterSpec c = test::shipped_cluster("h100-fat-tree-3",
                                              {{"uplinks", "{choice: hash, cables: {\"leaf*\": 16, \"spine*\": 32}}"}});
  std::set<int> spines, cores;
  for (RankId from = 0; from < 128; from += 5) {
    const std::string names = test::names_of(c, from, from + 128 * 3);
    const auto number = [&](const std::string& link) {
      const std::size_t at = names.find(link);
      return at == std::string::npos ? -1 : std::stoi(names.substr(names.find('.', at) + 1));
    };
    const int leaf = number("leaf_p0_"), spine = number("spine_p0_0_up");
    EXPECT_EQ(spine / 2, leaf) << names;
    EXPECT_EQ(spine, number("spine_p0_3_down")) << names;
    spines.insert(leaf);
    cores.insert(spine);
  }
  EXPECT_GT(spines.size(), 8U);
  EXPECT_GT(cores.size(), spines.size());
}

TEST(Uplinks, WhatCannotBeIsRefused) {
  const auto refused = [](const std::string& uplinks, const std::string& key, const std::string& reason) {
    Reading reading;
    (void)small_cluster(reading, "uplinks: " + uplinks);
    ASSERT_FALSE(reading.problems.empty()) << uplinks;
    EXPECT_EQ(reading.problems[0].key, key) << uplinks;
    EXPECT_NE(reading.problems[0].reason.find(reason), std::string::npos) << to_text(reading.problems[0]);
  };
  refused("{choice: hash}", "cluster.uplinks.cables", "");
  refused("{choice: hash, cables: {}}", "cluster.uplinks.cables", "names no links");
  refused("{choice: hsh, cables: {\"leaf*\": 4}}", "cluster.uplinks.choice", "");
  refused("{choice: hash, cables: {\"leef*\": 4}}", "cluster.uplinks.cables", "no link matches \"leef*\"");
  refused("{cables: {\"leef*\": 4}}", "cluster.uplinks.cables", "no link matches \"leef*\"");
  refused("{choice: hash, cables: {\"h*\": 4}}", "cluster.uplinks.cables", "h0_up is a host's own link");
  refused("{choice: hash, cables: {\"leaf*\": 0}}", "cluster.uplinks.cables.leaf*", "too small");
  refused("{choice: hash, cables: {\"leaf*\": 4}, sed: 1}", "cluster.uplinks.sed", "did you mean seed?");
  refused("{choice: hash, cables: {\"leaf*\": 4}, seed: -1}", "cluster.uplinks.seed", "too small");
}

}  // namespace stepsim::uplinks_test
