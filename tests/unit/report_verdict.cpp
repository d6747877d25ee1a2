// The verdict and the warnings.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/report_example.hpp"

namespace stepsim {
namespace {

using ::testing::Contains;
using testing::example_report;
using ::testing::HasSubstr;
using ::testing::Not;

TEST(ReportVerdict, IsUnknownUntilElasticitiesAreMeasured) {
  const Report report = example_report();
  EXPECT_EQ(report.verdict.bound, "unknown");
  EXPECT_THAT(report.verdict.text, HasSubstr("bound by compute"));
}

TEST(ReportVerdict, WiresAndLatencyTogetherAgainstComputeAndMemory) {
  Report report = example_report();
  judge(report, {{"compute", 0.4}, {"hbm", 0.05}, {"nvlink", 0.2}, {"infiniband", 0.25}, {"latency", 0.1}});
  EXPECT_EQ(report.verdict.bound, "communication");
  EXPECT_EQ(report.verdict.resource, "infiniband");  // compute's is larger, but on the other side
  ASSERT_EQ(report.verdict.elasticities.size(), 5u);
  EXPECT_EQ(report.verdict.elasticities[3].resource, "infiniband");
  EXPECT_NEAR(report.verdict.elasticities[3].saved_by_10_percent_s, 0.25 * 12 / 11, 1e-12);
  EXPECT_THAT(report.verdict.text, HasSubstr("Communication-bound by infiniband, narrowly"));
  EXPECT_THAT(report.verdict.text, HasSubstr("10 % faster infiniband saves 273 ms of 12 s"));
  EXPECT_THAT(report.verdict.text, HasSubstr("16.7 % of the critical path"));  // 2 of 12 s
  EXPECT_THAT(report.warnings, Contains(HasSubstr("the roofline says bound by compute")));
}

TEST(ReportVerdict, ComputeBound) {
  Report report = example_report();
  judge(report, {{"compute", 0.8}, {"hbm", 0.0}, {"nvlink", 0.1}, {"infiniband", 0.0}, {"latency", 0.0}});
  EXPECT_EQ(report.verdict.bound, "compute");
  EXPECT_EQ(report.verdict.resource, "compute");
  EXPECT_THAT(report.verdict.text, HasSubstr("Compute-bound, by a factor of 8"));
  EXPECT_THAT(report.verdict.text, HasSubstr("50.0 % of the critical path computes"));
  EXPECT_THAT(report.warnings, Not(Contains(HasSubstr("roofline"))));
}

TEST(ReportVerdict, AnElasticityBelowZeroIsAWarning) {
  Report report = example_report();
  judge(report, {{"compute", -0.25}, {"infiniband", 0.3}, {"latency", -1e-9}});
  EXPECT_THAT(report.warnings, Contains(HasSubstr("a faster compute makes the step longer (elasticity -0.250)")));
  EXPECT_THAT(report.warnings, Not(Contains(HasSubstr("latency"))));
}

TEST(ReportVerdict, NothingMattersWhenNothingChangesTheStep) {
  Report report = example_report();
  judge(report, {{"compute", 0}, {"latency", 0}});
  EXPECT_EQ(report.verdict.bound, "unknown");
}

TEST(ReportGuardrails, AWireThatCarriesNothingCannotMatter) {
  auto e = testing::two_ranks();
  e.graph.groups[0].patterns[0].parts[0].loads = {{2, 1}};
  e.graph.groups[0].patterns[1].parts[0].loads = {{2, 1}};
  const Report report = analyse(e.graph, e.timeline, testing::names("x"), testing::facts());
  EXPECT_THAT(report.warnings, Contains("no group crosses infiniband, so this result cannot depend on infiniband"));
  EXPECT_THAT(report.warnings, Contains("7.5 sequences a GPU"));
}

TEST(ReportGuardrails, ClosedFormsAreNamed) {
  auto e = testing::two_ranks();
  e.graph.groups[0].patterns[0].parts = {testing::part({}, 0, 0, 0.01)};
  const Report report = analyse(e.graph, e.timeline, testing::names("x"), testing::facts());
  EXPECT_THAT(report.warnings, Contains(HasSubstr("closed forms")));
}

TEST(ReportGuardrails, ASoundStepHasNone) {
  EXPECT_EQ(example_report().warnings, std::vector<std::string>{"7.5 sequences a GPU"});
}

TEST(ReportGuardrails, MemoryThatOverflows) {
  const auto e = testing::two_ranks();
  StepFacts facts = testing::facts();
  facts.gpu_memory_bytes = 40e9;
  const Report report = analyse(e.graph, e.timeline, testing::names("x"), facts);
  EXPECT_THAT(report.warnings, Contains(HasSubstr("needs 60 GB of 40 GB, 20 GB too much; 1 of 2 GPUs")));
}

TEST(ReportGuardrails, LatencyThatDominates) {
  auto e = testing::two_ranks();
  e.graph.groups[1].patterns[0].parts[0].alpha = 10;
  const Report report = analyse(e.graph, e.timeline, testing::names("x"), testing::facts());
  EXPECT_THAT(report.warnings, Contains(HasSubstr("25.0 % of the critical path are transfers so small")));
}

TEST(ReportGuardrails, AStepShorterThanItsWires) {
  auto e = testing::two_ranks();
  e.graph.links[1].capacity = 5;  // 150 B take 30 s
  const Report report = analyse(e.graph, e.timeline, testing::names("x"), testing::facts());
  EXPECT_THAT(report.warnings, Contains(HasSubstr("shorter than infiniband needs for rank 0's bytes alone (30 s)")));
}

}  // namespace
}  // namespace stepsim
