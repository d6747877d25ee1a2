// The HTML report's data: complete, safe to embed, and small.
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <nlohmann/json.hpp>

#include "sim/report/html.hpp"
#include "sim/report/page.hpp"
#include "sim/report/timeline_view.hpp"
#include "support/report_example.hpp"

namespace stepsim::report_html_test {
using Json = nlohmann::json;

Json data_of(const std::string& page) {
  const std::string begin = R"(<script type="application/json" id="data">)";
  const auto from = page.find(begin) + begin.size();
  return Json::parse(page.substr(from, page.find("</script>", from) - from));
}

std::vector<long long> items(const Json& timeline, int row, int lane) {
  return timeline["rows"][row]["lanes"][lane]["items"].get<std::vector<long long>>();
}

TEST(ReportHtml, HoldsTheReportTheTimelineAndTheInputs) {
  const auto e = toy::two_ranks();
  const std::string page = to_html(
      {toy::example_report(), timeline_json(e.graph, e.timeline), {{"plan.schedule", "1f1b", "default: \"<b>\""}}});
  EXPECT_NE(page.find("<title>stepsim: toy-pipeline</title>"), std::string::npos);
  EXPECT_NE(page.find(R"(data-view="report")"), std::string::npos);
  const Json data = data_of(page);
  EXPECT_EQ(data["report"]["step_time_s"], 12);
  EXPECT_EQ(data["inputs"], Json::parse(R"([["plan.schedule", "1f1b", "default: \"<b>\""]])"));
  EXPECT_EQ(data["timeline"]["end_s"], 12);
  EXPECT_EQ(data["timeline"]["rows"].size(), 2u);
}

TEST(ReportHtml, NoTextOfTheDataEndsItsElement) {
  Report report = toy::example_report("</script><script>alert(1)</script>");
  report.warnings = {"<!-- \" ' & \\ </SCRIPT>"};
  const std::string page = to_html({report, "", {}});
  const Json data = data_of(page);
  EXPECT_EQ(data["report"]["inputs"]["plan"], "</script><script>alert(1)</script>");
  EXPECT_EQ(data["report"]["warnings"][0], "<!-- \" ' & \\ </SCRIPT>");
  EXPECT_TRUE(data["timeline"].is_null());
  EXPECT_NE(page.find("<title>stepsim: &lt;/script&gt;"), std::string::npos);
}

TEST(ReportHtml, PlansSideBySide) {
  const auto e = toy::two_ranks();
  Report slow = toy::example_report("toy-slow");
  slow.step_time_s = 24;
  const std::string timeline = timeline_json(e.graph, e.timeline);
  const Json data = data_of(compare_html({{slow, timeline, {}}, {toy::example_report("toy-fast"), timeline, {}}}));
  EXPECT_EQ(data["plans"].size(), 2u);
  EXPECT_EQ(data["comparison"]["winner"], 1);
  EXPECT_EQ(data["comparison"]["slower"][0], 2);
  EXPECT_EQ(data["plans"][0]["report"]["inputs"]["plan"], "toy-slow");
}

TEST(ReportHtml, ManyRanksAlikeAreOneRow) {
  Report report = toy::example_report();
  for (int i = 2; i < 600; ++i) {
    report.ranks.push_back(report.ranks[1]);
    report.ranks.back().rank = i;
    report.facts.memory.push_back(report.facts.memory[1]);
  }
  const Json data = data_of(to_html({report, "", {}}));
  ASSERT_EQ(data["report"]["ranks"].size(), 2u);
  EXPECT_EQ(data["report"]["ranks"][1]["count"], 599);
  EXPECT_EQ(data["report"]["memory"]["ranks"][1]["kinds"]["activations_bytes"], 20e9);
}

