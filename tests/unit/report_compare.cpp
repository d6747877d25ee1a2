// Plans side by side: who wins, by what factor, and why the others lose.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "support/contains.hpp"
#include "support/report_example.hpp"

namespace stepsim::report_compare_test {
// A report of one kind of rank that spends `compute`, `exposed`, `wait` and `bubble` seconds.
Report made(const std::string& name, double compute, double exposed, double wait, double bubble, double tokens = 1000) {
  Report report;
  report.inputs = toy::names(name);
  report.inputs.gpus = 10;
  report.step_time_s = compute + exposed + wait + bubble;
  report.facts.tokens_per_step = tokens;
  report.facts.gpu_memory_bytes = 80e9;
  report.tiers = {"nvlink", "infiniband"};
  report.ranks = {{.rank = 0,
                   .count = 10,
                   .compute_s = compute,
                   .exposed_communication_s = exposed,
                   .wait_s = wait,
                   .bubble_s = bubble,
                   .peak_memory_bytes = 70e9}};
  report.roofline = {.rank = 0, .compute_s = compute, .hbm_s = 1, .wire_s = {exposed / 2, exposed}, .bound = "compute"};
  judge(report, {});
  return report;
}

TEST(ReportCompare, NamesTheWinnerAndWhyTheOthersLose) {
  const std::string text =
      compare_text({made("deepseek-v3-dualpipe", 14, 2, 0, 4), made("deepseek-v3-1f1b", 14, 2, 0, 14),
                    made("deepseek-v3-zero3", 14, 86, 0, 0), made("deepseek-v3-recompute", 28, 2, 0, 4)});
  EXPECT_TRUE(contains(text, "Winner: dualpipe, 5 tokens/s/GPU;"));
  std::string flat = text;
  for (char& c : flat) c = c == '\n' ? ' ' : c;
  EXPECT_TRUE(contains(flat, "1f1b is 50 % slower: it idles in the pipeline's bubble for 46.7 % of the step"));
  EXPECT_TRUE(contains(flat, "zero3 is 5 times slower: it needs 86 s on infiniband for 14 s of compute"));
  EXPECT_TRUE(contains(flat, "recompute is 70 % slower: it computes 2 times as long for a token"));
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 100u) << line;
}

TEST(ReportCompare, AWireThatNeedsLongerThanComputeIsTheReason) {
  auto slow = made("slow", 14, 6, 0, 0);  // computes longer than the winner, but its wire is longer still
  slow.roofline.compute_s = 12;
  slow.roofline.wire_s = {19, 3};
  EXPECT_TRUE(contains(compare_text({made("fast", 8, 4, 0, 0), slow}), "it needs 19 s on nvlink for 12 s of compute"));
}

TEST(ReportCompare, TimePerTokenDecidesWhenTokensDiffer) {
  const auto small = made("small", 10, 0, 0, 0, 1000), large = made("large", 15, 0, 0, 0, 2000);
  const std::string text = compare_text({small, large});
  EXPECT_TRUE(contains(text, "Winner: large"));
  EXPECT_TRUE(contains(text, "tokens per step: they are compared by GPU time per token"));
  EXPECT_TRUE(contains(text, "small is 33 % slower"));  // 10 / 1000 against 15 / 2000
}

TEST(ReportCompare, APlanThatDoesNotFitCannotWin) {
  auto fast = made("fast", 5, 0, 0, 0);
  fast.ranks[0].peak_memory_bytes = 90e9;
  const std::string text = compare_text({fast, made("lean", 10, 0, 0, 0)});
  EXPECT_TRUE(contains(text, "Winner: lean"));
  EXPECT_TRUE(contains(text, "fast would be 2 times as fast but does not fit in memory"));
  EXPECT_TRUE(contains(text, "90 GB !"));
  EXPECT_TRUE(contains(compare_text({fast}), "no plan fits in memory"));
}

TEST(ReportCompare, SharesAreMeansOverGpus) {
  auto report = made("x", 10, 0, 0, 0);
  report.ranks.push_back({.rank = 10, .count = 30, .compute_s = 2, .bubble_s = 8});
  const auto json = nlohmann::json::parse(compare_json({report}));
  EXPECT_DOUBLE_EQ(json["plans"][0]["compute_share"], 0.4);  // (10 x 10 + 30 x 2) / (40 x 10)
  EXPECT_DOUBLE_EQ(json["plans"][0]["bubble_share"], 0.6);
}

TEST(ReportCompare, JsonHoldsTheReports) {
  const auto report = toy::example_report("a");
  const auto json = nlohmann::ordered_json::parse(compare_json({report, made("b", 1, 0, 0, 0)}));
  EXPECT_EQ(json["schema"], "stepsim.compare/1");
  EXPECT_EQ(json["winner"], "b");
  EXPECT_EQ(json["reports"][0], nlohmann::ordered_json::parse(to_json(report)));
  EXPECT_EQ(to_json(report_from_json(json["reports"][0].dump())), to_json(report));
}

TEST(ReportCompare, CsvHasARowAPlan) {
  std::istringstream lines(compare_csv({made("a,b", 8, 1, 0, 1), made("c", 5, 0, 0, 0)}));
  std::string line;
  std::getline(lines, line);
  EXPECT_TRUE(line.starts_with("plan,step_time_s,")) << line;
  std::getline(lines, line);
  EXPECT_TRUE(line.starts_with("\"a,b\",10,1000,10,0,0.8,0.1,0,0.1,70000000000,true,")) << line;
  EXPECT_TRUE(line.ends_with(",2")) << line;
}

TEST(ReportCompare, NothingToCompare) {
  EXPECT_TRUE(contains(compare_text({}), "there is no winner"));
  EXPECT_TRUE(nlohmann::json::parse(compare_json({}))["winner"].is_null());
  EXPECT_TRUE(contains(compare_text({Report{}}), "there is no winner"));
}

}  // namespace stepsim::report_compare_test
