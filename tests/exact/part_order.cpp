// Parts of a pattern that wait for others: `after` counts from arrival to latency, `behind` lets latencies overlap.
#include <gtest/gtest.h>

#include "sim/engine/engine.hpp"
#include "sim/graph/dump.hpp"
#include "sim/graph/fold.hpp"
#include "support/small_graphs.hpp"

namespace stepsim {
namespace part_order_test {

using namespace testing;

// One call of 1 GB by two ranks; links of 1 GB/s.
StepGraph one_call(std::vector<Part> parts, int links) {
  GraphMaker m;
  for (int l = 0; l < links; ++l) m.link(1e9);
  const int program = m.program({transfer(1, 0, 1e9)});
  m.rank(program, 1);
  m.rank(program, 1);
  m.group({{0, 0}, {1, 0}}, {});
  m.graph.groups[0].patterns[0].parts = std::move(parts);
  return m.graph;
}

Part on(LinkId link, double alpha, std::vector<std::int32_t> after = {}, std::int32_t behind = -1) {
  return {{{link, 1}}, 1, alpha, 0, false, {}, std::move(after), behind};
}

void expect_end(const StepGraph& graph, double seconds) {
  ASSERT_TRUE(problems_of(graph).empty());
  for (const std::string& engine : engine_names()) {
    EXPECT_NEAR(make_engine(engine)->run(graph).end, seconds, 1e-9) << engine;
    EXPECT_NEAR(make_engine(engine)->run(fold(graph).graph).end, seconds, 1e-9) << engine << ", folded";
  }
}

TEST(PartOrder, AfterPaysLatencyOnceTheOthersHaveArrived) {
  expect_end(one_call({on(0, 0.25), on(1, 0.5, {0})}, 2), 0.25 + 1 + 0.5 + 1);
  expect_end(one_call({on(0, 0.25), on(1, 0.5), on(2, 0.125, {0, 1})}, 3), 0.5 + 1 + 0.125 + 1);
}

TEST(PartOrder, BehindOverlapsLatency) {
  expect_end(one_call({on(0, 0.25), on(0, 0.5, {}, 0)}, 1), 0.25 + 1 + 1);
  expect_end(one_call({on(0, 0.25), on(0, 3, {}, 0)}, 1), 3 + 1);  // the latency is longer than the wait
}

// Three chunks over two hops, FIFO on each: the last arrives when it has left the first hop, and crossed the second.
TEST(PartOrder, ChunksArePipelined) {
  expect_end(one_call({on(0, 0.1), on(1, 0.1, {0}), on(0, 0.1, {}, 0), on(1, 0.1, {2}, 1), on(0, 0.1, {}, 2),
                       on(1, 0.1, {4}, 3)},
                      2),
             0.1 + 3 + 0.1 + 1);
}

// A part that moves nothing joins others, in chains of any length.
TEST(PartOrder, ChainsOfJoins) {
  std::vector<Part> parts = {on(0, 0)};
  for (std::int32_t i = 1; i < 50'000; ++i) parts.push_back({{}, 0, 0, 0, false, {}, {i - 1}, -1});
  parts.push_back(on(0, 0.5, {49'999}));
  expect_end(one_call(std::move(parts), 1), 1 + 0.5 + 1);
}

TEST(PartOrder, CallsThatFollowEachOtherBeginAnew) {
  StepGraph graph = one_call({on(0, 0.25), on(1, 0.5, {0}), on(1, 0, {}, 1)}, 2);
  graph.programs[0].ops.push_back(graph.programs[0].ops.copy(0));
  expect_end(graph, 2 * (0.25 + 1 + 0.5 + 1 + 1));
}

TEST(PartOrder, LaterPartsAreRefused) {
  for (const auto& [after, behind] : {std::pair<std::vector<std::int32_t>, std::int32_t>{{1}, -1},
                                      {{0}, -1},
                                      {{-1}, -1},
                                      {{}, 0},
                                      {{}, 5},
                                      {{}, -2}}) {
    const auto problems = problems_of(one_call({on(0, 0, after, behind), on(0, 0)}, 1));
    ASSERT_EQ(problems.size(), 1u);
    EXPECT_NE(problems[0].find("part 0: waits for a part that is not an earlier one"), std::string::npos)
        << problems[0];
  }
}

// Parts that differ only in what they wait for do not behave alike: their groups have colours of their own.
TEST(PartOrder, FoldingTellsOrdersApart) {
  GraphMaker m;
  const int program = m.program({transfer(1, 0, 1e9)});
  for (int r = 0; r < 4; ++r) m.rank(program, 1);
  for (int l = 0; l < 4; ++l) m.link(1e9);
  for (int g = 0; g < 2; ++g) m.group({{2 * g, 0}, {2 * g + 1, 0}}, {});
  m.graph.groups[0].patterns[0].parts = {on(0, 0), on(1, 0)};
  m.graph.groups[1].patterns[0].parts = {on(2, 0), on(3, 0, {0})};
  const Folding folding = fold(m.graph);
  EXPECT_EQ(folding.graph.groups.size(), 2u);
  const Timeline full = make_ideal_engine()->run(m.graph), folded = make_ideal_engine()->run(folding.graph);
  for (std::size_t r = 0; r < 4; ++r) EXPECT_EQ(full.spans[r][0].end, folded.spans[folding.rank_color[r]][0].end);
}

TEST(PartOrder, DumpsNameIt) {
  const StepGraph graph = one_call({on(0, 0), on(0, 0, {}, 0), on(1, 0, {0, 1})}, 2);
  EXPECT_NE(dump_text(graph).find("(after 0,1)"), std::string::npos);
  EXPECT_NE(dump_text(graph).find("(behind 0)"), std::string::npos);
  EXPECT_NE(dump_json(graph).find("\"behind\""), std::string::npos);
}

}  // namespace part_order_test
}  // namespace stepsim
