// What changes while a step runs, on both engines, against arithmetic: speeds, bandwidths, dead links, detours, jitter.
#include <gtest/gtest.h>

#include <cmath>

#include "sim/engine/engine.hpp"
#include "sim/graph/changes.hpp"
#include "support/small_graphs.hpp"

namespace stepsim::faults_test {
using namespace testing;

constexpr double kTight = 1e-9;

class Faults : public ::testing::TestWithParam<const char*> {
 protected:
  static Timeline run(const StepGraph& graph) { return make_engine(GetParam())->run(graph); }
};
INSTANTIATE_TEST_SUITE_P(All, Faults, ::testing::Values("ideal", "simgrid"),
                         [](const auto& test) { return std::string(test.param); });

// One message of 2 GB from rank 0 over `wire`, 1 GB/s.
struct Message {
  GraphMaker m;
  int wire = m.link(1e9);
  Message() {
    m.rank(m.program({transfer(1, 0, 2e9)}), 1);
    m.group({{0, 0}}, {{wire, 1}});
  }
  GraphLink& link() { return m.graph.links[wire]; }
  Part& part() { return m.graph.groups[0].patterns[0].parts[0]; }
};

// 1 GB in the first second, the other at half the rate.
TEST_P(Faults, ALinkSlowsDown) {
  Message one;
  one.link().capacity_changes = {{1, 0.5e9}};
  EXPECT_NEAR(run(one.m.graph).end, 3, kTight);
}

// 0.5 GB at 1 GB/s, 0.25 GB in the second at 0.25 GB/s, the other 1.25 GB at 2.5 GB/s: 0.5 + 1 + 0.5 s.
TEST_P(Faults, ALinkChangesTwice) {
  Message one;
  one.link().capacity_changes = {{0.5, 0.25e9}, {1.5, 2.5e9}};
  EXPECT_NEAR(run(one.m.graph).end, 2, kTight);
}

// A change after the end, or of a link that nothing crosses, matters to nobody.
TEST_P(Faults, ChangesAfterTheEndDoNotLengthenIt) {
  Message one;
  one.m.link(1e9);
  one.m.graph.links[1].capacity_changes = {{0.5, 0}};
  one.link().capacity_changes = {{2.5, 0}, {1000, 1e9}};
  one.m.graph.ranks[0].speed_changes = {{500, 0.5}};
  EXPECT_NEAR(run(one.m.graph).end, 2, kTight);
}

// What was moving stops and goes on: 3 s longer.
TEST_P(Faults, ALinkIsDownForAWhile) {
  Message one;
  one.link().capacity_changes = {{1, 0}, {4, 1e9}};
  EXPECT_NEAR(run(one.m.graph).end, 5, kTight);
}

TEST_P(Faults, AMessageWaitsForALinkThatIsDownFromTheStart) {
  Message one;
  one.link().capacity = 0;
  one.link().capacity_changes = {{3, 1e9}};
  EXPECT_NEAR(run(one.m.graph).end, 5, kTight);
}

// The link goes down at the very moment at which the message has passed: it has.
TEST_P(Faults, AMessageThatEndsAsItsLinkDiesHasPassed) {
  Message one;
  one.link().capacity_changes = {{2, 0}};
  EXPECT_NEAR(run(one.m.graph).end, 2, kTight);
}

// Down for the last 0.1 s of each second: 2 GB pass in 0.9 + 0.9 + 0.2 s, with two failures between.
TEST_P(Faults, ALinkFlaps) {
  Message one;
  for (int period = 0; period < 10; ++period) {
    one.link().capacity_changes.push_back({period + 0.9, 0});
    one.link().capacity_changes.push_back({period + 1.0, 1e9});
  }
  EXPECT_NEAR(run(one.m.graph).end, 2.2, kTight);
}

// 2 s of work, the second half at half speed.
TEST_P(Faults, AGpuSlowsDownHalfway) {
  GraphMaker m;
  m.rank(m.program({compute(2)}), 0);
  m.graph.ranks[0].speed_changes = {{1, 0.5}};
  EXPECT_NEAR(run(m.graph).end, 3, kTight);
  m.graph.ranks[0].speed_changes = {{1, 0.5}, {2, 1}};  // 1 + 0.5 + 0.5 done at 1, 2, 2.5
  EXPECT_NEAR(run(m.graph).end, 2.5, kTight);
  m.graph.ranks[0].speed = 0.8;  // 0.8 done at 1, 1.3 at 2, 2 at 2.7
  EXPECT_NEAR(run(m.graph).end, 2.7, kTight);
}

// A GPU that is slow between two kernels runs the next one slowly; delays and transfers have their own pace.
TEST_P(Faults, SpeedsHoldForComputeOnly) {
  GraphMaker m;
  const int wire = m.link(1e9);
  Op pause;
  pause.kind = OpKind::delay;
  pause.stream = 2;
  pause.seconds = 1;
  m.rank(m.program({transfer(1, 0, 1e9), compute(1, {0}), pause}), 1);
  m.group({{0, 0}}, {{wire, 1}});
  m.graph.ranks[0].speed_changes = {{0.5, 0.25}};
  const Timeline t = run(m.graph);
  EXPECT_NEAR(t.spans[0][0].end, 1, kTight);
  EXPECT_NEAR(t.spans[0][1].end, 5, kTight);
  EXPECT_NEAR(t.spans[0][2].end, 1, kTight);
}

// 132 SMs, a transfer holds 33 of them in [0, 1]: 0.75 done at 1 s; from 2 s on half speed: 1.75 done at 2, 0.25 left
// take 0.5 s.
TEST_P(Faults, SlowGpusShareTheirSms) {
  GraphMaker m;
  m.graph.sms = 132;
  const int wire = m.link(1e9);
  std::vector<Op> ops = {compute(2), transfer(1, 0, 1e9)};
  ops[1].sms = 33;
  m.rank(m.program(ops), 1);
  m.group({{0, 0}}, {{wire, 1}});
  m.graph.ranks[0].speed_changes = {{2, 0.5}};
  EXPECT_NEAR(run(m.graph).end, 2.5, kTight);
  m.graph.ranks[0].speed_changes = {{0.5, 0.5}};  // 0.375 done at 0.5, 0.5625 at 1, then half speed: 2.875 s
  EXPECT_NEAR(run(m.graph).end, 1 + (2 - 0.5625) / 0.5, kTight);
}

// From 1 s on the second wire, a quarter as fast: 1 + 4 s; each has carried half.
TEST_P(Faults, AMessageChangesItsRoute) {
  Message one;
  const int other = one.m.link(0.25e9);
  one.part().detours = {{{{other, 1}}, 0}};
  one.m.graph.reroutings = {{1, 1}};
  const Timeline t = run(one.m.graph);
  EXPECT_NEAR(t.end, 5, kTight);
  ASSERT_EQ(t.link_bytes.size(), 2u);
  EXPECT_NEAR(t.link_bytes[0], 1e9, 1);
  EXPECT_NEAR(t.link_bytes[1], 1e9, 1);
}

// Down at 1 s, round by another wire half a second later, back at 2 s: 1 GB, then 0.5 GB, then 0.5 GB.
TEST_P(Faults, AMessageGoesRoundADeadLinkAndBack) {
  Message one;
  const int other = one.m.link(1e9);
  one.link().capacity_changes = {{1, 0}, {2, 1e9}};
  one.part().detours = {{{{other, 1}}, 0}};
  one.m.graph.reroutings = {{1.5, 1}, {2, 0}};
  const Timeline t = run(one.m.graph);
  EXPECT_NEAR(t.end, 2.5, kTight);
  EXPECT_NEAR(t.link_bytes[0], 1.5e9, 1);
  EXPECT_NEAR(t.link_bytes[1], 0.5e9, 1);
}

// Latency is paid by what holds at the start of a call: 0.1 s of the first, 0.3 s of the second, which starts at 1.1 s.
TEST_P(Faults, ACallPaysTheLatencyOfItsStart) {
  GraphMaker m;
  const int wire = m.link(1e9);
  m.rank(m.program({transfer(1, 0, 1e9), transfer(1, 0, 1e9)}), 1);
  m.group({{0, 0}}, {{wire, 1}}, 0.1);
  m.graph.groups[0].patterns[0].parts[0].detours = {{{{wire, 1}}, 0.3}};
  m.graph.reroutings = {{0.7, 1}};
  const Timeline t = run(m.graph);
  EXPECT_NEAR(t.spans[0][0].end, 1.1, kTight);
  EXPECT_NEAR(t.end, 2.4, kTight);
  EXPECT_NEAR(t.link_bytes[0], 2e9, 1);
}

TEST_P(Faults, ADeadLinkWithoutAWayRoundNamesWhatCannotFinish) {
  GraphMaker m;
  const int dead = m.link(1e9), sound = m.link(1e9);
  m.rank(m.program({transfer(1, 0, 2e9), transfer(2, 1, 1e9), compute(1, {0})}), 2);
  m.rank(m.program({transfer(1, 0, 2e9)}), 2);
  m.group({{0, 0}, {1, 0}}, {{dead, 1}});
  m.group({{0, 1}}, {{sound, 1}});
  m.graph.links[dead].capacity_changes = {{0.5, 0}, {0.75, 1e9}, {1.5, 0}};
  m.graph.links[sound].capacity_changes = {{0.1, 0.5e9}, {5, 1e9}};
  try {
    run(m.graph);
    FAIL() << "a dead link went unnoticed";
  } catch (const StuckError& e) {
    const std::string text = e.what();
    EXPECT_NE(text.find("3 of 4 events never end"), std::string::npos) << text;
    EXPECT_NE(text.find("all_to_all in group group 0"), std::string::npos) << text;
    EXPECT_NE(text.find("2 GPUs: link0 is down since 1.5 s"), std::string::npos) << text;
    EXPECT_EQ(text.find("group 1"), std::string::npos) << text;
  }
}

TEST_P(Faults, DeadFromTheStart) {
  Message one;
  one.link().capacity = 0;
  try {
    run(one.m.graph);
    FAIL() << "a dead link went unnoticed";
  } catch (const StuckError& e) {
    EXPECT_NE(std::string(e.what()).find("link0 is down from the start"), std::string::npos) << e.what();
  }
}

TEST_P(Faults, UnsoundChangesAreRefused) {
  const auto refused = [](auto&& spoil) {
    Message one;
    one.part().detours = {{{{one.wire, 1}}, 0}};
    spoil(one);
    EXPECT_THROW(run(one.m.graph), GraphError);
  };
  refused([](Message& x) { x.link().capacity_changes = {{2, 1}, {1, 1}}; });
  refused([](Message& x) { x.link().capacity_changes = {{0, 1}}; });
  refused([](Message& x) { x.link().capacity_changes = {{1, -1}}; });
  refused([](Message& x) { x.m.graph.ranks[0].speed_changes = {{1, 0}}; });
  refused([](Message& x) { x.m.graph.reroutings = {{1, 2}}; });
  refused([](Message& x) { x.m.graph.reroutings = {{1, 1}, {1, 0}}; });
  refused([](Message& x) { x.part().detours[0].loads = {{7, 1}}; });
}

// --- jitter ---

// A thousand kernels of 1 s each; the factors are lognormal with mean 1 and log-deviation 0.3: their logs have mean
// -0.045 and deviation 0.3, here within 4 standard errors.
TEST_P(Faults, JitterIsLognormalWithMeanOne) {
  GraphMaker m;
  constexpr int kOps = 1000;
  m.rank(m.program(std::vector<Op>(kOps, compute(1))), 0);
  m.graph.jitter = {0.3, 0, 7};
  const Timeline t = run(m.graph);
  double sum = 0, squares = 0;
  for (const Span& span : t.spans[0]) {
    const double log = std::log(span.end - span.start);
    sum += log;
    squares += log * log;
  }
  const double mean = sum / kOps, deviation = std::sqrt(squares / kOps - mean * mean);
  EXPECT_NEAR(mean, -0.045, 4 * 0.3 / std::sqrt(kOps));
  EXPECT_NEAR(deviation, 0.3, 4 * 0.3 / std::sqrt(2 * kOps));
  EXPECT_NEAR(t.end, kOps, 4 * 0.307 * std::sqrt(kOps));
}

// Latency and bytes of a call stretch together; compute stays.
TEST_P(Faults, JitterOfCommunicationStretchesCalls) {
  GraphMaker m;
  const int wire = m.link(1e9);
  m.rank(m.program({compute(1), transfer(1, 0, 1e9, {0}), transfer(1, 0, 1e9)}), 1);
  m.group({{0, 0}}, {{wire, 1}}, 0.5);
  m.graph.jitter = {0, 0.2, 3};
  const Timeline t = run(m.graph);
  EXPECT_NEAR(t.spans[0][0].end, 1, kTight);
  const double first = t.spans[0][1].end - t.spans[0][1].start, second = t.spans[0][2].end - t.spans[0][2].start;
  EXPECT_NE(first, 1.5);
  EXPECT_NE(first, second);
  EXPECT_NEAR(first / 1.5, jitter_factor(0.2, 3, ~std::uint64_t{0}, 0), kTight);
  EXPECT_NEAR(second / 1.5, jitter_factor(0.2, 3, ~std::uint64_t{0}, 1), kTight);
}

TEST(Jitter, DependsOnSeedRankAndOpAlone) {
  EXPECT_EQ(jitter_factor(0.1, 1, 2, 3), jitter_factor(0.1, 1, 2, 3));
  EXPECT_NE(jitter_factor(0.1, 1, 2, 3), jitter_factor(0.1, 2, 2, 3));
  EXPECT_NE(jitter_factor(0.1, 1, 2, 3), jitter_factor(0.1, 1, 3, 3));
  EXPECT_NE(jitter_factor(0.1, 1, 2, 3), jitter_factor(0.1, 1, 2, 4));
  EXPECT_EQ(jitter_factor(0, 1, 2, 3), 1);
}

// --- what contends: SimGrid alone ---

// Two messages of 1 GB share 1 GB/s; at 1 s each has 0.5 GB left. The link doubles: 0.5 s; it is four times as fast, so
// that each is faster than the whole link was when it began: 0.25 s; it halves: 2 s.
TEST(ContendedFaults, ALinkChangesUnderTwoMessages) {
  GraphMaker m;
  const int wire = m.link(1e9);
  for (int r = 0; r < 2; ++r) m.rank(m.program({transfer(1, 0, 1e9)}), 1);
  for (int r = 0; r < 2; ++r) m.group({{r, 0}}, {{wire, 1}});
  for (const auto& [capacity, end] : {std::pair(2e9, 1.5), std::pair(4e9, 1.25), std::pair(0.5e9, 3.0)}) {
    m.graph.links[wire].capacity_changes = {{1, capacity}};
    EXPECT_NEAR(make_simgrid_engine()->run(m.graph).end, end, kTight);
  }
  m.graph.links[wire].capacity_changes = {{1, 0.5e9}, {1.5, 8e9}};  // 0.125 GB each in [1, 1.5], then 4 GB/s each
  EXPECT_NEAR(make_simgrid_engine()->run(m.graph).end, 1.5 + 0.375 / 4, kTight);
}

// X (1 GB, over a and s) and Y (2 GB, over s) share s, 1 GB/s. a is down in [1, 3]: at 1 s both have moved 0.5 GB; Y
// has s to itself and ends at 2.5 s; X goes on at 3 s and ends at 3.5 s.
TEST(ContendedFaults, AStalledMessageLeavesItsLinksToOthers) {
  GraphMaker m;
  const int a = m.link(1e9), s = m.link(1e9);
  m.rank(m.program({transfer(1, 0, 1e9)}), 1);
  m.rank(m.program({transfer(1, 0, 2e9)}), 1);
  m.group({{0, 0}}, {{a, 1}, {s, 1}});
  m.group({{1, 0}}, {{s, 1}});
  m.graph.links[a].capacity_changes = {{1, 0}, {3, 1e9}};
  const Timeline t = make_simgrid_engine()->run(m.graph);
  EXPECT_NEAR(t.spans[0][0].end, 3.5, kTight);
  EXPECT_NEAR(t.spans[1][0].end, 2.5, kTight);
}

// X alone on a moves to b at 1 s, where Y is: X has 1 GB left, Y (3 GB) 2 GB; they share 1 GB/s until X ends at 3 s,
// and Y ends at 4 s.
TEST(ContendedFaults, AReroutedMessageSharesItsNewRoute) {
  GraphMaker m;
  const int a = m.link(1e9), b = m.link(1e9);
  m.rank(m.program({transfer(1, 0, 2e9)}), 1);
  m.rank(m.program({transfer(1, 0, 3e9)}), 1);
  m.group({{0, 0}}, {{a, 1}});
  m.group({{1, 0}}, {{b, 1}});
  m.graph.groups[0].patterns[0].parts[0].detours = {{{{b, 1}}, 0}};
  m.graph.reroutings = {{1, 1}};
  const Timeline t = make_simgrid_engine()->run(m.graph);
  EXPECT_NEAR(t.spans[0][0].end, 3, kTight);
  EXPECT_NEAR(t.spans[1][0].end, 4, kTight);
  EXPECT_NEAR(t.link_bytes[a], 1e9, 1);
  EXPECT_NEAR(t.link_bytes[b], 4e9, 1);
}

// Both links of a route change at once, under two messages that share them.
TEST(ContendedFaults, TwoLinksDieAtTheSameTime) {
  GraphMaker m;
  const int a = m.link(1e9), b = m.link(1e9);
  for (int r = 0; r < 2; ++r) m.rank(m.program({transfer(1, 0, 1e9)}), 1);
  for (int r = 0; r < 2; ++r) m.group({{r, 0}}, {{a, 1}, {b, 1}});
  for (const int link : {a, b}) m.graph.links[link].capacity_changes = {{0.5, 0}, {1, 4e9}, {1.125, 0}, {2, 1e9}};
  // 0.5 GB of 2 in the first half second, 0.5 GB in [1, 1.125], 1 GB from 2 s on.
  EXPECT_NEAR(make_simgrid_engine()->run(m.graph).end, 3, kTight);
}

// Two share a link that goes down under both, and comes back.
TEST(ContendedFaults, ALinkDiesUnderTwoMessages) {
  GraphMaker m;
  const int wire = m.link(1e9);
  for (int r = 0; r < 2; ++r) m.rank(m.program({transfer(1, 0, 1e9)}), 1);
  for (int r = 0; r < 2; ++r) m.group({{r, 0}}, {{wire, 1}});
  m.graph.links[wire].capacity_changes = {{1, 0}, {2, 1e9}, {2.5, 0}, {3, 1e9}};
  EXPECT_NEAR(make_simgrid_engine()->run(m.graph).end, 3.5, kTight);
}

}  // namespace stepsim::faults_test
