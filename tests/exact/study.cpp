// The study's figures: one pass over DeepSeek-V3's BF16 parameters on 2048 H800s, and which wire binds which plan.
#include <gtest/gtest.h>

#include <set>

#include "sim/simulate.hpp"
#include "support/sanitized.hpp"
#include "support/shipped.hpp"

namespace stepsim::study_test {
const CollectiveRow& row(const Report& report, const std::string& name) {
  for (const CollectiveRow& r : report.collectives) {
    if (r.name == name) return r;
  }
  throw std::runtime_error("no row " + name);
}

double tier(const std::vector<double>& values, const Report& report, const std::string& name) {
  for (std::size_t i = 0; i < report.tiers.size(); ++i) {
    if (report.tiers[i] == name) return values[i];
  }
  throw std::runtime_error("no tier " + name);
}

Report simulated(const std::string& experiment, std::vector<std::string> overrides = {}, bool elasticities = true) {
  Options options;
  options.elasticities = elasticities;
  options.fitting_changes = false;  // tests/exact/memory_reports.cpp has those
  return simulate(testing::shipped(experiment, std::move(overrides)), options).report;
}

// 1.342 TB x (2048 - 8)/2048 / 50 GB/s.
TEST(Study, FlatPassTakes26736Milliseconds) {
  const double pass = 671'026'419'200.0 * 2 * 2040 / 2048 / 50e9;
  EXPECT_NEAR(pass, 26.736, 5e-4);
  // 4 million pairs of GPUs: with sanitizers once, not once more for each elasticity.
  const Report report = simulated("deepseek-v3-zero3-flat", {}, !testing::kSanitized);
  EXPECT_NEAR(row(report, "parameters (forward)").busy_s, pass, 1e-4 * pass);
  if (testing::kSanitized) return;
  EXPECT_EQ(report.verdict.bound, "communication");
  EXPECT_EQ(report.verdict.resource, "infiniband");
  EXPECT_EQ(report.roofline.bound, "infiniband");
}

// InfiniBand carries an eighth: 3.342 s; NVLink seven eighths at 160 GB/s: 7.339 s. Three passes: two gathers, a
// scatter.
TEST(Study, HierarchicalPassIsBoundByNvlink) {
  const double infiniband = 671'026'419'200.0 * 2 * 2040 / 2048 / 8 / 50e9,
               nvlink = 671'026'419'200.0 * 2 * 7 / 8 / 160e9;
  EXPECT_NEAR(infiniband, 3.342, 5e-4);
  EXPECT_NEAR(nvlink, 7.339, 5e-4);
  const Report report = simulated("deepseek-v3-zero3-hierarchical");
  EXPECT_NEAR(row(report, "parameters (forward)").busy_s, nvlink, 1e-4 * nvlink);
  EXPECT_NEAR(tier(report.ranks[0].wire_roofline_s, report, "infiniband"), 3 * infiniband, 1e-4 * 3 * infiniband);
  EXPECT_NEAR(tier(report.ranks[0].wire_roofline_s, report, "nvlink"), 3 * nvlink, 1e-4 * 3 * nvlink);
  EXPECT_EQ(report.verdict.bound, "communication");
  EXPECT_EQ(report.verdict.resource, "nvlink");
}

// Without the other tier's traffic: InfiniBand alone.
TEST(Study, HierarchicalInfinibandAlone) {
  // NVLink so fast that only the network is left.
  const double infiniband = 671'026'419'200.0 * 2 * 2040 / 2048 / 8 / 50e9;
  Inputs in = testing::shipped("deepseek-v3-zero3-hierarchical");
  in.cluster = with_faster(in.cluster, "nvlink", 1e6);
  Options options;
  options.elasticities = false;
  const Report report = simulate(in, options).report;
  // The ring of 256 nodes takes 255 steps of at most 3.7 us each, in each of the gathers; what comes last is still to
  // be spread over NVLink: 3.33 us.
  const CollectiveRow& gathers = row(report, "parameters (forward)");
  EXPECT_NEAR(gathers.busy_s, infiniband + gathers.count * (255 * 3.7e-6 + 3.33e-6), 1e-4 * infiniband);
}

TEST(Study, DualPipeIsComputeBoundNarrowly) {
  const Report report = simulated("deepseek-v3-dualpipe");
  EXPECT_EQ(report.verdict.bound, "compute") << report.verdict.text;
  EXPECT_EQ(report.roofline.bound, "compute");
}

TEST(Study, EveryShippedExperimentSplitsItsStep) {
  for (const char* name :
       {"deepseek-v3-dualpipe", "deepseek-v3-1f1b", "deepseek-v3-zero3-flat", "deepseek-v3-zero3-hierarchical",
        "deepseek-v3-zero3-accumulate", "deepseek-v3-zero3-ep64", "deepseek-v3-tp8-pp16", "deepseek-v3-2048-nodes"}) {
    const std::set<std::string_view> slow = {"deepseek-v3-zero3-flat", "deepseek-v3-2048-nodes", "deepseek-v3-tp8-pp16"};
    if (testing::kSanitized && slow.contains(name)) continue;
    const Report report = simulated(name, {}, false);
    int gpus = 0;
    for (const RankRow& r : report.ranks) {
      EXPECT_NEAR(r.compute_s + r.exposed_communication_s + r.wait_s + r.bubble_s, report.step_time_s,
                  1e-9 * report.step_time_s)
          << name;
      gpus += r.count;
    }
    EXPECT_EQ(gpus, report.inputs.gpus) << name;
  }
}

}  // namespace stepsim::study_test
