// Engines against arithmetic: rendezvous, streams, latency, contention, shared SMs, and what can never run.
#include "sim/engine/engine.hpp"

#include <gtest/gtest.h>

#include "sim/engine/child.hpp"
#include "support/small_graphs.hpp"

namespace stepsim::engines_test {
using namespace testing;

constexpr double kTight = 1e-9;

double run(const StepGraph& graph, const char* engine) {
  return make_engine(engine)->run(graph).end;
}

class Engines : public ::testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(All, Engines, ::testing::Values("ideal", "simgrid"),
                         [](const auto& info) { return std::string(info.param); });

// 1 GB over 50 GB/s after 5 us: 0.020005 s.
TEST_P(Engines, OneMessagePaysLatencyAndBytes) {
  GraphMaker m;
  const int wire = m.link(50e9);
  m.rank(m.program({transfer(1, 0, 1e9)}), 1);
  m.rank(m.program({transfer(1, 0, 1e9)}), 1);
  m.group({{0, 0}, {1, 0}}, {{wire, 1}}, 5e-6);
  EXPECT_NEAR(run(m.graph, GetParam()), 0.020005, 0.020005 * 1e-12);
}

// The call starts when the later rank is ready, and ends for both.
TEST_P(Engines, MembersMeet) {
  GraphMaker m;
  const int wire = m.link(1e9);
  m.rank(m.program({compute(1), transfer(1, 0, 2e9, {0}), compute(0.5, {1})}), 1);
  m.rank(m.program({compute(3), transfer(1, 0, 2e9, {0}), compute(0.25, {1})}), 1);
  m.group({{0, 0}, {1, 0}}, {{wire, 1}});
  const Timeline t = make_engine(GetParam())->run(m.graph);
  EXPECT_NEAR(t.spans[0][1].ready, 1, kTight);
  EXPECT_NEAR(t.spans[0][1].start, 3, kTight);
  EXPECT_NEAR(t.spans[0][1].end, 5, kTight);
  EXPECT_EQ(t.spans[0][1].end, t.spans[1][1].end);
  EXPECT_NEAR(t.end, 5.5, kTight);
}

// Ops of one stream run in order although nothing else makes them wait; another stream runs beside.
TEST_P(Engines, StreamsAreInOrder) {
  GraphMaker m;
  const int wire = m.link(1e9);
  m.rank(m.program({compute(2), transfer(1, 0, 1e9), transfer(1, 0, 1e9), compute(1, {1})}), 1);
  m.rank(m.program({transfer(1, 0, 1e9), transfer(1, 0, 1e9)}), 1);
  m.group({{0, 0}, {1, 0}}, {{wire, 1}});
  const Timeline t = make_engine(GetParam())->run(m.graph);
  EXPECT_NEAR(t.spans[0][2].start, 1, kTight);
  EXPECT_NEAR(t.spans[0][2].end, 2, kTight);
  EXPECT_NEAR(t.end, 3, kTight);
}

TEST_P(Engines, SlowRankTakesLonger) {
  GraphMaker m;
  m.rank(m.program({compute(2)}), 0, 0.8);
  EXPECT_NEAR(run(m.graph, GetParam()), 2.5, kTight);
}

// Compute and calls of a group of one kind over a link of its own, on two streams, at speed 0.8: 1.25 s, 5 us + 2 s,
// 0.625 s, 0.1 s; a third stream starts when the first call has ended.
TEST_P(Engines, UndisturbedCallsFollowEachOther) {
  GraphMaker m;
  const int own = m.link(1e9), other = m.link(1e9);
  m.rank(m.program({compute(1), transfer(1, 0, 2e9, {0}), compute(0.5, {1}), transfer(1, 0, 0.1e9, {2}), transfer(2, 1, 3e9, {1}),
                    compute(1, {3, 4})}),
         2, 0.8);
  m.rank(m.program({transfer(2, 1, 3e9)}), 2);
  m.group({{0, 0}}, {{own, 1}}, 5e-6);
  m.group({{0, 1}, {1, 1}}, {{other, 1}});
  const Timeline t = make_engine(GetParam())->run(m.graph);
  const double starts[] = {0, 1.25, 3.250005, 3.875005, 3.250005, 6.250005},
               ends[] = {1.25, 3.250005, 3.875005, 3.97501, 6.250005, 7.500005};
  for (int i = 0; i < 6; ++i) {
    EXPECT_NEAR(t.spans[0][i].start, starts[i], kTight) << i;
    EXPECT_NEAR(t.spans[0][i].end, ends[i], kTight) << i;
  }
  EXPECT_EQ(t.events, 7u);
}

// 132 SMs, a transfer that holds 20 for its whole length: compute of one second at full speed runs at 112/132 while it
// moves. The transfer takes 0.66 s, in which 0.56 s of work are done: 0.66 + 0.44 = 1.1 s.
TEST_P(Engines, TransfersTakeSms) {
  GraphMaker m;
  m.graph.sms = 132;
  const int wire = m.link(1e9);
  std::vector<Op> ops = {compute(1), transfer(1, 0, 0.66e9)};
  ops[1].sms = 20;
  m.rank(m.program(ops), 1);
  m.group({{0, 0}}, {{wire, 1}});
  EXPECT_NEAR(run(m.graph, GetParam()), 1.1, kTight);
}

// Two transfers at a time take 20 SMs each, as kernels of their own: to 0.6 s compute runs at 92/132, to 0.9 s at 112/132.
TEST_P(Engines, TransfersAtATimeTakeTheirSmsEach) {
  GraphMaker m;
  m.graph.sms = 132;
  const int one = m.link(1e9), other = m.link(1e9);
  std::vector<Op> ops = {compute(1), transfer(1, 0, 0.6e9), transfer(2, 1, 0.9e9)};
  ops[1].sms = ops[2].sms = 20;
  m.rank(m.program(ops), 2);
  m.group({{0, 0}}, {{one, 1}});
  m.group({{0, 1}}, {{other, 1}});
  EXPECT_NEAR(run(m.graph, GetParam()), 0.9 + 1 - 0.6 * 92 / 132 - 0.3 * 112 / 132, kTight);
}

// A kernel that HBM limits does not slow down; half of it SM-bound: 1 s of which 0.5 stretches by 132/112.
TEST_P(Engines, OnlyTheSmBoundPartStretches) {
  GraphMaker m;
  m.graph.sms = 132;
  const int wire = m.link(1e9);
  std::vector<Op> ops = {compute(1), transfer(1, 0, 10e9)};
  ops[0].sm_seconds = 0.5;
  ops[1].sms = 20;
  m.rank(m.program(ops), 1);
  m.group({{0, 0}}, {{wire, 1}});
  const Timeline t = make_engine(GetParam())->run(m.graph);
  EXPECT_NEAR(t.spans[0][0].end, 0.5 + 0.5 * 132 / 112, kTight);
}

// Two parts side by side: the call ends with the longer; a counted-only part takes no time.
TEST_P(Engines, PartsRunSideBySide) {
  GraphMaker m;
  const int a = m.link(1e9), b = m.link(4e9);
  m.rank(m.program({transfer(1, 0, 1e9)}), 1);
  m.group({{0, 0}}, {{a, 1}});
  auto& parts = m.graph.groups[0].patterns[0].parts;
  parts.push_back({{{b, 2}}, 3, 0, 0, false});   // 3 GB a leg, two legs on 4 GB/s: 1.5 s
  parts.push_back({{{a, 100}}, 1, 0, 0, true});  // only counted
  parts.push_back({{}, 0, 0.25, 1e-9, false});   // closed form: 0.25 + 1 s
  EXPECT_NEAR(run(m.graph, GetParam()), 1.5, kTight);
}

TEST_P(Engines, NamesWhatNeverRan) {
  GraphMaker m;
  const int wire = m.link(1e9);
  // Each rank calls the two groups in the other order: a deadlock.
  m.rank(m.program({transfer(1, 0, 1), transfer(1, 1, 1)}), 2);
  m.rank(m.program({transfer(1, 1, 1), transfer(1, 0, 1)}), 2);
  m.group({{0, 0}, {1, 0}}, {{wire, 1}});
  m.group({{0, 1}, {1, 1}}, {{wire, 1}});
  try {
    run(m.graph, GetParam());
    FAIL() << "a deadlock went unnoticed";
  } catch (const GraphError& e) {
    EXPECT_NE(std::string(e.what()).find("4 of 4 events never ran"), std::string::npos) << e.what();
    EXPECT_NE(std::string(e.what()).find("rank 1 op 0"), std::string::npos) << e.what();
  }
}

TEST_P(Engines, RefuseUnsoundGraphs) {
  GraphMaker m;
  const int wire = m.link(1e9);
  m.rank(m.program({transfer(1, 0, 1)}), 1);
  m.rank(m.program({transfer(1, 0, 2)}), 1);
  m.group({{0, 0}, {1, 0}}, {{wire, 1}});
  EXPECT_THROW(run(m.graph, GetParam()), GraphError);  // payloads differ
  GraphMaker late;
  late.rank(late.program({compute(1, {1}), compute(1)}), 0);
  EXPECT_THROW(run(late.graph, GetParam()), GraphError);  // waits for a later op
}

// An all-to-all of 64 GPUs, 63 MB each over ports of 50 GB/s in both directions: 1.26 ms. With another message of 10 MB
// on one NIC the port carries 73 MB: 1.46 ms. Messages share max-min fairly: 64 of them at 50/64 GB/s each until the
// all-to-all's 1 MB messages end after 1.28 ms.
TEST(Contention, AllToAllAgainstOneMessage) {
  for (const bool competed : {false, true}) {
    GraphMaker m;
    std::vector<Load> loads;
    for (RankId r = 0; r < 64; ++r) {
      loads.push_back({m.link(50e9, r), 63});
      loads.push_back({m.link(50e9, r), 63});
    }
    const int call = m.program({transfer(1, 0, 1e6)});
    const int both = m.program({transfer(1, 0, 1e6), transfer(2, 1, 10e6)});
    std::vector<Endpoint> all;
    for (RankId r = 0; r < 64; ++r) {
      m.rank(competed && r == 0 ? both : call, 2);
      all.push_back({r, 0});
    }
    m.group(all, loads);
    if (competed) m.group({{0, 1}}, {{0, 1}});
    const Timeline t = make_simgrid_engine()->run(m.graph);
    EXPECT_NEAR(t.end, competed ? 1.46e-3 : 1.26e-3, 1e-12);
    EXPECT_NEAR(t.spans[1][0].end, competed ? 1.28e-3 : 1.26e-3, 1e-12);
  }
}

// Two equal messages over one wire: each at half speed until the shorter ends.
// Each is the only kind of its group, and follows a compute op, but another's calls cross the same link: A has it from 1
// to 1.5 s, both share it until A's last half is over at 2.5, B ends at 3.
TEST(Contention, CallsOfTheirOwnGroupsShareALink) {
  GraphMaker m;
  const int wire = m.link(1e9);
  m.rank(m.program({compute(1), transfer(1, 0, 1e9, {0}), compute(1, {1})}), 1);
  m.rank(m.program({compute(1.5), transfer(1, 0, 1e9, {0}), compute(1, {1})}), 1);
  m.group({{0, 0}}, {{wire, 1}});
  m.group({{1, 0}}, {{wire, 1}});
  const Timeline t = make_engine("simgrid")->run(m.graph);
  EXPECT_NEAR(t.spans[0][1].end, 2.5, kTight);
  EXPECT_NEAR(t.spans[1][1].end, 3, kTight);
  EXPECT_NEAR(t.end, 4, kTight);
}

// The same on two streams of one rank.
TEST(Contention, CallsOfTwoStreamsShareALink) {
  GraphMaker m;
  const int wire = m.link(1e9);
  m.rank(m.program({compute(1), transfer(1, 0, 1e9, {0}), transfer(2, 1, 1e9), compute(1, {1})}), 2);
  m.group({{0, 0}}, {{wire, 1}});
  m.group({{0, 1}}, {{wire, 1}});
  const Timeline t = make_engine("simgrid")->run(m.graph);
  EXPECT_NEAR(t.spans[0][2].end, 1, kTight);
  EXPECT_NEAR(t.spans[0][1].end, 2, kTight);
  EXPECT_NEAR(t.end, 3, kTight);
}

TEST(Contention, TwoMessagesShare) {
  GraphMaker m;
  const int wire = m.link(1e9);
  m.rank(m.program({transfer(1, 0, 1e9), transfer(2, 1, 3e9)}), 2);
  m.group({{0, 0}}, {{wire, 1}});
  m.group({{0, 1}}, {{wire, 1}}, 0.5);
  // Alone for 0.5 s, then both at 0.5 GB/s: the first's other 0.5 GB by 1.5 s; the second's 2.5 GB alone by 4 s.
  const Timeline t = make_simgrid_engine()->run(m.graph);
  EXPECT_NEAR(t.spans[0][0].end, 1.5, kTight);
  EXPECT_NEAR(t.spans[0][1].end, 4, kTight);
}

// Max-min: A over wires 1 and 2, B over 1, C over 2, D over 2. Wire 2 (3 GB/s, three flows) gives 1 each; B gets the
// rest of wire 1.
TEST(Contention, IsMaxMinFair) {
  GraphMaker m(5);
  const int one = m.link(4e9), two = m.link(3e9);
  m.rank(m.program({transfer(1, 0, 10e9), transfer(2, 1, 3e9), transfer(3, 2, 10e9), transfer(4, 3, 10e9)}), 4);
  m.group({{0, 0}}, {{one, 1}, {two, 1}});
  m.group({{0, 1}}, {{one, 1}});
  m.group({{0, 2}}, {{two, 1}});
  m.group({{0, 3}}, {{two, 1}});
  const Timeline t = make_simgrid_engine()->run(m.graph);
  EXPECT_NEAR(t.spans[0][1].end, 1, kTight);
  EXPECT_NEAR(t.spans[0][0].end, 10, kTight);
}

// A child may simulate many times; the last one where it is, when it says so.
TEST_P(Engines, AChildSimulatesManyTimes) {
  GraphMaker m;
  const int wire = m.link(1e9);
  m.rank(m.program({transfer(1, 0, 1e9)}), 1);
  m.rank(m.program({transfer(1, 0, 1e9)}), 1);
  m.group({{0, 0}, {1, 0}}, {{wire, 1}});
  SharedArray<double> ends(3);
  run_in_child([&] {
    ends[0] = run(m.graph, GetParam());
    ends[1] = run(m.graph, GetParam());
    simulate_here_next();
    ends[2] = run(m.graph, GetParam());
  });
  for (int i = 0; i < 3; ++i) EXPECT_NEAR(ends[i], 1, kTight) << i;
  EXPECT_NEAR(run(m.graph, GetParam()), 1, kTight);
}

}  // namespace stepsim::engines_test
