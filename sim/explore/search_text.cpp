#include "sim/explore/search_text.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "sim/report/comparison.hpp"
#include "sim/report/derived.hpp"
#include "sim/report/json.hpp"
#include "sim/report/table.hpp"
#include "sim/report/words.hpp"

namespace stepsim {
namespace {

std::string count_text(double number) { return number < 1e6 ? number_text(number) : fmt::format("{:.3g} million", number / 1e6); }

std::vector<SearchFind> shown(const SearchResult& result) {
  std::vector<SearchFind> all = result.best;
  all.insert(all.end(), result.own.begin(), result.own.end());
  return all;
}

std::string rank_text(const SearchResult& result, std::size_t i) { return i < result.best.size() ? fmt::format("{}", i + 1) : "own"; }

std::string split_text(const Report& report) {
  const Shares s = mean_shares(report);
  return fmt::format("{:.0f}/{:.0f}/{:.0f}/{:.0f}", 100 * s.compute, 100 * s.exposed, 100 * s.wait, 100 * s.bubble);
}

std::string best_table(const SearchResult& result, const std::vector<Report>& reports, const std::vector<double>& healthy) {
  std::vector<Column> columns{{""}, {"step"}, {"tok/s/GPU"}, {"MFU"}, {"split"}, {"memory"}};
  if (!healthy.empty()) columns.push_back({"healthy"});
  columns.push_back({"plan", true, true});
  Table table(columns);
  const std::vector<SearchFind> all = shown(result);
  for (std::size_t i = 0; i < all.size(); ++i) {
    const Report& r = reports[i];
    std::vector<std::string> row{rank_text(result, i), seconds_text(all[i].seconds), number_text(tokens_per_second_per_gpu(r)),
                                 percent_text(model_utilisation(r)), split_text(r), bytes_text(all[i].memory_bytes)};
    if (!healthy.empty()) row.push_back(seconds_text(healthy[i]));
    row.push_back(i < result.best.size() ? all[i].label : r.inputs.parallelism + " " + r.inputs.schedule);
    table.row(row);
  }
  return table.text();
}

// Elasticities of each, and why each loses to the first.
std::string reasons(const SearchResult& result, std::vector<Report> reports) {
  std::string text;
  for (std::size_t i = 0; i < reports.size(); ++i) {
    reports[i].inputs.experiment = rank_text(result, i);
    text += wrap(fmt::format("{}: {}", reports[i].inputs.experiment, reports[i].verdict.text), page_width, 2) + "\n";
  }
  return text + "\n" + wrap(compare(reports).sentence, page_width) + "\n";
}

std::string counts(const SearchResult& r, const Objective& objective) {
  std::string text = fmt::format("{} combinations: {} cannot run, {} say the same as another, {} do not fit in memory, {} are "
                                 "bound to be slower than the {} best, {} were simulated",
                                 count_text(r.combinations), count_text(r.illegal), count_text(r.repeated),
                                 count_text(r.too_large), count_text(r.bounded), r.best.size(), count_text(r.simulated));
  if (r.failed > 0) text += fmt::format(", {} failed", count_text(r.failed));
  if (r.left > 0) {
    text += fmt::format(", and {} were left when time ran out, of which none can beat {} (the best found: {})",
                        count_text(r.left), objective.text(r.left_bound), objective.text(r.best.front().value));
  }
  text += ".";
  std::string by;
  for (const auto& [name, number] : r.bounded_by) by += fmt::format("{}{} {}", by.empty() ? "" : ", ", name, count_text(number));
  if (!by.empty()) text += " Bound by: " + by + ".";
  return wrap(text, page_width) + "\n";
}

std::string front_table(const SearchResult& result) {
  Table table({{"step"}, {"memory"}, {"plan", true, true}});
  for (const SearchFind& f : result.front) table.row({seconds_text(f.seconds), bytes_text(f.memory_bytes), f.label});
  return table.text();
}

std::string space_text(const SearchSpace& space) {
  std::string text;
  for (const auto& [key, values] : space.described()) text += wrap(fmt::format("  {}: {}", key, values), page_width, 6) + "\n";
  return text;
}

nlohmann::ordered_json json_of(const SearchSpace& space, const SearchFind& find) {
  nlohmann::ordered_json json{{"plan", find.label},       {"value", find.value},
                              {"step_time_s", find.seconds}, {"peak_memory_bytes", find.memory_bytes},
                              {"bound_s", find.bound_s},  {"set", nlohmann::ordered_json::object()}};
  if (find.id.base < 0) return json;
  for (const auto& [key, value] : space.values(find.id)) json["set"][key] = value;
  return json;
}

}  // namespace

bool own_is_best(const SearchResult& result, const std::vector<Report>& reports) {
  return !result.own.empty() && result.own.front().value < result.best.front().value && fits_in_memory(reports[result.best.size()]);
}

std::string search_text(const SearchSpace& space, const SearchResult& result, const Objective& objective,
                        const std::vector<Report>& reports, const std::vector<double>& healthy, bool whole_front,
                        const std::string& command) {
  std::string text = fmt::format("The space searched\n{}\n", space_text(space));
  const std::string found = objective.text(result.best.front().value);
  text += own_is_best(result, reports)
              ? wrap(fmt::format("Best by {}: {}, the experiment's own plan. Of what was looked at: {}", objective.about,
                                 objective.text(result.own.front().value), found),
                     page_width) + "\n"
              : fmt::format("Best by {}: {}\n", objective.about, found);
  text += best_table(result, reports, healthy) + "\n";
  text += wrap("split: percent of the step in compute/exposed communication/wait/bubble, mean of all GPUs. memory: the peak of "
               "the fullest GPU." + std::string(result.own.empty() ? " The experiment's own plan cannot run." : " own: the experiment's plan."),
               page_width) + "\n\n";
  text += reasons(result, reports) + "\n" + counts(result, objective) + "\n";
  text += whole_front ? "Step time against memory: no plan of the space is as fast with less memory\n"
                      : "Step time against memory, of the plans simulated (--front on: of all)\n";
  text += front_table(result) + "\nThe best again: " + command + "\n";
  return text;
}

std::string search_json(const SearchSpace& space, const SearchResult& result, const Objective& objective,
                        const std::vector<Report>& reports) {
  nlohmann::ordered_json json{{"schema", "stepsim.search/1"}, {"objective", objective.name}};
  for (const auto& [name, number] : {std::pair("combinations", result.combinations), std::pair("illegal", result.illegal),
                                     std::pair("repeated", result.repeated), std::pair("too_large", result.too_large),
                                     std::pair("bounded", result.bounded), std::pair("simulated", result.simulated),
                                     std::pair("failed", result.failed), std::pair("left", result.left)}) {
    json["counts"][name] = number;
  }
  if (result.left > 0) json["left_bound"] = result.left_bound;
  json["own_is_best"] = own_is_best(result, reports);
  json["best"] = json["own"] = json["front"] = nlohmann::ordered_json::array();
  for (std::size_t i = 0; i < result.best.size() + result.own.size(); ++i) {
    const bool own = i >= result.best.size();
    nlohmann::ordered_json one = json_of(space, own ? result.own[i - result.best.size()] : result.best[i]);
    one["report"] = stepsim::json_of(reports[i]);
    json[own ? "own" : "best"].push_back(std::move(one));
  }
  for (const SearchFind& f : result.front) json["front"].push_back(json_of(space, f));
  return lines_of(json);
}

}  // namespace stepsim
