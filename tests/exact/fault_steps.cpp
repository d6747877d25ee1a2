// Faults change a shrunk DeepSeek-V3 step the way arithmetic says.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "sim/report/calls.hpp"
#include "sim/simulate.hpp"
#include "support/shipped.hpp"
#include "support/temp_file.hpp"

namespace stepsim::fault_steps_test {
Simulation simulated(const std::vector<std::string>& overrides, const std::string& scenario = "") {
  const test::TempFile file(scenario, ".yaml");
  Request request;
  request.experiment = "deepseek-v3-1f1b";
  request.home = STEPSIM_SOURCE_DIR;
  request.overrides = overrides;
  if (!scenario.empty()) request.scenario = file.path();
  Options options;
  options.elasticities = false;
  return simulate(load(request), options);
}

const std::vector<std::string> kBlocking = {"cluster.nodes=2",
                                            "model.layers=4",
                                            "plan.parallel.pipeline=1",
                                            "plan.parallel.expert=16",
                                            "plan.parallel.zero=1",
                                            "plan.batch.global_sequences=32",
                                            "plan.overlap.expert=blocking",
                                            "plan.overlap.reduce=at_end",
                                            "plan.overlap.gather_prefetch=0"};

// 16 GPUs that all meet in every all-to-all; nothing overlaps.
struct Serial {
  Simulation usual = simulated(kBlocking);
  double step = usual.report.step_time_s;
  double compute = usual.report.ranks[0].compute_s;
};

TEST(FaultSteps, NothingOverlapsInTheSerialStep) {
  const Serial s;
  ASSERT_EQ(s.usual.report.ranks.size(), 1U);
  EXPECT_GT(s.compute, 0.3 * s.step);
  EXPECT_LT(s.compute, 0.95 * s.step);
  EXPECT_NEAR(s.compute + s.usual.report.ranks[0].exposed_communication_s, s.step, 1e-9 * s.step);
}

// Every kernel of rank 5 takes 1.25 times as long, and the 15 others wait for it.
TEST(FaultSteps, AStragglerHoldsUpAll) {
  const Serial s;
  const Simulation slow = simulated(kBlocking, "stragglers: [{ranks: [5], speed: 0.8}]");
  EXPECT_NEAR(slow.report.step_time_s, s.step + 0.25 * s.compute, 1e-9 * s.step);
  int waiting = 0;
  for (const WaitRow& row : slow.report.waits) {
    if (row.wait_s < 1e-6 * s.step) continue;
    EXPECT_EQ(row.for_rank, 5);
    EXPECT_NEAR(row.wait_s, 0.25 * s.compute, 1e-6 * s.step);
    waiting += row.count;
  }
  EXPECT_EQ(waiting, 15);
}

// From the middle of the step on at half speed: what was left to compute takes twice as long.
TEST(FaultSteps, AGpuSlowsDownHalfway) {
  const Serial s;
  const Intervals computing = compute_of(s.usual.graph, s.usual.timeline, 0);
  const double left = length(intersect(computing, {{s.step / 2, s.step}}));
  ASSERT_GT(left, 0.1 * s.step);
  const Simulation slow =
      simulated(kBlocking, fmt::format("stragglers: [{{ranks: [5], speed: 0.5, from: {:.17g}s}}]", s.step / 2));
  EXPECT_NEAR(slow.report.step_time_s, s.step + left, 1e-9 * s.step);
}

// The rail of the nodes' first GPUs at an eighth. Each call takes the longer of its two tiers: by closed form the
// network's share of that rail takes eight times as long.
TEST(FaultSteps, ASlowRailStretchesEveryCallItBounds) {
  const Serial s;
  const Simulation slow =
      simulated(kBlocking, "links: [{match: \"nic0_*\", scale: 0.125}, {match: \"nic8_*\", scale: 0.125}]");
  Request request;
  request.experiment = "deepseek-v3-1f1b";
  request.home = STEPSIM_SOURCE_DIR;
  request.overrides = kBlocking;
  const Inputs in = load(request);
  std::vector<RankId> members;
  for (RankId r = 0; r < 16; ++r) members.push_back(r);
  const GroupShape shape = shape_of(in.cluster, members);
  const auto seconds = [&](const OpView& op, double between) {
    const Pattern& pattern = pattern_of(group_of(s.usual.graph, 0, op), op);
    Operation operation = Operation::all_to_all;
    for (const Algorithm& a : algorithms())
      operation = to_text(a.operation) == pattern.operation ? a.operation : operation;
    const bool routed = operation == Operation::all_to_all;
    const TokenRouting routing = routed ? TokenRouting{256, 8, 4} : TokenRouting{};
    const Wires wires{{BytesPerSecond(160e9), Seconds(3.33e-6)}, {BytesPerSecond(between), Seconds(2.8e-6)}, {}};
    double most = 0;
    for (const Term& t :
         find_algorithm(operation, pattern.algorithm)->closed_form(shape, wires, routing, op.payload_bytes)) {
      most = std::max(most, t.alpha + t.beta * op.payload_bytes);
    }
    return most;
  };
  double usual = 0, stretched = 0;
  for (const OpView op : s.usual.graph.programs[0].ops) {
    if (op.kind != OpKind::transfer) continue;
    usual += seconds(op, 50e9);
    stretched += seconds(op, 50e9 / 8);
  }
  EXPECT_NEAR(s.step, s.compute + usual, 1e-6 * s.step);
  EXPECT_GT(stretched, 1.5 * usual);
  EXPECT_NEAR(slow.report.step_time_s, s.compute + stretched, 1e-6 * s.step);
}

// --- a pipeline of two nodes, one microbatch: rank r sends to rank r + 8 and gets its gradient back. The eight GPUs of
// a stage are one tensor group and one expert group, so that there are no gradients to reduce ---

const std::vector<std::string> kTwoStages = {
    "cluster.nodes=2",        "model.layers=4",           "plan.parallel.pipeline=2",     "plan.parallel.expert=8",
    "plan.parallel.tensor=8", "plan.routing.max_nodes=0", "plan.batch.global_sequences=1"};
constexpr double kMessage = 4096.0 * 7168 * 2;  // bytes: tokens x hidden x BF16
constexpr double kNic = 50e9;

// When the first message on the wire starts and ends.
Span message_of(const Simulation& done) {
  const auto& ops = done.graph.programs[done.graph.ranks[0].program].ops;
  for (std::size_t i = 0; i < ops.size(); ++i) {
    if (ops[i].kind == OpKind::transfer &&
        pattern_of(group_of(done.graph, 0, ops[i]), ops[i]).operation == "point_to_point") {
      return done.timeline.spans[0][i];
    }
  }
  throw std::runtime_error("no message");
}

TEST(FaultSteps, TheMessageOfTheTwoStages) {
  const Span message = message_of(simulated(kTwoStages));
  EXPECT_NEAR(message.end - message.start, kMessage / kNic + 2.8e-6, 1e-9);
}

// Rank 5's card is dead: its message goes out by rank 6's, which is then busy with two, there and back. NVLink is
// faster, and its two hops' latency passes while the other message is on the card: each way takes one message more. The
// gradients' norm goes there and back between the nodes, and pays the two hops each time.
constexpr double kDetouredNorm = 2 * 2 * 3.33e-6;
TEST(FaultSteps, ADeadCardDoublesItsNeighboursLoad) {
  const Simulation usual = simulated(kTwoStages);
  const Simulation dead = simulated(kTwoStages, "links: [{match: \"nic5_*\", down_at: 0s, failover: nvlink}]");
  EXPECT_NEAR(dead.report.step_time_s - usual.report.step_time_s, 2 * kMessage / kNic + kDetouredNorm, 1e-9);
  double by_dead = 0, by_neighbour = 0;
  for (const LinkRow& row : dead.report.links) {
    if (row.name == "nic5_up") by_dead += row.bytes;
    if (row.name == "nic6_up") by_neighbour += row.bytes;
  }
  EXPECT_EQ(by_dead, 0);
  EXPECT_NEAR(by_neighbour, 2 * kMessage, 1);
}

// It dies when half of its message has passed, and nothing goes round it for a millisecond, in which the neighbour's
// message ends: the other half has rank 6's card to itself; the gradients share it.
TEST(FaultSteps, ACardDiesInTheMiddleOfAMessage) {
  const Simulation usual = simulated(kTwoStages);
  const Span message = message_of(usual);
  const double middle = message.end - kMessage / kNic / 2;
  const Simulation dead = simulated(
      kTwoStages,
      fmt::format("links: [{{match: \"nic5_*\", down_at: {:.17g}s, failover: nvlink, failover_delay: 1ms}}]", middle));
  EXPECT_NEAR(dead.report.step_time_s - usual.report.step_time_s, 1e-3 + kMessage / kNic + kDetouredNorm, 1e-9);
}

// Down for 10 ms in the middle of the message, which then goes on.
TEST(FaultSteps, ALinkIsDownForAnInterval) {
  const Simulation usual = simulated(kTwoStages);
  const Span message = message_of(usual);
  const double middle = message.end - kMessage / kNic / 2;
  const Simulation down = simulated(
      kTwoStages,
      fmt::format("links: [{{match: \"nic5_up\", down_at: {:.17g}s, up_at: {:.17g}s}}]", middle, middle + 0.01));
  EXPECT_NEAR(down.report.step_time_s - usual.report.step_time_s, 0.01, 1e-9);
}

// Without a way round, the report of what cannot finish is an error of the input.
TEST(FaultSteps, ADeadCardWithoutAWayRound) {
  try {
    simulated(kTwoStages, "links: [{match: \"nic5_*\", down_at: 0s}]");
    FAIL() << "a dead link went unnoticed";
  } catch (const InputError& e) {
    EXPECT_NE(std::string(e.what()).find("pipeline 5>13"), std::string::npos) << e.what();
    EXPECT_NE(std::string(e.what()).find("nic5_up is down from the start"), std::string::npos) << e.what();
  }
}

// What-ifs act on changed links too: with wires a thousand times as fast a step with a slow interval is the usual one.
TEST(FaultSteps, FasterWiresAreFasterWhenSlowToo) {
  Request request;
  request.experiment = "deepseek-v3-1f1b";
  request.home = STEPSIM_SOURCE_DIR;
  request.overrides = kTwoStages;
  const test::TempFile file(
      "links: [{match: \"nic*\", scale: 0.1, from: 1ms, until: 10s}, {match: \"nic*\", latency: 1ms, from: 1ms}]",
      ".yaml");
  request.scenario = file.path();
  const Inputs in = load(request);
  const ClusterSpec faster = with_faster(in.cluster, "infiniband", 1000),
                    nearer = with_faster(in.cluster, "latency", 1000);
  ASSERT_FALSE(in.cluster.bandwidth_changes.empty());
  for (const auto& [link, changes] : in.cluster.bandwidth_changes) {
    EXPECT_NEAR(faster.bandwidth_changes.at(link)[0].value, 1000 * changes[0].value, 1);
  }
  ASSERT_EQ(in.cluster.routings.size(), 1U);
  const auto [least, most] = std::minmax_element(nearer.routings[0].latency.begin(), nearer.routings[0].latency.end());
  EXPECT_NEAR(most->value, 1e-6, 1e-12);
  EXPECT_GT(least->value, 0);
}

TEST(FaultSteps, JitterRunsUnfoldedAndRepeats) {
  const std::string jitter = "jitter: {compute_sigma: 0.05, communication_sigma: 0.05, seed: 4}";
  const Simulation usual = simulated(kTwoStages), one = simulated(kTwoStages, jitter),
                   again = simulated(kTwoStages, jitter);
  EXPECT_EQ(one.report.step_time_s, again.report.step_time_s);
  EXPECT_NE(one.report.step_time_s, usual.report.step_time_s);
  EXPECT_NE(
      one.report.step_time_s,
      simulated(kTwoStages, "jitter: {compute_sigma: 0.05, communication_sigma: 0.05, seed: 5}").report.step_time_s);
  EXPECT_EQ(one.graph.ranks.size(), 16U);
  EXPECT_FALSE(one.report.engine.folded);
  EXPECT_NE(std::find(one.report.warnings.begin(), one.report.warnings.end(),
                      "per-event jitter makes every rank its own: nothing was folded"),
            one.report.warnings.end());
}

// What a scenario changes after the step's end is said not to be felt; what it changes before is felt and not spoken of.
TEST(FaultSteps, ChangesAfterTheEndAreSaid) {
  const auto said = [](const Simulation& done) {
    const std::vector<std::string>& warnings = done.report.warnings;
    return std::any_of(warnings.begin(), warnings.end(), [](const std::string& w) { return w.find("it is not felt") != std::string::npos; });
  };
  const double step = simulated(kBlocking).report.step_time_s;
  const Simulation late = simulated(kBlocking, fmt::format("stragglers: [{{ranks: [3], speed: 0.5, from: {}s}}]\n", 2 * step));
  EXPECT_EQ(late.report.step_time_s, step);
  EXPECT_TRUE(said(late));
  const Simulation half = simulated(kBlocking, fmt::format("stragglers: [{{ranks: [3], speed: 0.5, from: {}s}}]\n", step / 2));
  EXPECT_GT(half.report.step_time_s, step);
  EXPECT_FALSE(said(half));
}

}  // namespace stepsim::fault_steps_test
