#include "sim/explore/selection_text.hpp"

#include <fmt/format.h>

#include <cassert>
#include <nlohmann/json.hpp>

#include "sim/base/csv.hpp"
#include "sim/report/json.hpp"
#include "sim/report/page.hpp"
#include "sim/report/table.hpp"
#include "sim/report/words.hpp"

namespace stepsim {
namespace {

double number(const Cell& cell) {
  const auto* value = std::get_if<double>(&cell);
  return value == nullptr ? 0 : *value;
}

std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

}  // namespace

std::string to_csv(const Selection& selection) {
  std::string text;
  for (std::size_t i = 0; i < selection.names.size(); ++i) text += (i == 0 ? "" : ",") + csv_cell(selection.names[i]);
  text += "\n";
  for (const auto& row : selection.rows) {
    for (std::size_t i = 0; i < row.size(); ++i) text += (i == 0 ? "" : ",") + csv_cell(to_text(row[i]));
    text += "\n";
  }
  return text;
}

namespace {

nlohmann::ordered_json json_of(const Selection& selection) {
  nlohmann::ordered_json json{{"schema", "stepsim.results/1"}, {"rows", nlohmann::ordered_json::array()}};
  for (const auto& row : selection.rows) {
    nlohmann::ordered_json object = nlohmann::ordered_json::object();
    for (std::size_t i = 0; i < row.size(); ++i) {
      if (const auto* value = std::get_if<double>(&row[i])) {
        object[selection.names[i]] = *value;
      } else if (const auto* text = std::get_if<std::string>(&row[i])) {
        object[selection.names[i]] = selection.names[i] == "report" ? nlohmann::ordered_json::parse(*text)
                                                                    : nlohmann::ordered_json(*text);
      } else {
        object[selection.names[i]] = nullptr;
      }
    }
    json["rows"].push_back(std::move(object));
  }
  return json;
}

}  // namespace

std::string to_json(const Selection& selection) { return lines_of(json_of(selection)); }

std::string to_html(const Selection& selection, const std::string& title) {
  nlohmann::ordered_json json = json_of(selection);
  json["title"] = title;
  return page_of("stepsim: " + title, "results", json.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace));
}

std::vector<std::string> table_columns() {
  return {"label", "ending", "error", "step_time_s", "tokens_per_s_per_gpu", "mfu", "compute_share",
          "exposed_communication_share", "wait_share", "bubble_share", "peak_memory_bytes", "fits", "bound_by", "bound"};
}

std::string points_table(const Selection& selection) {
  Table table({{"point", true, true}, {"step"}, {"tok/s/GPU"}, {"MFU"}, {"split"}, {"memory"}, {"bound by", true, true}});
  for (const auto& r : selection.rows) {
    assert(r.size() == table_columns().size());
    if (to_text(r[1]) != "done") {
      table.row({to_text(r[0]), "-", "-", "-", "-", "-", to_text(r[1])});
      continue;
    }
    const auto percent = [&](std::size_t i) { return fmt::format("{:.0f}", 100 * number(r[i])); };
    const bool judged = to_text(r[13]) != "unknown", brief = std::holds_alternative<std::monostate>(r[6]);
    table.row({to_text(r[0]), seconds_text(number(r[3])), number_text(number(r[4])), percent_text(number(r[5])),
               brief ? "-" : fmt::format("{}/{}/{}/{}", percent(6), percent(7), percent(8), percent(9)), bytes_text(number(r[10])) + (number(r[11]) == 0 ? " !" : ""),
               brief ? "-" : resource_text(to_text(r[12])) + (judged ? "" : "*")});
  }
  return table.text();
}

std::string table_notes(const std::vector<std::string>& keys) {
  std::string names;
  for (const std::string& key : keys) names += (names.empty() ? "" : "/") + key.substr(key.rfind('.') + 1);
  return wrap((names.empty() ? "" : "point: " + names + ". ") +
                  "split: percent of the step in compute/exposed communication/wait/bubble, mean of all GPUs. memory: the "
                  "peak of the fullest GPU; ! does not fit. *: by roofline, elasticities were not measured. -: a search measures time and memory alone.",
              page_width) +
         "\n";
}

std::string plain_table(const Selection& selection) {
  std::vector<Column> titles;
  for (std::size_t i = 0; i < selection.names.size(); ++i) {
    bool text = false;
    for (const auto& row : selection.rows) text = text || std::holds_alternative<std::string>(row[i]);
    titles.push_back({selection.names[i], text, text});
  }
  Table table(std::move(titles));
  for (const auto& row : selection.rows) {
    std::vector<std::string> cells;
    for (const Cell& cell : row) {
      const auto* value = std::get_if<double>(&cell);
      cells.push_back(value != nullptr ? fmt::format("{:.6g}", *value) : first_line(to_text(cell)));
    }
    table.row(std::move(cells));
  }
  return table.text();
}

}  // namespace stepsim
