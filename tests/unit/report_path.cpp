// The critical path, against paths worked out on paper.
#include <gtest/gtest.h>

#include "support/report_example.hpp"

namespace stepsim {
namespace {

void expect_part(const PathPart& part, const std::string& kind, const std::string& dimension, const std::string& wire,
                 int rank, double seconds) {
  EXPECT_EQ(part.kind, kind);
  EXPECT_EQ(part.dimension, dimension);
  EXPECT_EQ(part.wire, wire);
  EXPECT_EQ(part.rank, rank);
  EXPECT_DOUBLE_EQ(part.seconds, seconds);
}

TEST(ReportPath, FollowsTheMemberThatCameLast) {
  const auto e = toy::two_ranks();
  const CriticalPath path = critical_path(e.graph, e.timeline);
  ASSERT_EQ(path.parts.size(), 5u);
  expect_part(path.parts[0], "delay", "none", "", 1, 1);                 // [0,1]: the gather waited for it
  expect_part(path.parts[1], "transfer", "gather", "infiniband", 1, 2);  // [1,3]
  expect_part(path.parts[2], "compute", "none", "", 0, 3);               // [3,6]
  expect_part(path.parts[3], "transfer", "pipeline", "nvlink", 0, 3);    // [6,9]
  expect_part(path.parts[4], "compute", "none", "", 1, 3);               // [9,12]
  EXPECT_EQ(path.by_kind, (std::map<std::string, double>{{"compute", 6}, {"delay", 1}, {"transfer", 5}}));
  EXPECT_EQ(path.by_wire, (std::map<std::string, double>{{"infiniband", 2}, {"nvlink", 3}}));
  EXPECT_EQ(path.by_dimension, (std::map<std::string, double>{{"gather", 2}, {"none", 7}, {"pipeline", 3}}));
  EXPECT_EQ(path.by_rank, (std::map<int, double>{{0, 6}, {1, 6}}));
  EXPECT_EQ(path.by_phase, (std::map<std::string, double>{{"backward", 3}, {"forward", 3}, {"other", 6}}));
}

TEST(ReportPath, NamesWhatLimitsATransfer) {
  auto e = toy::two_ranks();
  Part& message = e.graph.groups[1].patterns[0].parts[0];
  message.alpha = 3.5;  // of 6.5 s
  EXPECT_EQ(critical_path(e.graph, e.timeline).parts[3].wire, "latency");
  message.alpha = 2.5;  // of 5.5 s
  EXPECT_EQ(critical_path(e.graph, e.timeline).parts[3].wire, "nvlink");
  e.graph.groups[1].patterns[0].parts.push_back(toy::part({{1, 1}}, 1));  // 300 / 50 = 6 s
  EXPECT_EQ(critical_path(e.graph, e.timeline).parts[3].wire, "infiniband");
  e.graph.groups[1].patterns[0].parts = {toy::part({}, 0, 0, 0.01)};  // no link is named
  EXPECT_EQ(critical_path(e.graph, e.timeline).parts[3].wire, "formula");
}

TEST(ReportPath, AGapIsShownAndNotHidden) {
  auto e = toy::two_ranks();
  e.timeline.spans[1][4] = {10, 10, 12};  // starts a second after the message came
  const CriticalPath path = critical_path(e.graph, e.timeline);
  ASSERT_EQ(path.parts.size(), 6u);
  expect_part(path.parts[4], "other", "none", "", 0, 1);
  double sum = 0;
  for (const PathPart& part : path.parts) sum += part.seconds;
  EXPECT_DOUBLE_EQ(sum, 12);
}

TEST(ReportPath, AnEmptyStepHasNone) {
  const CriticalPath path = critical_path({}, {});
  EXPECT_TRUE(path.parts.empty());
}

}  // namespace
}  // namespace stepsim
