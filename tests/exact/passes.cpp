// What runs when: by hand, and against what schedules' formulas say.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "sim/report/report.hpp"
#include "sim/simulate.hpp"
#include "support/shipped.hpp"

namespace stepsim::passes_test {

struct OneStage {
  StepGraph graph;
  Timeline timeline;

  OneStage() {
    graph.programs.resize(1);
    graph.programs[0].streams.resize(1);
    graph.ranks.resize(1);
    timeline.spans.resize(1);
  }
  void compute(Phase phase, int microbatch, double start, double end) {
    Op op;
    op.seconds = end - start;
    op.tags.phase = phase;
    op.tags.chunk = microbatch < 0 ? -1 : 0;
    op.tags.microbatch = microbatch;
    graph.programs[0].ops.push_back(op);
    timeline.spans[0].push_back({start, start, end});
    timeline.end = std::max(timeline.end, end);
  }
};

TEST(Passes, AreCutAtTheirKernels) {
  OneStage stage;
  stage.compute(Phase::forward, 0, 1, 2);
  stage.compute(Phase::forward, 0, 4, 5);  // 2 s of communication in between
  stage.compute(Phase::forward, 1, 6, 7);  // a pair with the backward pass of 0
  stage.compute(Phase::recompute, 0, 7, 8);
  stage.compute(Phase::forward, 1, 8, 9);
  stage.compute(Phase::backward, 0, 9, 11);
  stage.compute(Phase::input_gradient, 1, 14, 16);
  stage.compute(Phase::weight_gradient, 1, 16, 17);
  stage.compute(Phase::optimizer, -1, 19, 23);
  const std::vector<Pass> order{{PassKind::forward, 0, 0},
                                {PassKind::forward, 1, 0, true},
                                {PassKind::backward, 0, 0},
                                {PassKind::input_gradient, 1, 0},
                                {PassKind::weight_gradient, 1, 0}};
  const auto rows = pass_rows(stage.graph, stage.timeline, {{0, {}, order}});
  ASSERT_EQ(rows.size(), 1U);
  EXPECT_EQ(rows[0].forward, (PassShare{1, 4}));
  EXPECT_EQ(rows[0].pair, (PassShare{1, 5}));
  EXPECT_EQ(rows[0].input_gradient, (PassShare{1, 2}));
  EXPECT_EQ(rows[0].weight_gradient, (PassShare{1, 1}));
  EXPECT_EQ(rows[0].backward, PassShare{});
  EXPECT_EQ(rows[0].optimizer_s, 4);
  EXPECT_EQ(rows[0].bubble_s, 1 + 1 + 3 + 2);  // before 1; 5 to 6; 11 to 14; 17 to 19
}

Report run(const char* schedule, std::vector<std::string> more = {}) {
  std::vector<std::string> sets{"cluster.nodes=8",          "model.layers=13",       "model.experts.ffn=256",
                                "plan.parallel.pipeline=4", "plan.parallel.expert=16", "plan.batch.global_sequences=256",
                                "plan.stage_layers=auto",   std::string("plan.schedule=") + schedule};
  sets.insert(sets.end(), more.begin(), more.end());
  Options options;
  options.elasticities = false;
  return simulate(testing::shipped("deepseek-v3-dualpipe", sets), options).report;
}

double sum(const PassRow& row) {
  double seconds = row.optimizer_s + row.bubble_s;
  for (const PassShare& share : {row.forward, row.backward, row.input_gradient, row.weight_gradient, row.pair}) seconds += share.seconds;
  return seconds;
}

// 64 GPUs, PP 4, one sequence a microbatch: 16 microbatches. Each is forward and backward once on each stage, and what
// stages do sums to the step.
TEST(Passes, SumToTheStep) {
  for (const char* schedule : {"gpipe", "1f1b", "zb-h1", "dualpipe"}) {
    std::vector<std::string> sets;
    if (std::string(schedule) != "dualpipe") sets.emplace_back("plan.overlap.expert=async");
    const Report report = run(schedule, sets);
    ASSERT_EQ(report.passes.size(), 4U);
    for (const PassRow& row : report.passes) {
      EXPECT_NEAR(sum(row) / report.step_time_s, 1, 1e-9) << schedule << " stage " << row.stage;
      EXPECT_EQ(row.forward.count + row.pair.count, 16) << schedule;
      EXPECT_EQ(row.backward.count + row.input_gradient.count + row.pair.count, 16) << schedule;
      EXPECT_GE(row.bubble_s, 0);
    }
  }
}

// DualPipe on H pairs of ranks: N - 2 PP + H + r + 1 overlapped pairs on the r-th from the outside (its phases: twice
// N/2 - PP + r + 1, and H - r - 1), but that the two in the middle run their first one apart.
TEST(Passes, DualPipesPairs) {
  for (const PassRow& row : run("dualpipe").passes) {
    const int r = std::min(row.stage, 3 - row.stage);
    EXPECT_EQ(row.pair.count, 16 - 8 + 2 + r + 1 - (r == 1)) << "stage " << row.stage;
    EXPECT_EQ(row.forward.count, 16 - row.pair.count);
  }
}

// 1F1B where communication is free: the bubble is (PP - 1)(F + B) of the slowest stage.
TEST(Passes, BubbleOfOneForwardOneBackward) {
  const Report report = run("1f1b", {"model.layers=12", "model.experts.dense_layers=0", "plan.stage_layers=[3,3,3,3]", "plan.overlap.expert=async",
                                     "cluster.port_bandwidth.infiniband=1000TBps", "cluster.port_bandwidth.nvlink=1000TBps"});
  const auto slowest = std::max_element(report.passes.begin(), report.passes.end(), [](const PassRow& a, const PassRow& b) {
    return a.forward.seconds + a.backward.seconds < b.forward.seconds + b.backward.seconds;
  });
  double per_pass = 0;  // F + B of the other stages, which the first microbatch runs through
  for (const PassRow& row : report.passes) {
    if (row.stage != slowest->stage) per_pass += (row.forward.seconds + row.backward.seconds) / 16;
  }
  EXPECT_NEAR(slowest->bubble_s / per_pass, 1, 0.02);
}

}  // namespace stepsim::passes_test
