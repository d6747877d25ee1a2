#include "sim/report/html.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "sim/report/comparison.hpp"
#include "sim/report/derived.hpp"
#include "sim/report/json.hpp"
#include "sim/report/page.hpp"

namespace stepsim {
namespace {

using Json = nlohmann::ordered_json;

// Rows of thousands of ranks and links that are alike would fill the page with copies.
constexpr std::size_t most_shown = 512;

Report shortened(Report report) {
  report.critical_path.parts.clear();  // the timeline holds the path
  if (report.ranks.size() > most_shown) {
    std::map<int, std::vector<std::pair<std::string, double>>> memory;
    for (std::size_t r = 0; r < report.facts.memory.size(); ++r) memory[report.ranks[r].rank] = report.facts.memory[r];
    report.ranks = rank_kinds(report);
    report.facts.memory.clear();
    for (const RankRow& row : report.ranks) {
      if (memory.contains(row.rank)) report.facts.memory.push_back(memory.at(row.rank));
    }
  }
  if (report.waits.size() > most_shown) {
    std::stable_sort(report.waits.begin(), report.waits.end(),
                     [](const WaitRow& a, const WaitRow& b) { return a.wait_s > b.wait_s; });
    report.waits.resize(most_shown);
  }
  if (report.links.size() > most_shown) report.links = link_kinds(report);
  return report;
}

// A plan's part of the data: {"report": ..., "inputs": [[key, value, origin], ...], "timeline": ...}.
std::string data_of(const PagePlan& plan) {
  Json inputs = Json::array();
  for (const Explained& e : plan.inputs) inputs.push_back({e.key, e.value, e.origin});
  const auto text = [](const Json& json) { return json.dump(-1, ' ', false, Json::error_handler_t::replace); };
  return fmt::format("{{\"report\":{},\n\"inputs\":{},\n\"timeline\":{}}}", text(json_of(shortened(plan.report))),
                     text(inputs), plan.timeline.empty() ? "null" : plan.timeline);
}

}  // namespace

std::string to_html(const PagePlan& plan) {
  return page_of(fmt::format("stepsim: {}", plan.report.inputs.experiment), "report", data_of(plan));
}

std::string compare_html(const std::vector<PagePlan>& plans) {
  std::vector<Report> reports;
  std::string data;
  for (const PagePlan& plan : plans) {
    reports.push_back(plan.report);
    data += (data.empty() ? "" : ",\n") + data_of(plan);
  }
  const Comparison comparison = compare(reports);
  const Json head{{"names", comparison.names},
                  {"short_names", comparison.short_names},
                  {"winner", comparison.winner},
                  {"slower", comparison.slower},
                  {"text", comparison.sentence}};
  return page_of("stepsim: plans side by side", "compare",
                 fmt::format("{{\"comparison\":{},\n\"plans\":[\n{}\n]}}",
                             head.dump(-1, ' ', false, Json::error_handler_t::replace), data));
}

}  // namespace stepsim
