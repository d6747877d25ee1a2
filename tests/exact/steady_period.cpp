// Steps in a row: against arithmetic, and what a pipeline without a common wait reaches.
#include <gtest/gtest.h>

#include <algorithm>

#include "sim/engine/child.hpp"
#include "sim/engine/engine.hpp"
#include "sim/graph/repeat.hpp"
#include "sim/simulate.hpp"
#include "tests/support/shipped.hpp"
#include "tests/support/small_graphs.hpp"

namespace stepsim::steady_period_test {
using namespace testing;

// Rank 0 computes 1 s and sends 1 GB over 1 GB/s; rank 1 then computes 2 s. With `barrier` both then meet for nothing.
StepGraph relay(bool barrier) {
  GraphMaker m;
  std::vector<Op> first = {compute(1), transfer(1, 0, 1e9, {0})}, second = {transfer(1, 0, 1e9), compute(2, {0})};
  if (barrier) {
    first.push_back(transfer(2, 1, 0, {0}));
    second.push_back(transfer(2, 1, 0, {1}));
  }
  const int sender = m.program(first), receiver = m.program(second);
  const int wire = m.link(1e9);
  m.rank(sender, 2);
  m.rank(receiver, 2);
  m.group({{0, 0}, {1, 0}}, {{wire, 1}});
  if (barrier) m.group({{0, 1}, {1, 1}}, {});
  for (Program& program : m.graph.programs) program.streams[1].dimension = Dimension::pipeline;
  return m.graph;
}

// Alone 1 + 1 + 2 s. In a row the receiver is never idle again: 2 s a step. A barrier puts whole steps behind each other.
TEST(SteadyPeriod, StepsOverlapUnlessAllWait) {
  for (const bool barrier : {false, true}) {
    const StepGraph one = relay(barrier);
    ASSERT_TRUE(problems_of(repeated(one, 3)).empty());
    for (const auto& engine : {make_ideal_engine(), make_simgrid_engine()}) {
      EXPECT_NEAR(engine->run(one).end, 4, 1e-9);
      EXPECT_NEAR(engine->run(repeated(one, 3)).end, barrier ? 12 : 4 + 2 + 2, 1e-9);
      EXPECT_NEAR(engine->run(repeated(one, 8)).end, barrier ? 32 : 4 + 7 * 2, 1e-9);
    }
  }
}

TEST(SteadyPeriod, OnceIsTheGraphItself) {
  EXPECT_EQ(repeated(relay(true), 1), relay(true));
}

Simulation step_of(const std::string& schedule, bool clip, bool tied) {
  const Inputs in = shipped("gpt-3-175b-pipeline",
                            {"model.layers=16", std::string("model.tied_embeddings=") + (tied ? "true" : "false"), "plan.schedule=" + schedule,
                             "plan.batch.global_sequences=48", std::string("plan.clip_gradients=") + (clip ? "true" : "false")});
  Options options;
  options.elasticities = false;
  return simulate(in, options);
}

// ZB-H2 moves the bubble to where a rank waits for nobody: in a row of steps the rank with most to do is busy all the
// time: computing, or in the tensor group's collectives (Qi et al., Zero Bubble Pipeline Parallelism,
// figure 3).
TEST(SteadyPeriod, ZeroBubbleKeepsTheBusiestRankComputing) {
  const Report report = step_of("zb-h2", false, false).report;
  double busiest = 0;
  for (const RankRow& row : report.ranks) busiest = std::max(busiest, row.compute_s + row.exposed_communication_s);
  EXPECT_GE(report.steady_period_s, busiest * 0.99);  // what it exposes of pipeline messages may hide
  EXPECT_LE(report.steady_period_s, busiest * 1.05);
  EXPECT_GT(report.step_time_s, busiest * 1.05);
}

// A norm of all gradients, or an embedding that the first and the last rank share, makes ranks wait for each other.
TEST(SteadyPeriod, IsTheStepWhereRanksWaitForAll) {
  EXPECT_EQ(step_of("zb-h2", true, false).report.steady_period_s, 0);
  EXPECT_GT(step_of("zb-h2", false, true).report.steady_period_s, step_of("zb-h2", false, false).report.steady_period_s);
}

// Also in a process that may simulate only once, as a sweep's are.
TEST(SteadyPeriod, BesideAStepSimulatedHere) {
  const double period = step_of("zb-h2", false, false).report.steady_period_s;
  SharedArray<double> found(1);
  const std::function<void()> work = [&] {
    simulate_here_next();
    found[0] = step_of("zb-h2", false, false).report.steady_period_s;
  };
  run_in_children({work}, 1);
  EXPECT_EQ(found[0], period);
}

// A step that cannot end has no period; it says why itself.
TEST(SteadyPeriod, DeadLinksAreNamedAsWithoutIt) {
  Inputs in = shipped("gpt-3-175b-pipeline", {"model.layers=16", "plan.batch.global_sequences=16", "plan.clip_gradients=false"});
  const auto& links = in.cluster.platform->links();
  for (std::size_t l = 0; l < links.size(); ++l) {
    if (links[l].name == "nic8_up") in.cluster.bandwidth[l] = BytesPerSecond(0);
  }
  Options options;
  options.elasticities = false;
  try {
    (void)simulate(in, options);
    FAIL() << "it ended";
  } catch (const InputError& wrong) {
    EXPECT_NE(std::string(wrong.what()).find("nic8_up"), std::string::npos) << wrong.what();
  }
}

}  // namespace stepsim::steady_period_test
