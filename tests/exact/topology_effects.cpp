// What an oversubscribed leaf switch and a slow rail do to a shrunk DeepSeek-V3 step, against bytes over the slowed
// wire.
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "sim/simulate.hpp"
#include "support/temp_file.hpp"

namespace stepsim::topology_effects_test {
// 8 nodes of 8 H800, two nodes a leaf switch, one plane a GPU index.
class MadeCluster {
 public:
  explicit MadeCluster(const std::string& options) : xml_("", ".xml"), yaml_("", ".yaml") {
    const std::string source = STEPSIM_SOURCE_DIR;
    const std::string command = source + "/tools/make_platform --name made --nodes 8 --leaf-size 2 --gpu " + source +
                                "/platforms/gpus/h800-sxm.yaml " + options + " -o " + xml_.path() + " --yaml " +
                                yaml_.path();
    if (std::system(command.c_str()) != 0) throw std::runtime_error(command);
  }
  std::string path() const { return yaml_.path(); }

 private:
  test::TempFile xml_, yaml_;
};

Report simulated(const std::string& plan, const MadeCluster& cluster, std::vector<std::string> overrides,
                 const std::string& scenario = "", bool elasticities = false) {
  Request request;
  request.model = "deepseek-v3";
  request.plan = plan;
  request.cluster = cluster.path();
  request.scenario = scenario;
  request.overrides = std::move(overrides);
  request.overrides.insert(request.overrides.end(), {"model.layers=5", "plan.batch.microbatch_sequences=1"});
  request.home = STEPSIM_SOURCE_DIR;
  Options options;
  options.elasticities = elasticities;
  return simulate(load(request), options).report;
}

const CollectiveRow& row(const Report& report, const std::string& name) {
  for (const CollectiveRow& r : report.collectives) {
    if (r.name == name) return r;
  }
  throw std::runtime_error("no row " + name);
}

double wire_seconds(const Report& report, const std::string& wire) {
  for (std::size_t t = 0; t < report.tiers.size(); ++t) {
    if (report.tiers[t] == wire) return report.roofline.wire_s[t];
  }
  throw std::runtime_error("no wire " + wire);
}

// Flat ZeRO-3: each of 64 GPUs pulls V over its own card, all but its node's eighth: 7/8 V at 50 GB/s. Of a leaf's two
// cards, what comes from the other three leaves, 6/8 V each, crosses the leaf's way down: 100 GB/s, or 25 at 4:1.
TEST(TopologyEffects, OversubscriptionFourToOneOnFlatGathers) {
  const std::vector<std::string> sets = {"plan.batch.global_sequences=64"};
  const Report even = simulated("deepseek-v3-zero3-flat", MadeCluster(""), sets, "", true);
  const Report thin = simulated("deepseek-v3-zero3-flat", MadeCluster("--oversubscription 4"), sets, "", true);
  const CollectiveRow& before = row(even, "parameters (forward)");
  const CollectiveRow& after = row(thin, "parameters (forward)");
  const double v = before.bytes_per_rank;
  ASSERT_GT(v, 1e9);
  EXPECT_DOUBLE_EQ(after.bytes_per_rank, v);
  const double card = v * 7 / 8 / 50e9, leaf = 2 * v * 6 / 8 / 25e9;
  const double latency = before.count * 10e-6;
  EXPECT_NEAR(before.busy_s, card, latency);
  EXPECT_NEAR(after.busy_s, leaf, latency);
  // Two gathers and a scatter; the roofline sees the shared link.
  EXPECT_NEAR(wire_seconds(even, "infiniband"), 3 * card, 1e-3 * card);
  EXPECT_NEAR(wire_seconds(thin, "infiniband"), 3 * leaf, 1e-3 * leaf);
  for (const Report& report : {even, thin}) {
    EXPECT_EQ(report.roofline.bound, "infiniband");
    EXPECT_EQ(report.verdict.resource, "infiniband");
  }
  // Each step is communication nearly throughout: what is exposed beside it is compute of a few per cent.
  EXPECT_NEAR(thin.step_time_s / even.step_time_s, leaf / card, 0.1 * leaf / card);
  EXPECT_EQ(thin.links.front().name.substr(0, 6), "leaf_p");
  EXPECT_EQ(even.links.front().name.substr(0, 3), "nic");
}

// Blocking dispatch of experts over 8 nodes: a card carries c bytes a call, six sevenths of them to another leaf (two
// nodes a leaf: one of seven others is near). The leaf's way up carries two cards' worth of that at 25 GB/s.
TEST(TopologyEffects, OversubscriptionFourToOneOnExpertTraffic) {
  const std::vector<std::string> sets = {"plan.parallel.pipeline=1", "plan.batch.global_sequences=128",
                                         "plan.overlap.expert=blocking"};
  const Report even = simulated("deepseek-v3-1f1b", MadeCluster(""), sets);
  const Report thin = simulated("deepseek-v3-1f1b", MadeCluster("--oversubscription 4"), sets);
  // DeepSeek-V3's report: a token goes to 4 of 8 nodes, one of which is its own with a chance of a half: 3.5 copies of
  // 7392 B leave its card. 2 layers of experts, 2 microbatches of 4096 tokens.
  const double card = 2 * 2 * 4096 * 3.5 * 7392 / 50e9;
  const CollectiveRow& before = row(even, "dispatch");
  const CollectiveRow& after = row(thin, "dispatch");
  EXPECT_EQ(before.count, 4);
  EXPECT_NEAR(before.busy_s, card, 0.01 * card);
  EXPECT_NEAR(after.busy_s, card * 2 * 6 / 7 * 50 / 25, 0.01 * after.busy_s);
  EXPECT_GT(thin.step_time_s, even.step_time_s);
}

// Rail 3 at a quarter and at half of its speed, under hierarchical gathers: rails run in lockstep, each card carries
// V/8 x 7/8, and NVLink needs 7/8 V / 160 GB/s beside it. At a half, 25 GB/s, NVLink still takes longer and hides it;
// at a quarter the rail binds.
TEST(TopologyEffects, OneSlowRail) {
  const MadeCluster cluster("");
  const auto with_rail = [&](const std::string& scale) {
    std::string links;
    for (int node = 0; node < 8; ++node) {
      links += (node > 0 ? ", " : "") + std::string("{match: \"nic") + std::to_string(node * 8 + 3) +
               "_*\", scale: " + scale + "}";
    }
    const test::TempFile scenario("name: slow-rail\nlinks: [" + links + "]\n", ".yaml");
    return simulated("deepseek-v3-zero3-hierarchical", cluster, {"plan.batch.global_sequences=64"}, scenario.path(),
                     true);
  };
  const Report whole = with_rail("1"), half = with_rail("0.5"), quarter = with_rail("0.25");
  const CollectiveRow& gathers = row(whole, "parameters (forward)");
  const double v = gathers.bytes_per_rank;
  const double nvlink = v * 7 / 8 / 160e9, rail = v / 8 * 7 / 8 / 12.5e9;
  const double latency = gathers.count * (7 + 1) * 4e-6;  // 7 steps between nodes, then NVLink
  EXPECT_NEAR(gathers.busy_s, nvlink, latency);
  EXPECT_NEAR(row(half, "parameters (forward)").busy_s, nvlink, latency);
  EXPECT_NEAR(row(quarter, "parameters (forward)").busy_s, rail, latency);
  EXPECT_EQ(whole.verdict.resource, "nvlink");
  EXPECT_EQ(half.verdict.resource, "nvlink");
  EXPECT_EQ(quarter.verdict.resource, "infiniband");
  EXPECT_EQ(quarter.roofline.bound, "infiniband");
  EXPECT_NEAR(half.step_time_s, whole.step_time_s, 1e-3 * whole.step_time_s);
  EXPECT_GT(quarter.step_time_s, 1.4 * whole.step_time_s);
}

// GPUs 2 i and 2 i + 1 share a card: flat gathers pull twice as much over each.
TEST(TopologyEffects, SharedCardsCarryBothGpusBytes) {
  const std::vector<std::string> sets = {"plan.batch.global_sequences=64"};
  const Report own = simulated("deepseek-v3-zero3-flat", MadeCluster("--planes 1"), sets);
  const Report shared = simulated("deepseek-v3-zero3-flat", MadeCluster("--planes 1 --nics-per-node 4"), sets);
  EXPECT_NEAR(row(shared, "parameters (forward)").busy_s, 2 * row(own, "parameters (forward)").busy_s,
              1e-3 * row(shared, "parameters (forward)").busy_s);
  for (const RankRow& rank : shared.ranks) {
    ASSERT_EQ(shared.tiers.at(1), "infiniband");
    EXPECT_NEAR(rank.wire_bytes.at(1), 2 * own.ranks.at(0).wire_bytes.at(1), 1e-9 * rank.wire_bytes.at(1));
    EXPECT_NEAR(rank.wire_roofline_s.at(1), rank.wire_bytes.at(1) / 50e9, 1e-9 * rank.wire_roofline_s.at(1));
  }
}

}  // namespace stepsim::topology_effects_test
