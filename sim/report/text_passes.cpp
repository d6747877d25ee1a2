#include <fmt/format.h>

#include <algorithm>

#include "sim/report/derived.hpp"
#include "sim/report/table.hpp"
#include "sim/report/text_sections.hpp"
#include "sim/report/words.hpp"

namespace stepsim {
namespace {

// A column: what it is called, and its seconds and passes on a stage.
struct PassColumn {
  const char* name;
  PassShare PassRow::* share;  // or
  double PassRow::* seconds;
};
constexpr PassColumn kColumns[] = {{"forward", &PassRow::forward, nullptr},
                                   {"backward", &PassRow::backward, nullptr},
                                   {"input", &PassRow::input_gradient, nullptr},
                                   {"weight", &PassRow::weight_gradient, nullptr},
                                   {"pairs", &PassRow::pair, nullptr},
                                   {"optimizer", nullptr, &PassRow::optimizer_s},
                                   {"bubble", nullptr, &PassRow::bubble_s}};

struct MeanShare {
  double seconds = 0, count = 0;
};
MeanShare mean_of(const PassColumn& column, const std::vector<PassRow>& rows) {
  MeanShare mean;
  for (const PassRow& row : rows) {
    mean.seconds += (column.share != nullptr ? (row.*column.share).seconds : row.*column.seconds) / static_cast<double>(rows.size());
    if (column.share != nullptr) mean.count += (row.*column.share).count / static_cast<double>(rows.size());
  }
  return mean;
}

}  // namespace

std::string passes_section(const Report& report) {
  if (report.passes.empty()) return "";
  const std::vector<PassRow>* others = report.speed_of_light ? &report.speed_of_light->passes : nullptr;
  std::vector<PassColumn> shown;
  std::vector<Column> titles{{"rates", true}};
  for (const PassColumn& column : kColumns) {
    if (mean_of(column, report.passes).seconds <= 0 && (others == nullptr || mean_of(column, *others).seconds <= 0)) continue;
    shown.push_back(column);
    titles.push_back({column.name});
  }
  titles.insert(titles.end(), {{"step"}, {"memory"}});
  Table table(titles);
  const auto row = [&](const std::string& rates, const std::vector<PassRow>& rows, double step, double memory) {
    std::vector<std::string> cells{rates};
    for (const PassColumn& column : shown) cells.push_back(seconds_text(mean_of(column, rows).seconds));
    cells.insert(cells.end(), {seconds_text(step), memory > 0 ? bytes_text(memory) : "-"});
    table.row(std::move(cells));
  };
  const RankRow* fullest = fullest_rank(report);
  row(report.inputs.rates == "calibrated" ? "calibrated" : "speed of light", report.passes, report.step_time_s,
      fullest == nullptr ? 0 : fullest->peak_memory_bytes);
  if (report.speed_of_light) {
    row("speed of light", report.speed_of_light->passes, report.speed_of_light->step_time_s, report.speed_of_light->peak_memory_bytes);
  }
  std::vector<std::string> counts{"passes"};
  for (const PassColumn& column : shown) {
    const double count = mean_of(column, report.passes).count;
    counts.push_back(column.share == nullptr ? "" : fmt::format("{:.3g}", count));
  }
  counts.insert(counts.end(), {"", ""});
  table.row(std::move(counts));
  return "What runs when: passes alone, forward and backward overlapped (pairs), optimizer, and no pass at\n"
         "all (bubble; here waits between passes count too). Mean of the stages, with the communication\n"
         "within a pass; input, weight: backward in two parts.\n" +
         table.text();
}

}  // namespace stepsim
