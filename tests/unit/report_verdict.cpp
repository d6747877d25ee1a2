// The verdict and the warnings.
#include <gtest/gtest.h>

#include "sim/report/words.hpp"
#include "support/contains.hpp"
#include "support/report_example.hpp"

namespace stepsim::report_verdict_test {
using toy::example_report;

// What makes the step longer when it is faster takes nothing from what another wire would save.
TEST(ReportVerdict, NegativeElasticitiesHideNothing) {
  Report report = example_report();
  judge(report, {{"compute", 0.5}, {"hbm", 0.1}, {"nvlink", 0.3}, {"infiniband", -0.5}, {"latency", 0.1}});
  EXPECT_EQ(report.verdict.bound, "compute");
  EXPECT_EQ(report.verdict.text.find("entirely"), std::string::npos) << report.verdict.text;
  EXPECT_EQ(report.verdict.text.find("save 0 s"), std::string::npos) << report.verdict.text;
}

TEST(ReportVerdict, IsUnknownUntilElasticitiesAreMeasured) {
  const Report report = example_report();
  EXPECT_EQ(report.verdict.bound, "unknown");
  EXPECT_TRUE(contains(report.verdict.text, "bound by compute"));
}

TEST(ReportVerdict, WiresAndLatencyTogetherAgainstComputeAndMemory) {
  Report report = example_report();
  judge(report, {{"compute", 0.4}, {"hbm", 0.05}, {"nvlink", 0.2}, {"infiniband", 0.25}, {"latency", 0.1}});
  EXPECT_EQ(report.verdict.bound, "communication");
  EXPECT_EQ(report.verdict.resource, "infiniband");  // compute's is larger, but on the other side
  ASSERT_EQ(report.verdict.elasticities.size(), 5u);
  EXPECT_EQ(report.verdict.elasticities[3].resource, "infiniband");
  EXPECT_NEAR(report.verdict.elasticities[3].saved_by_10_percent_s, 0.25 * 12 / 11, 1e-12);
  EXPECT_TRUE(contains(report.verdict.text, "Communication-bound by infiniband, narrowly"));
  EXPECT_TRUE(contains(report.verdict.text, "10 % faster infiniband saves 273 ms of 12 s"));
  EXPECT_TRUE(contains(report.verdict.text, "16.7 % of the critical path"));  // 2 of 12 s
  EXPECT_TRUE(contains(report.warnings, "the roofline says bound by compute"));
}

TEST(ReportVerdict, ComputeBound) {
  Report report = example_report();
  judge(report, {{"compute", 0.8}, {"hbm", 0.0}, {"nvlink", 0.1}, {"infiniband", 0.0}, {"latency", 0.0}});
  EXPECT_EQ(report.verdict.bound, "compute");
  EXPECT_EQ(report.verdict.resource, "compute");
  EXPECT_TRUE(contains(report.verdict.text, "Compute-bound, by a factor of 8"));
  EXPECT_TRUE(contains(report.verdict.text, "50.0 % of the critical path computes"));
  EXPECT_FALSE(contains(report.warnings, "roofline"));
}

TEST(ReportVerdict, AnElasticityBelowZeroIsAWarning) {
  Report report = example_report();
  judge(report, {{"compute", -0.25}, {"infiniband", 0.3}, {"latency", -1e-9}});
  EXPECT_TRUE(contains(report.warnings, "a faster compute makes the step longer (elasticity -0.250)"));
  EXPECT_FALSE(contains(report.warnings, "latency"));
}

TEST(ReportVerdict, NothingMattersWhenNothingChangesTheStep) {
  Report report = example_report();
  judge(report, {{"compute", 0}, {"latency", 0}});
  EXPECT_EQ(report.verdict.bound, "unknown");
}

TEST(ReportGuardrails, AWireThatCarriesNothingCannotMatter) {
  auto e = toy::two_ranks();
  e.graph.groups[0].patterns[0].parts[0].loads = {{2, 1}};
  e.graph.groups[0].patterns[1].parts[0].loads = {{2, 1}};
  const Report report = analyse(e.graph, e.timeline, toy::names("x"), toy::facts());
  EXPECT_TRUE(contains(report.warnings, "no group crosses infiniband, so this result cannot depend on infiniband"));
  EXPECT_TRUE(contains(report.warnings, "7.5 sequences a GPU"));
}

TEST(ReportGuardrails, ClosedFormsAreNamed) {
  auto e = toy::two_ranks();
  e.graph.groups[0].patterns[0].parts = {toy::part({}, 0, 0, 0.01)};
  const Report report = analyse(e.graph, e.timeline, toy::names("x"), toy::facts());
  EXPECT_TRUE(contains(report.warnings, "closed forms"));
}

TEST(ReportGuardrails, ASoundStepHasNone) {
  EXPECT_EQ(example_report().warnings, std::vector<std::string>{"7.5 sequences a GPU"});
}

TEST(ReportGuardrails, MemoryThatOverflows) {
  const auto e = toy::two_ranks();
  StepFacts facts = toy::facts();
  facts.gpu_memory_bytes = 40e9;
  const Report report = analyse(e.graph, e.timeline, toy::names("x"), facts);
  EXPECT_TRUE(contains(report.warnings, "needs 60 GB of 40 GB, 20 GB too much; 1 of 2 GPUs"));
}

TEST(ReportGuardrails, LatencyThatDominates) {
  auto e = toy::two_ranks();
  e.graph.groups[1].patterns[0].parts[0].alpha = 10;
  const Report report = analyse(e.graph, e.timeline, toy::names("x"), toy::facts());
  EXPECT_TRUE(contains(report.warnings, "25.0 % of the critical path are transfers so small"));
}

TEST(ReportGuardrails, AStepShorterThanItsWires) {
  auto e = toy::two_ranks();
  e.graph.links[1].capacity = 5;  // 150 B take 30 s
  const Report report = analyse(e.graph, e.timeline, toy::names("x"), toy::facts());
  EXPECT_TRUE(
      contains(report.warnings, "shorter than infiniband needs for the bytes of rank 0 or of a shared link (30 s)"));
}

// Two wires that bind at the same time: either alone saves next to nothing, both together what the step takes. What was
// measured together decides, and the text says so.
TEST(ReportVerdict, ResourcesThatBindTogetherAreWeighedTogether) {
  Report report = example_report();
  judge(report, {{"compute", 0.05}, {"hbm", 0.0}, {"nvlink", 0.02}, {"infiniband", 0.01}, {"latency", 0.0}}, Together{0.05, 0.9});
  EXPECT_EQ(report.verdict.bound, "communication");
  EXPECT_EQ(report.verdict.resource, "nvlink");
  EXPECT_EQ(report.verdict.text.find("Communication-bound by several wires at once"), 0u) << report.verdict.text;
  const std::string saved = seconds_text(0.9 * report.step_time_s * (1 - 1 / 1.1));
  EXPECT_NE(report.verdict.text.find("wires and latency together save " + saved), std::string::npos) << report.verdict.text;
  judge(report, {{"compute", 0.05}, {"hbm", 0.0}, {"nvlink", 0.02}, {"infiniband", 0.01}, {"latency", 0.0}});
  EXPECT_EQ(report.verdict.bound, "compute");
}

}  // namespace stepsim::report_verdict_test
