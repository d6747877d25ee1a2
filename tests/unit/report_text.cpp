// The terminal report: what it leads with, and that it fits.
#include <gtest/gtest.h>

#include <sstream>

#include "sim/report/table.hpp"
#include "sim/report/words.hpp"
#include "support/contains.hpp"
#include "support/report_example.hpp"

namespace stepsim::report_text_test {
void expect_fits(const std::string& text) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    EXPECT_LE(line.size(), 100u) << line;
    EXPECT_TRUE(line.empty() || line.back() != ' ') << "\"" << line << "\"";
  }
}

Report judged() {
  Report report = toy::example_report();
  judge(report, {{"compute", 0.4}, {"hbm", 0.05}, {"nvlink", 0.2}, {"infiniband", 0.3}, {"latency", 0.1}});
  return report;
}

TEST(ReportText, LeadsWithTheVerdict) {
  const std::string text = to_text(judged());
  EXPECT_TRUE(text.starts_with("Communication-bound by infiniband")) << text;
  expect_fits(text);
}

TEST(ReportText, LeadsWithWhatDoesNotFit) {
  Report report = judged();
  report.facts.gpu_memory_bytes = 40e9;
  EXPECT_TRUE(to_text(report).starts_with("DOES NOT FIT: stage 0 (rank 0) needs 60 GB of memory, a GPU has 40 GB."))
      << to_text(report);
}

TEST(ReportText, SaysHowTheNumbersWereMade) {
  const std::string text = to_text(judged());
  EXPECT_TRUE(contains(text, "rates            speed_of_light"));
  EXPECT_TRUE(contains(text, "ideal, detail aggregate, 2 ranks unfolded, 10 events"));
  EXPECT_TRUE(contains(text, "10 (240 tokens a step)"));  // 240 / (12 s x 2 GPUs)
  EXPECT_TRUE(contains(text, "25.0 %, 33.3 %"));          // 60 and 80 FLOP of 12 s x 2 x 10 FLOP/s
  EXPECT_TRUE(contains(text, "over the BF16 peak"));
  EXPECT_TRUE(contains(text, "overrides        plan.schedule=1f1b"));
}

TEST(ReportText, MeansAreWeightedByTheRanksARowStandsFor) {
  Report report = judged();
  report.ranks[0].count = 3;
  report.inputs.gpus = 4;
  EXPECT_TRUE(contains(to_text(report), "37.5 %"));  // compute: (3 x 5 + 1 x 3) / (4 x 12)
}

// Names, numbers of ranks and kinds of memory beyond what a page holds.
Report crowded() {
  Report report = judged();
  const std::string longest(150, 'x');
  report.inputs.experiment = longest;
  report.inputs.cluster = longest;
  report.inputs.overrides = {longest, longest};
  report.facts.flops_convention = "a long explanation " + longest + " and more of it, " + longest;
  report.warnings.push_back(longest + " " + longest);
  report.collectives[0].name = longest;
  report.collectives[0].algorithm = "hierarchical_rail_aligned";
  report.links[0].name = longest;
  report.facts.memory.clear();
  report.ranks.clear();
  for (int r = 0; r < 40; ++r) {
    RankRow row = judged().ranks[0];
    row.rank = 128 * r;
    row.count = 128;
    row.stage = r;
    row.compute_s = r == 23 ? 11.5 : 4 + 0.01 * r;
    report.ranks.push_back(row);
    report.facts.memory.push_back({{"weights", 1e9},
                                   {"gradients", 2e9},
                                   {"master weights", 3e9},
                                   {"moments", 4e9},
                                   {"activations", 1e10 + r},
                                   {"transient", 5e9},
                                   {"unsharded parameters", 6e9},
                                   {"communication buffers", 7e9},
                                   {"logits of the head", 8e9}});
  }
  for (int c = 0; c < 30; ++c) report.collectives.push_back(report.collectives[0]);
  return report;
}

TEST(ReportText, FitsThePageWhateverTheNames) {
  expect_fits(to_text(crowded()));
}

TEST(ReportText, ShowsExtremesAndSaysWhatIsLeftOut) {
  const std::string text = to_text(crowded());
  EXPECT_TRUE(contains(text, "11.5 s"));
  EXPECT_TRUE(contains(text, "(24 more kinds of rank not shown"));
  EXPECT_TRUE(contains(text, "(17 more kinds of collective not shown"));
}

TEST(ReportText, RanksAlikeAreOneRow) {
  Report report = judged();
  for (int r = 2; r < 50; ++r) {
    report.ranks.push_back(report.ranks[0]);
    report.ranks.back().rank = r;
  }
  const std::string text = to_text(report);
  EXPECT_TRUE(contains(text, "    0     49      0"));
  EXPECT_FALSE(contains(text, "not shown"));
}

TEST(ReportText, RoundingNoiseIsNoElasticity) {
  Report report = toy::example_report();
  judge(report, {{"compute", 1}, {"hbm", -1e-12}, {"nvlink", -0.0}, {"infiniband", 0}, {"latency", 0}});
  EXPECT_FALSE(contains(to_text(report), " -0"));
  EXPECT_FALSE(contains(to_text(report), "ps"));
}

TEST(ReportText, AnEmptyReportIsText) {
  expect_fits(to_text(Report{}));
}

TEST(ReportWords, WrapKeepsTheFirstLinesSpacing) {
  EXPECT_EQ(wrap("  ab   cd ef", 8, 2), "  ab\n  cd ef");
  EXPECT_EQ(wrap("abcdefgh", 5, 1), "abcde\n fgh");
  EXPECT_EQ(wrap("a b c d", 3), "a b\nc d");
  EXPECT_EQ(wrap("", 3), "");
}

TEST(ReportWords, Numbers) {
  EXPECT_EQ(number_text(1234567), "1,234,567");
  EXPECT_EQ(number_text(999), "999");
  EXPECT_EQ(number_text(1000), "1,000");
  EXPECT_EQ(number_text(12.34), "12.3");
  EXPECT_EQ(factor_text(5.08), "5.1");
  EXPECT_EQ(factor_text(12.3), "12");
}

TEST(ReportTable, CutsOnlyWhatMayBeCut) {
  Table table({{"name", true, true}, {"x"}});
  table.row({std::string(200, 'n'), "1"});
  EXPECT_EQ(table.text().find('\n'), 2 + 95 + 2 + 1u);
}

}  // namespace stepsim::report_text_test
