// Memory in reports: the timeline against counts by hand and against the peaks, the outline against the built step, and
// changes that make a plan fit against what they do.
#include <gtest/gtest.h>

#include <algorithm>

#include "sim/memory_report.hpp"
#include "sim/report/derived.hpp"
#include "sim/report/guardrails.hpp"
#include "sim/simulate.hpp"
#include "support/contains.hpp"
#include "support/shipped.hpp"
#include "workloads/fit.hpp"
#include "workloads/step.hpp"

namespace stepsim::memory_reports_test {
using testing::shipped;
using Points = std::vector<std::pair<double, double>>;

// --- the timeline ---

Op compute(double seconds, Phase phase, int microbatch, std::int16_t chunk = 0) {
  Op op;
  op.seconds = seconds;
  op.tags.phase = phase;
  op.tags.chunk = chunk;
  op.tags.microbatch = microbatch;
  return op;
}

// One rank; ops one after another.
struct OneRank {
  StepGraph graph;
  Timeline timeline;
  void add(const Op& op) {
    graph.programs[0].ops.push_back(op);
    timeline.spans[0].push_back({timeline.end, timeline.end, timeline.end + op.seconds});
    timeline.end += op.seconds;
  }
  OneRank() {
    graph.programs.resize(1);
    graph.ranks.resize(1);
    timeline.spans.resize(1);
  }
};

ChunkActivations chunk(double kept, double for_weight, double transient) {
  ChunkActivations a;
  a.kept = Bytes(kept);
  a.weight_grad_kept = Bytes(for_weight);
  a.transient = Bytes(transient);
  return a;
}

TEST(MemoryTimeline, ForwardAndBackward) {
  OneRank one;
  one.add(compute(1, Phase::forward, 0));
  one.add(compute(1, Phase::forward, 1));
  one.add(compute(1, Phase::input_gradient, 0));
  one.add(compute(1, Phase::weight_gradient, 0));
  one.add(compute(2, Phase::recompute, 1));
  one.add(compute(1, Phase::weight_gradient, 1));
  one.add(compute(3, Phase::optimizer, -1));
  const PassMemory memory{
      1000,
      {chunk(100, 30, 7)},
      {{PassKind::forward, 0}, {PassKind::forward, 1}, {PassKind::backward, 0}, {PassKind::backward, 1}}};
  const auto lines = memory_timeline(one.graph, one.timeline, {memory});
  ASSERT_EQ(lines.size(), 1U);
  EXPECT_EQ(lines[0].points, (Points{{0, 1107}, {1, 1207}, {2, 1207}, {4, 1107}, {7, 1000}, {10, 1000}}));
}

TEST(MemoryTimeline, SplitBackwardFreesInTwoSteps) {
  OneRank one;
  one.add(compute(1, Phase::forward, 0));
  one.add(compute(1, Phase::input_gradient, 0));
  one.add(compute(1, Phase::weight_gradient, 0));
  const PassMemory memory{
      0, {chunk(100, 30, 7)}, {{PassKind::forward, 0}, {PassKind::input_gradient, 0}, {PassKind::weight_gradient, 0}}};
  EXPECT_EQ(memory_timeline(one.graph, one.timeline, {memory})[0].points,
            (Points{{0, 107}, {1, 107}, {2, 30}, {3, 0}}));
}

TEST(MemoryTimeline, ThinnedKeepsTheHighestAndTheLowest) {
  OneRank one;
  PassMemory memory{5, {chunk(100, 0, 0), chunk(777, 0, 0)}, {}};
  for (int m = 0; m < 2000; ++m) {
    const std::int16_t c = m == 1234 ? 1 : 0;
    one.add(compute(1, Phase::forward, m, c));
    one.add(compute(1, Phase::weight_gradient, m, c));
    memory.order.push_back({PassKind::forward, m, c, false});
    memory.order.push_back({PassKind::backward, m, c, false});
  }
  const auto line = memory_timeline(one.graph, one.timeline, {memory}, 100)[0];
  EXPECT_LE(line.points.size(), 100U);
  EXPECT_GT(line.points.size(), 50U);
  double highest = 0;
  for (std::size_t i = 0; i < line.points.size(); ++i) {
    highest = std::max(highest, line.points[i].second);
    if (i > 0) {
      EXPECT_GE(line.points[i].first, line.points[i - 1].first);
    }
  }
  EXPECT_EQ(highest, 782);
  EXPECT_EQ(line.points.front(), (std::pair{0.0, 105.0}));
  EXPECT_EQ(line.points.back(), (std::pair{4000.0, 5.0}));
}

// A small DeepSeek-V3 on 64 GPUs: fewer layers, narrow experts.
std::vector<std::string> small(std::vector<std::string> more = {}) {
  std::vector<std::string> sets{"cluster.nodes=8",         "model.layers=13",
                                "model.experts.ffn=256",   "plan.parallel.pipeline=4",
                                "plan.parallel.expert=16", "plan.batch.global_sequences=256",
                                "plan.stage_layers=auto"};
  sets.insert(sets.end(), more.begin(), more.end());
  return sets;
}

TEST(MemoryTimeline, ReachesThePeaks) {
  for (const char* schedule : {"1f1b", "zb-h1", "gpipe", "dualpipe"}) {
    const Inputs in =
        shipped("deepseek-v3-dualpipe", small({std::string("plan.schedule=") + schedule, "plan.overlap.expert=async"}));
    Options options;
    options.elasticities = false;
    const Report report = simulate(in, options).report;
    ASSERT_EQ(report.memory_timeline.size(), 4U);
    for (const MemoryTimeline& line : report.memory_timeline) {
      double highest = 0;
      for (const auto& [time, bytes] : line.points) highest = std::max(highest, bytes);
      const auto row =
          std::find_if(report.ranks.begin(), report.ranks.end(), [&](const RankRow& r) { return r.rank == line.rank; });
      ASSERT_NE(row, report.ranks.end());
      EXPECT_NEAR(highest / row->peak_memory_bytes, 1, 1e-9) << schedule << " stage " << line.stage;
      EXPECT_EQ(line.points.back().first, report.step_time_s);
    }
  }
}

// --- the outline ---

TEST(Outline, HasTheMemoryOfTheStep) {
  for (const char* name : {"deepseek-v3-dualpipe", "deepseek-v3-zero3-ep64"}) {
    const Inputs in = shipped(name);
    EXPECT_EQ(outline_step(in.model, in.cluster, in.plan).memory,
              make_step(in.model, in.cluster, in.plan, Detail::formula).memory);
  }
}

TEST(Outline, ParameterTrafficByHand) {
  // 1F1B, ZeRO-1: a gather after the optimizer. Zero 3, flat: see FACTS of the study: 26.736 s a gather of all
  // parameters.
  const Inputs in = shipped("deepseek-v3-zero3-flat");
  const StepOutline outline = outline_step(in.model, in.cluster, in.plan);
  const double one = 2 * 671'026'419'200.0 * (2048 - 8) / 2048 / 50e9;
  const double microbatches = outline.schedule.microbatches;
  EXPECT_NEAR(outline.gathers.value / (2 * microbatches * one), 1, 1e-3);  // the latency
  EXPECT_NEAR(outline.reduces.value / (microbatches * one * bytes_per_element(in.plan.precision.reduce) / 2), 1, 1e-3);
  EXPECT_GT(outline.gathers + outline.reduces, outline.passes);
  EXPECT_EQ(outline.estimate(), outline.gathers + outline.reduces);
}

// --- what is needed beside ---

TEST(Reserve, CommunicatorsOfAPlan) {
  const Inputs in = shipped("deepseek-v3-dualpipe");
  const MemoryUse use;
  // Pipeline, expert, data, expert data; no tensor, context or expert-tensor groups.
  EXPECT_EQ(reserved_memory(in.model, in.plan, use).count, 4);
  const Inputs changed =
      shipped("deepseek-v3-dualpipe", {"plan.memory={context: 1GB, communicator: 100MB, fragmentation: 0.5}"});
  MemoryUse active;
  active.activations = Bytes(4e9);
  active.transient = Bytes(1e9);
  active.logits = Bytes(2e9);
  active.unsharded = Bytes(3e9);
  active.weights = Bytes(9e9);
  const ReservedMemory reserved = reserved_memory(changed.model, changed.plan, active);
  EXPECT_EQ(reserved.context.value, 1e9);
  EXPECT_EQ(reserved.communicators.value, 4e8);
  EXPECT_EQ(reserved.fragmentation.value, 5e9);
}

TEST(Reserve, WarnsWhereItHasNoRoom) {
  const Report roomy = memory_report(shipped("deepseek-v3-dualpipe"));
  EXPECT_TRUE(memory_guardrails(roomy).empty());
  const Report tight = memory_report(shipped("deepseek-v3-dualpipe", {"plan.memory.context=20GB"}));
  EXPECT_TRUE(contains(memory_guardrails(tight), "need about"));
  EXPECT_EQ(fullest_rank(tight)->peak_memory_bytes, fullest_rank(roomy)->peak_memory_bytes);
}

// --- changes that make a plan fit ---

void expect_they_fit(const std::string& experiment, const std::vector<std::string>& own) {
  const Inputs in = shipped(experiment, own);
  const std::vector<FittingChange> changes = fitting_changes(in.model, in.cluster, in.plan);
  ASSERT_FALSE(changes.empty()) << experiment;
  for (std::size_t i = 0; i < changes.size(); ++i) {
    std::vector<std::string> sets = own;
    sets.insert(sets.end(), changes[i].sets.begin(), changes[i].sets.end());
    const Inputs changed = shipped(experiment, sets);
    Bytes peak;
    for (const MemoryUse& use : outline_step(changed.model, changed.cluster, changed.plan).memory)
      peak = std::max(peak, use.total());
    EXPECT_EQ(peak, changes[i].peak) << changes[i].sets[0];
    EXPECT_LE(peak, in.cluster.gpu.memory);
    if (i > 0) {
      EXPECT_GE(changes[i].slower, changes[i - 1].slower);
    }
  }
}

TEST(Fitting, ChangesDoWhatTheySay) {
  expect_they_fit("deepseek-v3-zero3-flat", {});
  expect_they_fit("deepseek-v3-1f1b", {"plan.recompute=none", "plan.precision.activations=bf16"});
}

TEST(Fitting, NothingHelpsAModelThatIsFarTooLarge) {
  const Inputs in =
      shipped("deepseek-v3-dualpipe", small({"cluster.nodes=2", "model.hidden=71680", "plan.parallel.pipeline=2",
                                             "plan.parallel.expert=8", "plan.batch.global_sequences=64"}));
  EXPECT_TRUE(fitting_changes(in.model, in.cluster, in.plan).empty());
}

TEST(Fitting, OnlyPlansThatDoNotFitAreAnswered) {
  EXPECT_TRUE(memory_report(shipped("deepseek-v3-dualpipe")).fitting_changes.empty());
}

}  // namespace stepsim::memory_reports_test
