// The critical path, against paths worked out on paper.
#include <gtest/gtest.h>

#include "support/report_example.hpp"

namespace stepsim::report_path_test {
void expect_part(const CriticalPath& path, std::size_t number, const std::string& kind, const std::string& dimension,
                 const std::string& wire, int rank, double seconds) {
  const PathPart& part = path.parts[number];
  EXPECT_EQ(path.words[part.kind], kind);
  EXPECT_EQ(path.words[part.dimension], dimension);
  EXPECT_EQ(path.words[part.wire], wire);
  EXPECT_EQ(part.rank, rank);
  EXPECT_DOUBLE_EQ(part.seconds, seconds);
}

TEST(ReportPath, FollowsTheMemberThatCameLast) {
  const auto e = toy::two_ranks();
  const CriticalPath path = critical_path(e.graph, e.timeline);
  ASSERT_EQ(path.parts.size(), 5u);
  expect_part(path, 0, "delay", "none", "", 1, 1);                 // [0,1]: the gather waited for it
  expect_part(path, 1, "transfer", "gather", "infiniband", 1, 2);  // [1,3]
  expect_part(path, 2, "compute", "none", "", 0, 3);               // [3,6]
  expect_part(path, 3, "transfer", "pipeline", "nvlink", 0, 3);    // [6,9]
  expect_part(path, 4, "compute", "none", "", 1, 3);               // [9,12]
  EXPECT_EQ(path.by_kind, (std::map<std::string, double>{{"compute", 6}, {"delay", 1}, {"transfer", 5}}));
  EXPECT_EQ(path.by_wire, (std::map<std::string, double>{{"infiniband", 2}, {"nvlink", 3}}));
  EXPECT_EQ(path.by_dimension, (std::map<std::string, double>{{"gather", 2}, {"none", 7}, {"pipeline", 3}}));
  EXPECT_EQ(path.by_rank, (std::map<int, double>{{0, 6}, {1, 6}}));
  EXPECT_EQ(path.by_phase, (std::map<std::string, double>{{"backward", 3}, {"forward", 3}, {"other", 6}}));
}

// The message takes [6, 9] on the path, and 300 bytes.
TEST(ReportPath, NamesWhatLimitsATransfer) {
  auto e = toy::two_ranks();
  Part& message = e.graph.groups[1].patterns[0].parts[0];
  message.alpha = 3.5;  // more than it took
  EXPECT_EQ(critical_path(e.graph, e.timeline).by_wire,
            (std::map<std::string, double>{{"infiniband", 2}, {"latency", 3}}));
  message.alpha = 1;
  const CriticalPath path = critical_path(e.graph, e.timeline);
  EXPECT_EQ(path.by_wire, (std::map<std::string, double>{{"infiniband", 2}, {"latency", 1}, {"nvlink", 2}}));
  expect_part(path, 3, "transfer", "pipeline", "latency", 0, 1);
  expect_part(path, 4, "transfer", "pipeline", "nvlink", 0, 2);
  message.alpha = 0;
  e.graph.groups[1].patterns[0].parts.push_back(toy::part({{1, 1}}, 1));  // 300 / 50 = 6 s, the other 3 s
  EXPECT_EQ(critical_path(e.graph, e.timeline).by_wire, (std::map<std::string, double>{{"infiniband", 5}}));
  e.graph.groups[1].patterns[0].parts = {toy::part({}, 0, 0, 0.01)};  // no link is named
  const CriticalPath closed = critical_path(e.graph, e.timeline);
  EXPECT_EQ(closed.words[closed.parts[3].wire], "formula");
}

TEST(ReportPath, GroupsByStageAndLayerAndListsStretches) {
  const auto e = toy::two_ranks();
  const CriticalPath path = critical_path(e.graph, e.timeline);
  EXPECT_EQ(path.by_stage, (std::map<int, double>{{-1, 6}, {0, 3}, {1, 3}}));  // delay and transfers have no stage here
  EXPECT_EQ(path.by_layer, (std::map<int, double>{{-1, 6}, {1, 6}}));
  // Rank 1 [0, 3], rank 0 [3, 9], rank 1 [9, 12]: the longest first, of equals the earlier.
  ASSERT_EQ(path.chains.size(), 3u);
  EXPECT_EQ(path.chains[0].rank, 0);
  EXPECT_EQ(path.chains[0].begin_s, 3);
  EXPECT_EQ(path.chains[0].seconds, 6);
  ASSERT_EQ(path.chains[0].events.size(), 2u);
  EXPECT_EQ(path.chains[0].events[0].name, "layer");
  EXPECT_EQ(path.chains[0].events[0].phase, "backward");
  EXPECT_EQ(path.chains[0].events[1].name, "activations");
  EXPECT_EQ(path.chains[0].events[1].wire, "nvlink");
  EXPECT_EQ(path.chains[1].begin_s, 0);
  EXPECT_EQ(path.chains[1].events[1].name, "parameters");
  EXPECT_EQ(path.chains[2].events[0].microbatch, 0);
  EXPECT_EQ(path.chains[2].left_out_s, 0);
}

// 30 events of 1, 2, .. 30 s on one rank: the 20 longest stay, in order; 1 + .. + 10 = 55 s are left out.
TEST(ReportPath, LongStretchesKeepTheirLongestEvents) {
  StepGraph graph;
  graph.labels = {"", "even", "odd"};
  std::vector<Op> ops;
  Timeline timeline{.end = 0, .spans = {{}}, .events = 30};
  for (int i = 30; i >= 1; --i) {
    ops.push_back(toy::timed(OpKind::compute, 0, i));
    ops.back().tags.label = 1 + i % 2;
    timeline.spans[0].push_back({timeline.end, timeline.end, timeline.end + i});
    timeline.end += i;
  }
  graph.programs = {toy::program("p", 0, {{"compute", Dimension::none}}, ops)};
  graph.ranks = {{}};
  const CriticalPath path = critical_path(graph, timeline);
  ASSERT_EQ(path.chains.size(), 1u);
  ASSERT_EQ(path.chains[0].events.size(), 20u);
  EXPECT_EQ(path.chains[0].events.front().seconds, 30);
  EXPECT_EQ(path.chains[0].events.back().seconds, 11);
  EXPECT_EQ(path.chains[0].left_out_s, 55);
  EXPECT_EQ(path.chains[0].seconds, 465);
}

TEST(ReportPath, AGapIsShownAndNotHidden) {
  auto e = toy::two_ranks();
  e.timeline.spans[1][4] = {10, 10, 12};  // starts a second after the message came
  const CriticalPath path = critical_path(e.graph, e.timeline);
  ASSERT_EQ(path.parts.size(), 6u);
  expect_part(path, 4, "other", "none", "", 0, 1);
  double sum = 0;
  for (const PathPart& part : path.parts) sum += part.seconds;
  EXPECT_DOUBLE_EQ(sum, 12);
}

TEST(ReportPath, AnEmptyStepHasNone) {
  const CriticalPath path = critical_path({}, {});
  EXPECT_TRUE(path.parts.empty());
}

}  // namespace stepsim::report_path_test
