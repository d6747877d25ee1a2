#include "sim/explore/row.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cassert>

#include "sim/report/derived.hpp"
#include "sim/report/json.hpp"

namespace stepsim {
namespace {

double peak_memory(const Report& r) {
  const RankRow* fullest = fullest_rank(r);
  return fullest == nullptr ? 0 : fullest->peak_memory_bytes;
}

}  // namespace

const std::vector<RowColumn>& row_columns() {
  static const std::vector<RowColumn> table = {
      {"model", true, true, [](const Report& r) -> Cell { return r.inputs.model; }},
      {"cluster", true, true, [](const Report& r) -> Cell { return r.inputs.cluster; }},
      {"plan", true, true, [](const Report& r) -> Cell { return r.inputs.plan; }},
      {"scenario", true, true, [](const Report& r) -> Cell { return r.inputs.scenario; }},
      {"parallelism", true, true, [](const Report& r) -> Cell { return r.inputs.parallelism; }},
      {"schedule", true, true, [](const Report& r) -> Cell { return r.inputs.schedule; }},
      {"gpus", false, true, [](const Report& r) -> Cell { return static_cast<double>(r.inputs.gpus); }},
      {"step_time_s", false, true, [](const Report& r) -> Cell { return r.step_time_s; }},
      {"tokens_per_step", false, true, [](const Report& r) -> Cell { return r.facts.tokens_per_step; }},
      {"tokens_per_s_per_gpu", false, true, [](const Report& r) -> Cell { return tokens_per_second_per_gpu(r); }},
      {"mfu", false, true, [](const Report& r) -> Cell { return model_utilisation(r); }},
      {"hfu", false, true, [](const Report& r) -> Cell { return hardware_utilisation(r); }},
      {"compute_share", false, false, [](const Report& r) -> Cell { return mean_shares(r).compute; }},
      {"exposed_communication_share", false, false, [](const Report& r) -> Cell { return mean_shares(r).exposed; }},
      {"wait_share", false, false, [](const Report& r) -> Cell { return mean_shares(r).wait; }},
      {"bubble_share", false, false, [](const Report& r) -> Cell { return mean_shares(r).bubble; }},
      {"peak_memory_bytes", false, true, [](const Report& r) -> Cell { return peak_memory(r); }},
      {"fits", false, true, [](const Report& r) -> Cell { return fits_in_memory(r) ? 1.0 : 0.0; }},
      {"roofline_bound", true, false, [](const Report& r) -> Cell { return r.roofline.bound; }},
      {"roofline_compute_s", false, false, [](const Report& r) -> Cell { return r.roofline.compute_s; }},
      {"roofline_wire_s", false, false, [](const Report& r) -> Cell { return largest_wire(r).seconds; }},
      {"bound", true, false, [](const Report& r) -> Cell { return r.verdict.bound; }},
      {"bound_by", true, false, [](const Report& r) -> Cell { return bound_by(r); }},
  };
  return table;
}

int column(std::string_view name) {
  const auto& all = row_columns();
  const auto it = std::find_if(all.begin(), all.end(), [&](const RowColumn& c) { return c.name == name; });
  return it == all.end() ? -1 : static_cast<int>(it - all.begin());
}

std::string to_text(const Cell& cell) {
  if (const auto* number = std::get_if<double>(&cell)) return fmt::format("{}", *number);
  if (const auto* text = std::get_if<std::string>(&cell)) return *text;
  return "";
}

std::string_view to_text(Ending ending) {
  constexpr std::array<std::string_view, 3> kNames{"done", "refused", "failed"};
  return kNames[static_cast<std::size_t>(ending)];
}

Row row_of(Report report) {
  Row row;
  for (const RowColumn& c : row_columns()) row.cells.push_back(c.of(report));
  report.critical_path.parts.clear();
  nlohmann::ordered_json json = json_of(report);
  if (json.contains("engine")) {
    json["engine"].erase("wall_s");
    json["engine"].erase("peak_rss_bytes");
  }
  row.report = json.dump();
  return row;
}

Row brief_row_of(const Report& report) {
  Row row;
  for (const RowColumn& c : row_columns()) row.cells.push_back(c.brief ? c.of(report) : Cell{});
  return row;
}

double number_in(const Row& row, std::string_view name) {
  const int index = column(name);
  assert(index >= 0);
  if (index >= static_cast<int>(row.cells.size())) return 0;
  const auto* number = std::get_if<double>(&row.cells[static_cast<std::size_t>(index)]);
  return number == nullptr ? 0 : *number;
}

}  // namespace stepsim