// Whole nanoseconds: gap, duration, kind, microbatch, layer, slack, events.
TEST(TimelineView, HasEveryEventOfASmallGraph) {
  const auto e = toy::two_ranks();
  const Json view = Json::parse(timeline_json(e.graph, e.timeline));
  EXPECT_EQ(view["unit_s"], 1e-9);
  EXPECT_EQ(view["merged_below_s"], 0);
  EXPECT_EQ(view["rows"][1]["rank"], 1);
  EXPECT_EQ(view["rows"][1]["stage"], 1);
  const long long s = 1'000'000'000;
  // Rank 0 computes [0, 2] (slack 1: its backward starts at 3) and [3, 6].
  const auto compute = items(view, 0, 0);
  ASSERT_EQ(compute.size(), 14u);
  EXPECT_EQ(std::vector(compute.begin(), compute.begin() + 2), (std::vector<long long>{0, 2 * s}));
  EXPECT_EQ(std::vector(compute.begin() + 3, compute.begin() + 9),
            (std::vector<long long>{0, 1, 1 * s, 1, 1 * s, 3 * s}));
  EXPECT_EQ(view["kinds"][compute[2]]["phase"], "forward");
  EXPECT_EQ(view["kinds"][compute[9]]["phase"], "backward");
  // Its gather waits [0, 1] and moves [1, 3].
  const auto gather = items(view, 0, 1);
  EXPECT_EQ(view["kinds"][gather[2]]["phase"], "wait");
  EXPECT_EQ(gather[1], 1 * s);
  EXPECT_EQ(gather[7], 0);
  EXPECT_EQ(gather[8], 2 * s);
  EXPECT_EQ(view["kinds"][gather[9]]["operation"], "all_gather");
  // A receive that is posted early does not wait.
  EXPECT_EQ(items(view, 1, 2).size(), 7u);
  // The path covers the step.
  long long length = 0;
  for (std::size_t i = 0; i < view["path"].size(); i += 4) length += view["path"][i + 2].get<long long>();
  EXPECT_EQ(length, 12 * s);
}

// Events of random lengths on one rank.
struct Random {
  StepGraph graph;
  Timeline timeline;
};
Random random_row(const std::vector<int>& lengths) {
  Random r;
  r.graph.programs = {toy::program("p", 0, {{"compute", Dimension::none}}, std::vector<Op>(lengths.size(), Op{}))};
  r.graph.ranks = {{}};
  r.timeline.spans = {{}};
  for (const int length : lengths) {
    const double start = r.timeline.end, end = start + length * 1e-6;
    r.timeline.spans[0].push_back({start, start, end});
    r.timeline.end = end;
  }
  return r;
}

TEST(TimelineView, MergesTheShortestIntoABudget) {
  EXPECT_TRUE(rc::check("merging keeps the whole and the longest", [] {
    const auto lengths = *rc::gen::container<std::vector<int>>(300, rc::gen::inRange(1, 1000));
    const auto budget = *rc::gen::inRange(20, 299);
    const Random r = random_row(lengths);
    const Json view = Json::parse(timeline_json(r.graph, r.timeline, static_cast<std::size_t>(budget)));
    const auto list = items(view, 0, 0);
    RC_ASSERT(list.size() / 7 <= static_cast<std::size_t>(budget));
    long long events = 0, whole = 0, longest = 0, total = 0;
    for (std::size_t i = 0; i < list.size(); i += 7) {
      whole += list[i] + list[i + 1];
      events += list[i + 6];
      if (list[i + 6] == 1) longest = std::max(longest, list[i + 1]);
      if (list[i + 6] > 1)
        RC_ASSERT(static_cast<double>(list[i + 1]) * 1e-9 <= view["merged_below_s"].get<double>() * (1 + 1e-9));
    }
    for (const int length : lengths) total += length * 1000LL;
    RC_ASSERT(events == 300);
    RC_ASSERT(std::abs(whole - total) <= 1);
    const double below = view["merged_below_s"].get<double>();
    const int most = *std::max_element(lengths.begin(), lengths.end());
    if (most * 1e-6 > below * 1.001) RC_ASSERT(std::abs(longest - most * 1000LL) <= 1);
  }));
}

TEST(TimelineView, ShowsOneRankOfAKindAndThoseOnThePath) {
  auto e = toy::two_ranks();
  for (int i = 2; i < 6; ++i) {  // copies of rank 0 and then of rank 1, none on the path
    e.graph.ranks.push_back(e.graph.ranks[i % 2]);
    e.graph.ranks.back().original = i;
    e.timeline.spans.push_back(e.timeline.spans[i % 2]);
  }
  EXPECT_EQ(shown_ranks(e.graph, e.timeline, 6).size(), 6u);
  EXPECT_EQ(shown_ranks(e.graph, e.timeline, 3), (std::vector<std::size_t>{0, 1}));
  e.graph.ranks[4].speed = 0.5;
  EXPECT_EQ(shown_ranks(e.graph, e.timeline, 3), (std::vector<std::size_t>{0, 1, 4}));
  const Json view = Json::parse(timeline_json(e.graph, e.timeline, 1000, 3));
  EXPECT_EQ(view["ranks"], 3);
  EXPECT_EQ(view["ranks_simulated"], 6);
}

}  // namespace stepsim::report_html_test
