// Critical path, slack and elasticity of small graphs, against values worked out on paper, as the engines run them.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "sim/engine/engine.hpp"
#include "sim/report/report.hpp"
#include "sim/report/slack.hpp"
#include "support/small_graphs.hpp"

namespace stepsim::critical_path_test {
using testing::compute;
using testing::GraphMaker;
using testing::transfer;
using Slacks = std::vector<std::vector<double>>;

constexpr double kFaster = 1.01;

void expect_slack(const StepGraph& graph, const Timeline& timeline, const Slacks& wanted) {
  const Slacks slack = slack_of(graph, timeline);
  ASSERT_EQ(slack.size(), wanted.size());
  for (std::size_t r = 0; r < wanted.size(); ++r) {
    ASSERT_EQ(slack[r].size(), wanted[r].size());
    for (std::size_t i = 0; i < wanted[r].size(); ++i)
      EXPECT_NEAR(slack[r][i], wanted[r][i], 1e-9) << name_of(graph, static_cast<RankId>(r), static_cast<int>(i));
  }
}

double sum(const CriticalPath& path) {
  double seconds = 0;
  for (const PathPart& part : path.parts) seconds += part.seconds;
  return seconds;
}

StepGraph with_faster_links(StepGraph graph) {
  for (GraphLink& link : graph.links) link.capacity *= kFaster;
  return graph;
}

StepGraph with_faster_compute(StepGraph graph) {
  for (Program& program : graph.programs) {
    for (std::size_t i = 0; i < program.ops.size(); ++i) {
      if (program.ops[i].kind != OpKind::compute) continue;
      program.ops.change(i, [](Op& op) {
        op.seconds /= kFaster;
        op.sm_seconds /= kFaster;
      });
    }
  }
  return graph;
}

StepGraph with_less_latency(StepGraph graph) {
  for (Group& group : graph.groups) {
    for (Pattern& pattern : group.patterns) {
      for (Part& part : pattern.parts) part.alpha /= kFaster;
    }
  }
  return graph;
}

// Seconds that the step saves when a resource is faster; the path has `on_path` seconds of it.
void expect_saving(Engine& engine, const StepGraph& graph, const StepGraph& faster, double on_path) {
  const double before = engine.run(graph).end, after = engine.run(faster).end;
  EXPECT_NEAR(before - after, on_path * (1 - 1 / kFaster), 1e-9 * before);
  // The elasticity as the report measures it, against the path's share: they differ by the second order only.
  EXPECT_NEAR(-std::log(after / before) / std::log(kFaster), on_path / before, 0.01 * on_path / before);
}

class CriticalPathOf : public ::testing::TestWithParam<std::string> {
 protected:
  std::unique_ptr<Engine> engine = make_engine(GetParam());
};

//  s        0    1    2    3    4    5    6    7
//  rank 0   |forward 2|1   |         | last 2  |
//    wire             |  300 bytes   |
//  rank 1   |1   |       5                |½ |      ready for the message at 1
TEST_P(CriticalPathOf, OneMessage) {
  GraphMaker m;
  m.link(100);
  const int first = m.program({compute(2), transfer(1, 0, 300, {0}), compute(1), compute(2, {1})});
  const int second = m.program({compute(1), transfer(1, 0, 300, {0}), compute(5), compute(0.5, {1})});
  m.rank(first, 1);
  m.rank(second, 1);
  m.group({{0, 0}, {1, 0}}, {{0, 1}});
  const Timeline t = engine->run(m.graph);
  ASSERT_NEAR(t.end, 7, 1e-9);
  const CriticalPath path = critical_path(m.graph, t);
  EXPECT_NEAR(sum(path), 7, 1e-9);
  EXPECT_NEAR(path.by_kind.at("compute"), 4, 1e-9);
  EXPECT_NEAR(path.by_wire.at("wire"), 3, 1e-9);
  EXPECT_EQ(path.by_rank.size(), 1u);  // the message was waited for by rank 1: the path stays on rank 0
  // Rank 0's short kernel may end at 5; rank 1 ends at 6.5 and could at 7.
  expect_slack(m.graph, t, {{0, 0, 2, 0}, {0.5, 0, 0.5, 0.5}});
  expect_saving(*engine, m.graph, with_faster_links(m.graph), 3);
  expect_saving(*engine, m.graph, with_faster_compute(m.graph), 4);
}

//  s          0    1    2    3    4    5    6    7    8    9
//  rank 0     | speed 1: 1 |              |  2      |
//  rank 1     |    speed ½: 2 s of work   |1   |             the straggler: all wait for it
//  rank 2     |  1 |                      | 1½   |
//  all-to-all                   [4, 6.5]: ½ s of latency, then 100 bytes a leg, two legs a link of 100 B/s
TEST_P(CriticalPathOf, AStraggler) {
  GraphMaker m;
  m.link(100);
  const auto program = [&](double before, double after) {
    return m.program({compute(before), transfer(1, 0, 100, {0}), compute(after, {1})});
  };
  m.rank(program(1, 2), 1);
  m.rank(program(2, 0.5), 1, 0.5);
  m.rank(program(1, 1.5), 1);
  m.group({{0, 0}, {1, 0}, {2, 0}}, {{0, 2}}, 0.5);
  const Timeline t = engine->run(m.graph);
  ASSERT_NEAR(t.end, 8.5, 1e-9);
  const CriticalPath path = critical_path(m.graph, t);
  EXPECT_NEAR(sum(path), 8.5, 1e-9);
  EXPECT_NEAR(path.by_rank.at(1), 6.5, 1e-9);  // its work, and the call that came with it
  EXPECT_NEAR(path.by_rank.at(0), 2, 1e-9);
  EXPECT_NEAR(path.by_wire.at("wire"), 2, 1e-9);
  EXPECT_NEAR(path.by_wire.at("latency"), 0.5, 1e-9);
  expect_slack(m.graph, t, {{3, 0, 0}, {0, 0, 1}, {3, 0, 0.5}});
  expect_saving(*engine, m.graph, with_faster_links(m.graph), 2);
  expect_saving(*engine, m.graph, with_less_latency(m.graph), 0.5);
  expect_saving(*engine, m.graph, with_faster_compute(m.graph), 6);
}

// Growing an event by less than its slack does not move the end; by more, it moves it by the rest.
TEST_P(CriticalPathOf, SlackIsWhatAnEventMayGrow) {
  GraphMaker m;
  m.link(100);
  const int first = m.program({compute(2), transfer(1, 0, 300, {0}), compute(1), compute(2, {1})});
  const int second = m.program({compute(1), transfer(1, 0, 300, {0}), compute(5), compute(0.5, {1})});
  m.rank(first, 1);
  m.rank(second, 1);
  m.group({{0, 0}, {1, 0}}, {{0, 1}});
  const Timeline t = engine->run(m.graph);
  const Slacks slack = slack_of(m.graph, t);
  for (std::size_t r = 0; r < 2; ++r) {
    for (std::size_t i = 0; i < 4; ++i) {
      if (m.graph.programs[r].ops[i].kind != OpKind::compute) continue;
      for (const double more : {0.5 * slack[r][i], slack[r][i] + 0.25}) {
        StepGraph longer = m.graph;
        longer.programs[r].ops.change(i, [&](Op& op) {
          op.seconds += more;
          op.sm_seconds += more;
        });
        EXPECT_NEAR(engine->run(longer).end, 7 + std::max(0.0, more - slack[r][i]), 1e-9) << r << " " << i;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Engines, CriticalPathOf, ::testing::Values("ideal", "simgrid"));

// Two messages share a link of 100 B/s: each gets 50 until the smaller is through at 4 s, the larger ends at 6.
//  s        0    1    2    3    4    5    6    7    8    9
//  rank 0   |   400 bytes to rank 1       |  2      |
//  rank 1   |                             |      3       |
//  rank 2   |1   |  and 200 bytes to rank 3: [0, 4], then a join
//  rank 3   |                   |         4         |
class Contended : public ::testing::Test {
 protected:
  static StepGraph graph(double smaller = 200) {
    GraphMaker m;
    m.link(100);
    m.rank(m.program({transfer(1, 0, 400), compute(2, {0})}), 1);
    m.rank(m.program({transfer(1, 0, 400), compute(3, {0})}), 1);
    Op join = compute(0, {1});
    join.kind = OpKind::delay;
    join.stream = 1;
    m.rank(m.program({compute(1), transfer(1, 0, smaller), join}), 1);
    m.rank(m.program({transfer(1, 0, smaller), compute(4, {0})}), 1);
    m.group({{0, 0}, {1, 0}}, {{0, 1}});
    m.group({{2, 0}, {3, 0}}, {{0, 1}});
    return m.graph;
  }
  std::unique_ptr<Engine> engine = make_simgrid_engine();
};

TEST_F(Contended, PathAndSlack) {
  const StepGraph g = graph();
  const Timeline t = engine->run(g);
  ASSERT_NEAR(t.end, 9, 1e-9);
  const CriticalPath path = critical_path(g, t);
  EXPECT_NEAR(sum(path), 9, 1e-9);
  EXPECT_NEAR(path.by_wire.at("wire"), 6, 1e-9);
  EXPECT_NEAR(path.by_kind.at("compute"), 3, 1e-9);
  // Rank 0 ends at 8; rank 2's kernel at 1, its join at 4; rank 3 at 8, so its message may end at 5.
  expect_slack(g, t, {{0, 1}, {0, 0}, {8, 1, 5}, {1, 1}});
  expect_saving(*engine, g, with_faster_links(g), 6);
  expect_saving(*engine, g, with_faster_compute(g), 3);
}

// Slack keeps all other durations: 50 bytes more in the smaller message end it at 5 s, within its slack, but they take
// the wire from the larger one, which ends half a second later.
TEST_F(Contended, SlackDoesNotSeeWhatALongerTransferTakesFromOthers) {
  const Timeline t = engine->run(graph(250));
  EXPECT_NEAR(t.spans[2][1].end, 5, 1e-9);
  EXPECT_NEAR(t.end, 9.5, 1e-9);
}

// Hidden or exposed, free or not, a rank at a time: mean of the four.
TEST_F(Contended, WhatCommunicationCosts) {
  const StepGraph g = graph();
  const auto rows = collect_overlap(g, engine->run(g));
  ASSERT_EQ(rows.size(), 1u);
  // The larger message: 6 s on ranks 0 and 1, exposed, on the path. The smaller one has slack: 1 of its 4 s lies under
  // rank 2's kernel, the rest and rank 3's 4 s under nothing.
  EXPECT_NEAR(rows[0].exposed_critical_s, (6 + 6) / 4.0, 1e-9);
  EXPECT_NEAR(rows[0].hidden_free_s, 1 / 4.0, 1e-9);
  EXPECT_NEAR(rows[0].exposed_free_s, (3 + 4) / 4.0, 1e-9);
  EXPECT_NEAR(rows[0].hidden_critical_s, 0, 1e-9);
  EXPECT_NEAR(rows[0].mean_slack_s, 0.5, 1e-9);  // of 0, 0, 1, 1
}

// A message that is hidden under its sender's kernel and that the receiver's last kernel waits for: overlap that only
// moves the waiting. Rank 0 computes 4 s from the beginning and sends [0, 5]; rank 1 computes 3 s after it.
TEST(Overlap, HiddenYetPaidElsewhere) {
  GraphMaker m;
  m.link(100);
  m.rank(m.program({transfer(1, 0, 500), compute(4)}), 1);
  m.rank(m.program({transfer(1, 0, 500), compute(3, {0})}), 1);
  m.group({{0, 0}, {1, 0}}, {{0, 1}});
  const Timeline t = make_ideal_engine()->run(m.graph);
  ASSERT_NEAR(t.end, 8, 1e-9);
  const auto rows = collect_overlap(m.graph, t);
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_NEAR(rows[0].hidden_critical_s, 4 / 2.0, 1e-9);
  EXPECT_NEAR(rows[0].exposed_critical_s, (1 + 5) / 2.0, 1e-9);
  EXPECT_EQ(rows[0].hidden_free_s + rows[0].exposed_free_s, 0);
}

}  // namespace stepsim::critical_path_test
