// How a step's numbers follow from its timeline, against steps worked out on paper.
#include <gtest/gtest.h>

#include "sim/report/intervals.hpp"

#include "support/report_example.hpp"

namespace stepsim::report_metrics_test {
using toy::two_ranks;

TEST(ReportMetrics, SplitsTheStepOfEachRank) {
  const auto e = two_ranks();
  const auto rows = split_ranks(e.graph, e.timeline);
  ASSERT_EQ(rows.size(), 2u);

  EXPECT_EQ(rows[0].stage, 0);
  EXPECT_DOUBLE_EQ(rows[0].compute_s, 5);                   // [0,2] [3,6]
  EXPECT_DOUBLE_EQ(rows[0].overlapped_communication_s, 1);  // [1,2]
  EXPECT_DOUBLE_EQ(rows[0].exposed_communication_s, 4);     // [2,3] [6,9]
  EXPECT_DOUBLE_EQ(rows[0].wait_s, 0);                      // [0,1] is hidden by compute
  EXPECT_DOUBLE_EQ(rows[0].bubble_s, 3);                    // [9,12]
  EXPECT_DOUBLE_EQ(rows[0].idle_s, 3);

  EXPECT_EQ(rows[1].stage, 1);
  EXPECT_DOUBLE_EQ(rows[1].compute_s, 3);
  EXPECT_DOUBLE_EQ(rows[1].overlapped_communication_s, 0);
  EXPECT_DOUBLE_EQ(rows[1].exposed_communication_s, 5);  // [1,3] [6,9]: a receive moves for both ends
  EXPECT_DOUBLE_EQ(rows[1].wait_s, 3);                   // [3,6] for the reduction
  EXPECT_DOUBLE_EQ(rows[1].bubble_s, 1);                 // [0,1]: a posted receive is no wait, a delay no compute
  EXPECT_DOUBLE_EQ(rows[1].idle_s, 4);
}

TEST(ReportMetrics, WaitingForAPipelineMessageIsBubble) {
  auto e = two_ranks();
  for (auto& group : e.graph.groups) group.patterns[0].operation = "all_gather";
  const auto as_collective = split_ranks(e.graph, e.timeline);
  EXPECT_DOUBLE_EQ(as_collective[1].wait_s, 4);  // [0,1] [3,6]
  EXPECT_DOUBLE_EQ(as_collective[1].bubble_s, 0);
}

TEST(ReportMetrics, CountsBytesAndRooflinesOfARanksOwnPorts) {
  const auto e = two_ranks();
  const auto rows = split_ranks(e.graph, e.timeline);
  EXPECT_EQ(rows[0].wire_bytes, (std::vector<double>{300, 150}));  // 300 x 1; (200 + 100) x 1/2
  EXPECT_EQ(rows[1].wire_bytes, (std::vector<double>{0, 150}));
  EXPECT_EQ(rows[0].wire_roofline_s, (std::vector<double>{3, 3}));
  EXPECT_DOUBLE_EQ(rows[0].compute_roofline_s, 5);
  EXPECT_DOUBLE_EQ(rows[0].hbm_roofline_s, 2);
  EXPECT_DOUBLE_EQ(rows[0].flops, 50);

  const Roofline roofline = roofline_of(rows, e.graph.tiers);
  EXPECT_EQ(roofline.rank, 0);
  EXPECT_EQ(roofline.bound, "compute");
}

TEST(ReportMetrics, ASlowRankComputesLongerAtItsSpeedOfLight) {
  auto e = two_ranks();
  e.graph.ranks[1].speed = 0.5;
  const auto rows = split_ranks(e.graph, e.timeline);
  EXPECT_DOUBLE_EQ(rows[1].compute_roofline_s, 6);
  EXPECT_DOUBLE_EQ(rows[1].hbm_roofline_s, 1);
}

TEST(ReportMetrics, ASlowWireBindsTheRoofline) {
  auto e = two_ranks();
  e.graph.links[3].capacity = 10;  // rank 1's port of infiniband: 150 B take 15 s
  const Roofline roofline = roofline_of(split_ranks(e.graph, e.timeline), e.graph.tiers);
  EXPECT_EQ(roofline.rank, 1);
  EXPECT_EQ(roofline.bound, "infiniband");
  EXPECT_DOUBLE_EQ(roofline.wire_s[1], 15);
}

TEST(ReportMetrics, CollectivesShowTheirBusiestRank) {
  const auto e = two_ranks();
  const auto rows = collect_collectives(e.graph, e.timeline);
  ASSERT_EQ(rows.size(), 3u);  // most exposed first
  const CollectiveRow send{.name = "activations",
                           .operation = "point_to_point",
                           .dimension = "pipeline",
                           .algorithm = "direct",
                           .group_size = 2,
                           .rank = 0,
                           .count = 1,
                           .bytes_per_rank = 300,
                           .busy_s = 3,
                           .exposed_s = 3,
                           .wait_s = 0,
                           .bus_bandwidth = 100};
  const CollectiveRow gather{.name = "parameters",
                             .operation = "all_gather",
                             .dimension = "gather",
                             .algorithm = "flat",
                             .group_size = 2,
                             .rank = 0,
                             .count = 1,
                             .bytes_per_rank = 200,
                             .busy_s = 2,
                             .exposed_s = 1,
                             .wait_s = 1,
                             .bus_bandwidth = 50};
  const CollectiveRow reduce{.name = "gradients",
                             .operation = "reduce_scatter",
                             .dimension = "reduce",
                             .algorithm = "flat",
                             .group_size = 2,
                             .rank = 0,
                             .count = 1,
                             .bytes_per_rank = 100,
                             .busy_s = 1,
                             .exposed_s = 1,
                             .wait_s = 0,
                             .bus_bandwidth = 50};
  EXPECT_EQ(rows[0], send);
  EXPECT_EQ(rows[1], gather);
  EXPECT_EQ(rows[2], reduce);
}

TEST(ReportMetrics, LinksCarryWhatTheGroupsCallsPutOnThem) {
  const auto e = two_ranks();
  const auto rows = collect_links(e.graph, e.timeline);
  ASSERT_EQ(rows.size(), 3u);      // the idle port is left out
  EXPECT_EQ(rows[0].name, "nv0");  // 300 / (100 x 12) = 25 %; a tie with 150 / (50 x 12)
  for (const LinkRow& row : rows) EXPECT_DOUBLE_EQ(row.utilisation, 0.25);
  EXPECT_DOUBLE_EQ(rows[1].bytes, 150);
}

// One rank stands for 8, one group for 4; 4 legs of them cross the shared spine, 1 the rank's own port.
toy::Example folded() {
  toy::Example e;
  StepGraph& g = e.graph;
  g.tiers = {"infiniband"};
  g.links = {{.name = "nic", .capacity = 10, .tier = 0, .owner = 0, .count = 8},
             {.name = "spine", .capacity = 20, .tier = 0, .owner = -1, .count = 2}};
  g.groups = {{.name = "pairs",
               .dimension = Dimension::reduce,
               .endpoints = {{0, 0}},
               .patterns = {{"all_reduce", "ring", {toy::part({{0, 1}, {1, 4}}, 1)}}},
               .size = 2,
               .count = 4}};
  const Op call = toy::call(1, 0, 0, 10);
  g.programs = {toy::program("only", 0, {{"compute", Dimension::none}, {"reduce", Dimension::reduce}}, {call, call})};
  g.ranks = {{.program = 0, .slots = {0}, .count = 8, .original = 0}};
  e.timeline = {.end = 4, .spans = {{{0, 0, 2}, {2, 2, 4}}}, .events = 2};
  return e;
}

TEST(ReportMetrics, AFoldedLinkCarriesItsLegs) {
  const toy::Example e = folded();
  const auto links = collect_links(e.graph, e.timeline);
  ASSERT_EQ(links.size(), 2u);
  EXPECT_EQ(links[0].name, "spine");
  EXPECT_DOUBLE_EQ(links[0].bytes, 80);  // 2 calls x 4 legs x 10 B
  EXPECT_DOUBLE_EQ(links[0].utilisation, 1);
  EXPECT_DOUBLE_EQ(links[1].bytes, 20);
  const auto rows = split_ranks(e.graph, e.timeline);
  EXPECT_EQ(rows[0].count, 8);
  EXPECT_DOUBLE_EQ(rows[0].wire_bytes[0], 20);  // the spine is nobody's own
  EXPECT_DOUBLE_EQ(rows[0].exposed_communication_s, 4);
}

TEST(ReportMetrics, AnUnlabelledCollectiveIsNamedByItsOperation) {
  const toy::Example e = folded();
  const auto rows = collect_collectives(e.graph, e.timeline);
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_EQ(rows[0].name, "all_reduce");
  EXPECT_EQ(rows[0].dimension, "reduce");  // its group's: the call itself has none
  EXPECT_EQ(rows[0].count, 2);
  EXPECT_DOUBLE_EQ(rows[0].bus_bandwidth, 5);  // 2 (n - 1) / n x 20 B / 4 s
}

TEST(ReportMetrics, PhasesAreMeansOverGpus) {
  const Report report = toy::example_report();
  EXPECT_DOUBLE_EQ(report.phases.at("forward"), 2.5);  // (2 + 3) / 2
  EXPECT_DOUBLE_EQ(report.phases.at("backward"), 1.5);
  EXPECT_DOUBLE_EQ(report.ranks[0].peak_memory_bytes, 60e9);
}

// What rounding leaves of a time is nothing; a small time is a time.
TEST(ReportMetrics, RoundingIsToldAsNothing) {
  EXPECT_EQ(told(6.7e-13, 11.3), 0);
  EXPECT_EQ(told(-6.7e-13, 11.3), 0);
  EXPECT_EQ(told(2e-9, 11.3), 2e-9);
  EXPECT_EQ(told(0, 0), 0);
}

}  // namespace stepsim::report_metrics_test
