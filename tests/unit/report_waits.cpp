// Who waits for whom.
#include <gtest/gtest.h>

#include "sim/engine/engine.hpp"
#include "sim/graph/fold.hpp"
#include "sim/report/report.hpp"
#include "sim/report/text_folding.hpp"
#include "sim/report/text_sections.hpp"
#include "support/report_example.hpp"
#include "support/small_graphs.hpp"

namespace stepsim::report_waits_test {
using namespace testing;

// Rank 1 is ready for the reduction at 3 s, rank 0 at 6 s (see two_ranks).
TEST(Waits, TheLastMemberIsWaitedFor) {
  const auto e = toy::two_ranks();
  const std::vector<WaitRow> waits = who_waits(e.graph, e.timeline);
  ASSERT_EQ(waits.size(), 1U);
  EXPECT_EQ(waits[0].rank, 1);
  EXPECT_EQ(waits[0].for_rank, 0);
  EXPECT_EQ(waits[0].for_stage, 0);
  EXPECT_EQ(waits[0].stage, 1);
  EXPECT_EQ(waits[0].wait_s, 3.0);
  EXPECT_EQ(waits[0].slow_rank, -1);
  EXPECT_EQ(toy::example_report().waits, waits);
}

// Four ranks, 1 s of compute each, rank 2 at half speed; all meet. Three wait for it, 1 s each.
StepGraph four() {
  GraphMaker m;
  const int program = m.program({compute(1), transfer(1, 0, 1e9, {0})});
  std::vector<Endpoint> all;
  std::vector<Load> loads;
  for (int r = 0; r < 4; ++r) {
    loads.push_back({m.link(1e9, r), 1});
    all.push_back({m.rank(program, 1, r == 2 ? 0.5 : 1), 0});
  }
  m.group(all, loads);
  return m.graph;
}

TEST(Waits, AStragglerHasItsName) {
  const StepGraph graph = four();
  const Timeline timeline = make_ideal_engine()->run(graph);
  const std::vector<WaitRow> waits = who_waits(graph, timeline);
  ASSERT_EQ(waits.size(), 3U);
  for (const WaitRow& row : waits) {
    EXPECT_EQ(row.for_rank, 2);
    EXPECT_EQ(row.for_speed, 0.5);
    EXPECT_EQ(row.slow_rank, 2);
    EXPECT_NEAR(row.wait_s, 1, 1e-12);
  }
  const StepGraph folded = fold(graph).graph;
  const std::vector<WaitRow> one = who_waits(folded, make_ideal_engine()->run(folded));
  ASSERT_EQ(one.size(), 1U);
  EXPECT_EQ(one[0].count, 3);
  EXPECT_EQ(one[0].for_rank, 2);
  EXPECT_EQ(one[0].for_count, 1);
  EXPECT_NEAR(one[0].wait_s, 1, 1e-12);
}

// Slow for a half of the step only: speed is the mean, 0.75 over [0, 2].
TEST(Waits, SpeedIsTheMeanOverTheStep) {
  StepGraph graph = four();
  graph.ranks[2].speed = 1;
  graph.ranks[2].speed_changes = {{0.5, 0.25}, {1.5, 0.5}};  // 0.5, 0.75, then 0.25 in 0.5 s: ready at 2 s, end at 3 s
  const std::vector<WaitRow> waits = who_waits(graph, make_ideal_engine()->run(graph));
  ASSERT_EQ(waits.size(), 3U);
  EXPECT_NEAR(waits[0].wait_s, 1, 1e-12);
  EXPECT_NEAR(waits[0].for_speed, (0.5 + 0.25 + 1.5 * 0.5) / 3, 1e-12);
}

// Rank 0 is slow; rank 1 waits for its message and comes late to a meeting with rank 2, which waits for rank 1: because
// of rank 0.
TEST(Waits, ASlowRankIsFoundThroughOthers) {
  GraphMaker m;
  const int wire = m.link(1e9), other = m.link(1e9);
  m.rank(m.program({compute(1), transfer(1, 0, 1e9, {0})}), 2, 0.5);
  m.rank(m.program({transfer(1, 0, 1e9), compute(1, {0}), transfer(2, 1, 1e9, {1})}), 2);
  m.rank(m.program({compute(1), transfer(2, 1, 1e9, {0})}), 2);
  m.group({{0, 0}, {1, 0}}, {{wire, 1}});
  m.group({{1, 1}, {2, 1}}, {{other, 1}});
  m.graph.groups[0].patterns[0].operation = "point_to_point";
  const std::vector<WaitRow> waits = who_waits(m.graph, make_ideal_engine()->run(m.graph));
  ASSERT_EQ(waits.size(), 1U);
  EXPECT_EQ(waits[0].rank, 2);
  EXPECT_EQ(waits[0].for_rank, 1);
  EXPECT_NEAR(waits[0].wait_s, 3, 1e-12);  // ready at 1 s; rank 1 at 2 + 1 + 1 s
  EXPECT_EQ(waits[0].slow_rank, 0);
  EXPECT_EQ(waits[0].slow_speed, 0.5);
}

// Two members come last together: the slower is blamed.
TEST(Waits, OfTwoThatComeLastTheSlowerIsBlamed) {
  GraphMaker m;
  const int wire = m.link(1e9);
  const int one = m.program({compute(1), transfer(1, 0, 1e9, {0})}),
            two = m.program({compute(2), transfer(1, 0, 1e9, {0})});
  m.rank(one, 1);
  m.rank(two, 1);
  m.rank(one, 1, 0.5);
  m.group({{0, 0}, {1, 0}, {2, 0}}, {{wire, 1}});
  const std::vector<WaitRow> waits = who_waits(m.graph, make_ideal_engine()->run(m.graph));
  ASSERT_EQ(waits.size(), 1U);
  EXPECT_EQ(waits[0].for_rank, 2);
}

TEST(Waits, TheTableFitsThePage) {
  Report report = toy::example_report();
  for (int r = 0; r < 30; ++r) {
    report.waits.push_back({.rank = 1'000'000 + r,
                            .count = 100'000,
                            .stage = 2 * r,
                            .for_rank = 2'000'000 + r % 12,
                            .for_count = 100'000,
                            .for_stage = r,
                            .for_speed = 1.0 / 3,
                            .wait_s = 0.123456 * (r + 1)});
  }
  const std::string text = waits_section(report);
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = text.find('\n', begin);
    EXPECT_LE(end - begin, 100U) << text.substr(begin, end - begin);
    begin = end + 1;
  }
  EXPECT_NE(text.find("more ranks"), std::string::npos);
  report.waits.clear();
  EXPECT_EQ(waits_section(report), "");
}

TEST(FoldingText, SaysWhyAndFitsThePage) {
  const std::string text = folding_text(explain_folding(four()));
  EXPECT_NE(text.find("4 ranks of 2 kinds"), std::string::npos) << text;
  EXPECT_NE(text.find("rank 2, unlike rank 0: has speed 0.5, not 1"), std::string::npos) << text;
  FoldingReasons many;
  for (int k = 0; k < 40; ++k) {
    many.kinds.push_back({"pipeline rank", k, 3, k == 0 ? -1 : 0,
                          std::vector<std::string>(k == 0 ? 0 : 9, "is in group \"expert 0-63\", which has rank 5")});
  }
  const std::string long_text = folding_text(many);
  EXPECT_NE(long_text.find("and so on"), std::string::npos);
  EXPECT_NE(long_text.find("(15 more kinds)"), std::string::npos);
  for (std::size_t begin = 0; begin < long_text.size();) {
    const std::size_t end = long_text.find('\n', begin);
    EXPECT_LE(end - begin, 100U);
    begin = end + 1;
  }
}

}  // namespace stepsim::report_waits_test
