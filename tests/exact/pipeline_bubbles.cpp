// Programs made from schedules, run by the engines with free communication: bubbles against the published formulas.
// Assumptions of all of them: stages of equal length, messages take no time, nothing else on the compute stream.
#include <gtest/gtest.h>

#include "sim/engine/engine.hpp"
#include "sim/report/report.hpp"
#include "workloads/step_parts.hpp"

namespace stepsim::pipeline_bubbles_test {
// Every stage is one block that computes for F forward, I for the input and W for the weight gradient.
StepGraph pipeline(const std::string& schedule_name, ScheduleShape shape, double f, double i, double w) {
  const ScheduleKind* kind = find_schedule(schedule_name);
  const Schedule schedule = kind->make(shape);
  ModelSpec model;
  ClusterSpec cluster;
  cluster.gpu.sms = 1;
  cluster.gpu.bf16 = FlopsPerSecond(1);
  cluster.gpu.hbm = BytesPerSecond(1);
  const auto kernel = [](double flops) {
    Kernel k;
    k.name = "work";
    k.kind = KernelClass::gemm;
    k.flops = k.model_flops = Flops(flops);
    return k;
  };
  ParallelPlan plan;
  plan.parallel.pipeline = shape.ranks;
  plan.parallel.zero = 0;
  plan.overlap.expert = Overlap::Policy::paired;
  plan.batch = {1, 1, 1};
  BlockList blocks;
  Block block;
  block.forward = {{kernel(f), Phase::forward, {}}};
  block.backward = {{kernel(i), Phase::input_gradient, {}}, {kernel(w), Phase::weight_gradient, {}}};
  blocks.kinds = {block};
  blocks.kind_of.assign(schedule.stages, 0);
  std::vector<std::vector<int>> stage_blocks;
  for (int s = 0; s < schedule.stages; ++s) stage_blocks.push_back({s});
  const std::vector<Channel> channels = channels_of(schedule);
  StepContext context{model, cluster, plan, schedule, blocks, stage_blocks, channels};
  context.copies = kind->copies;
  context.compute_sms = 1;
  auto& segments = context.segments.emplace_back();
  for (const PassKind pass :
       {PassKind::forward, PassKind::backward, PassKind::input_gradient, PassKind::weight_gradient}) {
    segments[static_cast<std::size_t>(pass)] = segments_of(blocks.kinds[0], pass, cluster.gpu, 1);
  }
  context.planned_segments = context.segments;
  StepGraph graph;
  Book book(false);
  for (int r = 0; r < shape.ranks; ++r) {
    graph.programs.push_back(make_program(context, r, book));
    Rank rank;
    rank.program = rank.original = r;
    rank.slots.assign(kFixedSlots + channels.size(), -1);
    graph.ranks.push_back(rank);
  }
  graph.labels = book.labels();
  for (std::size_t c = 0; c < channels.size(); ++c) {
    const auto slot = static_cast<std::int16_t>(kFixedSlots + c);
    Group group;
    group.name = "message";
    group.dimension = Dimension::pipeline;
    group.size = 2;
    group.endpoints = {{channels[c].from_rank, slot}, {channels[c].to_rank, slot}};
    group.patterns = {{"point_to_point", "free", {}}};
    for (const Endpoint& e : group.endpoints)
      graph.ranks[e.rank].slots[slot] = static_cast<GroupId>(graph.groups.size());
    graph.groups.push_back(std::move(group));
  }
  return graph;
}

// Bubble of the rank that has least, from the report's own split.
double bubble(const StepGraph& graph, const char* engine) {
  const Timeline t = make_engine(engine)->run(graph);
  double least = t.end;
  for (const RankRow& row : split_ranks(graph, t)) {
    least = std::min(least, row.bubble_s);
    EXPECT_EQ(row.wait_s, 0);
    EXPECT_EQ(row.exposed_communication_s, 0);
  }
  return least;
}

class Bubbles : public ::testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Engines, Bubbles, ::testing::Values("ideal", "simgrid"),
                         [](const auto& info) { return std::string(info.param); });

// (PP - 1)(F + B), for microbatches of any number.
TEST_P(Bubbles, OneForwardOneBackward) {
  for (const auto& [pp, m] : {std::pair(2, 3), std::pair(4, 8), std::pair(8, 8), std::pair(4, 2)}) {
    EXPECT_NEAR(bubble(pipeline("1f1b", {pp, 1, m}, 1, 1.25, 0.75), GetParam()), (pp - 1) * (1 + 2.0), 1e-9)
        << pp << " " << m;
  }
}

TEST_P(Bubbles, GPipe) {
  EXPECT_NEAR(bubble(pipeline("gpipe", {4, 1, 8}, 1, 1.25, 0.75), GetParam()), 3 * (1 + 2.0), 1e-9);
}

// (PP - 1)(F + B)/v with F and B of the rank's v chunks together: here each chunk takes 1 and 2, so v of them v times.
TEST_P(Bubbles, Interleaved) {
  for (const int v : {2, 3}) {
    EXPECT_NEAR(bubble(pipeline("interleaved-1f1b", {4, v, 8}, 1, 1.25, 0.75), GetParam()), 3 * (1 + 2.0), 1e-9) << v;
  }
}

// (PP/2 - 1)(F&B + B - 3W), an overlapped pair taking F + B here since there is nothing to hide, and F = I = W: the
// formula's own assumption (DualPipe's README draws equal lengths).
TEST_P(Bubbles, DualPipe) {
  for (const auto& [pp, m] : {std::pair(4, 8), std::pair(4, 20), std::pair(8, 16), std::pair(8, 40)}) {
    const double f = 1, w = 1, b = 2;
    EXPECT_NEAR(bubble(pipeline("dualpipe", {pp, 2, m}, f, b - w, w), GetParam()), (pp / 2 - 1) * (f + b + b - 3 * w),
                1e-9)
        << pp << " " << m;
  }
}

}  // namespace stepsim::pipeline_bubbles_test
