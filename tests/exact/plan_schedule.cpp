// plan.schedule: a name, a file, or automatic: the same passes give the same step, and automatic never a longer one.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <utility>

#include "sim/engine/engine.hpp"
#include "sim/graph/fold.hpp"
#include "sim/simulate.hpp"
#include "support/temp_file.hpp"
#include "workloads/plan_schedule.hpp"
#include "workloads/schedule_csv.hpp"
#include "workloads/schedules/schedules.hpp"

namespace stepsim::plan_schedule_test {
// Sixteen equal layers and next to no embedding on 4 pipeline ranks of one node; 8 microbatches.
std::vector<std::string> small(const std::string& schedule, std::vector<std::string> more = {}) {
  std::vector<std::string> sets = {"cluster.nodes=1",
                                   "model.layers=16",
                                   "model.hidden=1024",
                                   "model.ffn=4096",
                                   "model.vocabulary=64",
                                   "model.heads=8",
                                   "model.kv_heads=8",
                                   "plan.parallel.expert=1",
                                   "plan.routing.max_nodes=0",
                                   "plan.parallel.pipeline=4",
                                   "plan.batch.global_sequences=16",
                                   "plan.batch.sequence_length=4096",
                                   "plan.recompute=none",
                                   "plan.collectives={}",
                                   "plan.parallel.zero=0",
                                   "plan.overlap.expert=async",
                                   "plan.schedule=" + schedule};
  sets.insert(sets.end(), more.begin(), more.end());
  return sets;
}

Inputs inputs(std::vector<std::string> sets) {
  Request request;
  request.model = "llama-3.1-405b";
  request.cluster = "h800-256x8";
  request.plan = "deepseek-v3-1f1b";
  request.overrides = std::move(sets);
  request.home = STEPSIM_SOURCE_DIR;
  return load(request);
}

Step step_of(const Inputs& in) {
  return make_step(in.model, in.cluster, in.plan, Detail::aggregate);
}

double step_time(const Inputs& in) {
  return make_engine("ideal")->run(fold(step_of(in).graph).graph).end;
}

Inputs with_free_wires(Inputs in) {
  const std::vector<std::string> tiers = in.cluster.tiers;
  for (const std::string& tier : tiers) in.cluster = with_faster(in.cluster, tier, 1e9);
  in.cluster = with_faster(in.cluster, "latency", 1e9);
  return in;
}

double peak(const Step& step) {
  double most = 0;
  for (const MemoryUse& use : step.memory) most = std::max(most, use.total().value);
  return most;
}

TEST(PlanSchedule, FileEqualsName) {
  for (const char* name : {"gpipe", "1f1b", "breadth-first", "zb-h1", "zb-v", "zb-v-half", "dualpipe", "dualpipev"}) {
    const Inputs named = inputs(small(name));
    const Step step = step_of(named);
    const test::TempFile file(schedule_to_csv(step.schedule), ".csv");
    const Inputs read = inputs(small(file.path()));
    EXPECT_EQ(step_of(read).schedule, step.schedule) << name;
    EXPECT_EQ(step_time(read), step_time(named)) << name;
    EXPECT_EQ(step_of(read).memory, step.memory) << name;
  }
}

TEST(PlanSchedule, FileWithSeveralStagesARank) {
  const Inputs named = inputs(small("interleaved-1f1b", {"plan.parallel.virtual_stages=2"}));
  const test::TempFile file(schedule_to_csv(step_of(named).schedule), ".csv");
  EXPECT_EQ(step_time(inputs(small(file.path()))), step_time(named));
}

// At the memory of a GPU, and at such a one that leaves only some of the named ones.
TEST(PlanSchedule, AutomaticIsNeverWorseThanANamedOneThatFits) {
  const double of_1f1b = peak(step_of(inputs(small("1f1b"))));
  for (const double memory : {0.8 * of_1f1b, 1.02 * of_1f1b, 1.3 * of_1f1b, 80e9}) {
    Inputs automatic = with_free_wires(inputs(small("automatic")));
    automatic.cluster.gpu.memory = Bytes(memory);
    const double found = step_time(automatic);
    int named_ones = 0;
    for (const ScheduleKind& kind : schedules()) {
      if (kind.copies != 1 || !kind.refuses({4, 1, 8}).empty()) continue;
      const Inputs named = with_free_wires(inputs(small(std::string(kind.name))));
      if (peak(step_of(named)) > memory) continue;
      ++named_ones;
      EXPECT_LE(found, step_time(named) * 1.0001) << kind.name << " at " << memory;  // the optimizer's share may differ
    }
    EXPECT_TRUE(named_ones == 0 || peak(step_of(automatic)) <= memory) << memory;
  }
}

// With all wires a thousand times as fast another order may be best; but the order is that of the planned cluster.
TEST(PlanSchedule, AutomaticStaysInWhatIfs) {
  const Inputs in = inputs(small("automatic"));
  const Step planned = step_of(in), again = step_of(in);
  EXPECT_EQ(again.schedule, planned.schedule);
  ClusterSpec other = with_faster(in.cluster, "compute", 50);
  EXPECT_EQ(make_step(in.model, other, in.plan, Detail::aggregate, &in.cluster).schedule, planned.schedule);
  EXPECT_FALSE(is_automatic([&] {
    ParallelPlan p = in.plan;
    p.passes = planned.schedule;
    return p;
  }()));
}

TEST(PlanSchedule, AutomaticTakesStageLayers) {
  const Inputs in = inputs(small("automatic", {"plan.stage_layers=[3, 5, 5, 3]"}));
  const Step step = step_of(in);
  EXPECT_EQ(step.schedule.stages, 4);
  EXPECT_EQ(step.stage_blocks[1], (std::vector<int>{4, 5, 6, 7, 8}));  // after the embedding and 3 layers
}

// Without wires or collectives a stage's planned passes are what its kernels take: all layers alike, so in proportion.
TEST(PlanSchedule, PlannedTimes) {
  const Inputs in = inputs(small("1f1b", {"plan.stage_layers=[4, 3, 6, 3]"}));
  const PassTimes times = step_of(in).planned;
  ASSERT_EQ(times.stages.size(), 4u);
  EXPECT_NEAR(times.stages[2].forward / times.stages[1].forward, 2, 1e-12);
  EXPECT_NEAR(times.stages[2].input_gradient / times.stages[1].input_gradient, 2, 1e-12);
  EXPECT_NEAR(times.stages[2].weight_gradient / times.stages[1].weight_gradient, 2, 1e-12);
}

// Any placement of 8 stages on 4 ranks, and any order that never waits in a circle.
std::string random_csv() {
  constexpr int ranks = 4, stages = 8, microbatches = 8;
  Schedule s = looped_schedule(ranks, 0, microbatches);
  s.stages = stages;
  for (int stage = 0; stage < stages; ++stage) {
    const int rank = stage < ranks ? stage : *rc::gen::inRange(0, ranks);
    s.placement[rank].push_back(stage);
    s.direction[rank].push_back(0);
  }
  std::vector<std::array<int, 2>> done(microbatches, {0, 0});  // forward passes, backward passes
  std::vector<int> open(microbatches);
  std::iota(open.begin(), open.end(), 0);
  while (!open.empty()) {
    const int m = open[*rc::gen::inRange<std::size_t>(0, open.size())];
    const bool forward = done[m][0] < stages;
    const int stage = forward ? done[m][0]++ : stages - 1 - done[m][1]++;
    const Schedule::Place at = s.place_of(stage, 0);
    s.order[at.rank].push_back({forward ? PassKind::forward : PassKind::backward, m, at.chunk, false});
    if (done[m][1] == stages) open.erase(std::find(open.begin(), open.end(), m));
  }
  return schedule_to_csv(s);
}

TEST(PlanSchedule, WhatIsNotRefusedRuns) {
  EXPECT_TRUE(rc::check("any order without a circle of waiting runs to its end", [] {
    const test::TempFile file(random_csv(), ".csv");
    const std::string policy = *rc::gen::element<std::string>("async", "blocking");
    const Inputs in = inputs(small(file.path(), {"plan.overlap.pipeline=" + policy}));
    const Step step = step_of(in);
    RC_ASSERT(problems_of(step.schedule).empty());
    RC_ASSERT(make_engine("ideal")->run(fold(step.graph).graph).end >=
              times_of(step.schedule, step.planned).busy[0].value);
  }));
}

std::string refusal(const std::string& schedule, std::vector<std::string> more = {}) {
  try {
    inputs(small(schedule, std::move(more)));
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

std::string csv(const char* name, ScheduleShape shape) {
  return schedule_to_csv(find_schedule(name)->make(shape));
}

void expect_refusal(const std::string& text, const std::string& wanted, std::vector<std::string> more = {}) {
  const test::TempFile file(text, ".csv");
  std::string said = refusal(file.path(), std::move(more));
  for (std::size_t at; (at = said.find(file.path())) != std::string::npos;)
    said.replace(at, file.path().size(), "own.csv");
  EXPECT_NE(said.find(wanted), std::string::npos) << said;
}

TEST(PlanSchedule, RefusesFilesOfAnotherShape) {
  expect_refusal(csv("1f1b", {2, 1, 8}), "own.csv has passes of 2 pipeline ranks (rows), but parallel.pipeline is 4");
  expect_refusal(csv("1f1b", {4, 1, 6}),
                 "own.csv has 6 microbatches, but the batch makes 8 for each data-parallel rank");
  expect_refusal(csv("zb-v", {4, 2, 8}),
                 "parallel.virtual_stages: 3 stages a rank given, but own.csv has 8 stages on 4 ranks",
                 {"plan.parallel.virtual_stages=3"});
  expect_refusal(csv("1f1b", {4, 1, 8}), "overlap.expert: paired needs a schedule with overlapped pairs",
                 {"plan.overlap.expert=paired"});
  expect_refusal(csv("zb-v", {4, 2, 8}), "stage_layers: has 4 numbers; the schedule has 8 stages",
                 {"plan.stage_layers=[4, 4, 4, 4]"});
  EXPECT_NE(refusal("nowhere.csv").find("plan.schedule: there is no file nowhere.csv"), std::string::npos);
}

TEST(PlanSchedule, RefusesWrongPassesWithTheirLine) {
  expect_refusal("0F0,0B0\n1F0,1Q0\n", "own.csv:2: \"1Q0\" is no action");
  expect_refusal("0F0,0B0\n1F0\n", "own.csv:2: rank 1: B (or I) of microbatch 0 at stage 1 is missing");
  expect_refusal("0F0,0B0\n1F0,1B0,1F0\n", "own.csv:2: rank 1, pass 2: F of microbatch 0 at stage 1 repeats");
  expect_refusal("0F0,0B0,0F1,0B1\n1F1,1B1,1F0,1B0\n", "own.csv:1: deadlock: rank 0 cannot start B of microbatch 0");
}

// Two copies of a stage on ranks that are not each other's mirror could not be reduced together.
TEST(PlanSchedule, RefusesCopiesThatDoNotMirror) {
  expect_refusal("0F0,1F0,1B0,0B0\n2F0,3F0,3B0,2B0\n2rF1,3rF1,3rB1,2rB1\n0rF1,1rF1,1rB1,0rB1\n", "has 2 microbatches");
  expect_refusal(csv("dualpipe", {4, 2, 8}), "parallel.zero: 3 gathers", {"plan.parallel.zero=3"});
  const std::string said = "ranks 0 and 3 must hold the same stages";
  expect_refusal("0F0,1F0,1B0,0B0\n2F0,3F0,3B0,2B0\n0rF1,1rF1,1rB1,0rB1\n2rF1,3rF1,3rB1,2rB1\n", said);
}

TEST(PlanSchedule, RefusesAutomaticWhereItCannot) {
  EXPECT_NE(refusal("automatic", {"plan.stage_layers=[2, 2, 2, 2, 2, 2, 2, 2]"}).find("automatic takes one for each"),
            std::string::npos);
  EXPECT_NE(refusal("automatic", {"plan.overlap.expert=paired"}).find("automatic has none"), std::string::npos);
  EXPECT_NE(refusal("automatic", {"plan.batch.global_sequences=200000"}).find("automatic looks through"),
            std::string::npos);
  EXPECT_NE(refusal("automatik").find("did you mean automatic?"), std::string::npos);
}

// DualPipe's code sends both results of a pair when both passes have ended: the messages wait for the same last kernel, the
// later pass's.
TEST(Pairs, SendTogether) {
  const Step step = step_of(inputs(small("dualpipe", {"plan.overlap.expert=paired"})));
  int pairs = 0;
  for (std::size_t r = 0; r < step.graph.ranks.size(); ++r) {
    const auto& ops = step.graph.programs[step.graph.ranks[r].program].ops;
    std::map<std::pair<Phase, int>, std::int32_t> last;  // kernel that a message waits for, by direction and microbatch
    for (std::size_t i = 0; i < ops.size(); ++i) {
      const OpView op = ops[i];
      if (op.kind != OpKind::transfer || op.tags.dimension != Dimension::pipeline || op.after.empty()) continue;
      last[{op.tags.phase, op.tags.microbatch}] = *std::max_element(op.after.begin(), op.after.end());
    }
    const auto& order = step.schedule.order[step.pipeline_rank[r]];
    for (std::size_t i = 0; i + 1 < order.size(); ++i) {
      if (!order[i].paired_with_next) continue;
      const auto sent = [&](const Pass& pass) {
        return last.find({pass.kind == PassKind::forward ? Phase::forward : Phase::backward, pass.microbatch});
      };
      const auto first = sent(order[i]), second = sent(order[i + 1]);
      if (first == last.end() || second == last.end()) continue;  // the pipeline's ends send one way only
      ++pairs;
      EXPECT_EQ(first->second, second->second) << "rank " << r << ", pass " << i;
    }
  }
  EXPECT_GT(pairs, 10);
}

}  // namespace stepsim::plan_schedule_test
