// One point of a sweep as a row: how it ended, the numbers people compare, and its report.
#pragma once

#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "sim/report/report.hpp"

namespace stepsim {

using Cell = std::variant<std::monostate, double, std::string>;  // nothing, a number, a text
std::string to_text(const Cell& cell);                           // "" for nothing; numbers so that they read back equal

// Columns of every row, with their unit in the name. One line each in row.cpp.
struct RowColumn {
  std::string_view name;
  bool is_text;
  bool brief;  // a brief report tells it, too
  Cell (*of)(const Report&);
};
const std::vector<RowColumn>& row_columns();
int column(std::string_view name);  // its index; -1 when there is none

enum class Ending : std::uint8_t {
  done,     // simulated
  refused,  // the inputs are wrong, or the plan cannot run on this cluster
  failed,   // stepsim or its process broke
};
std::string_view to_text(Ending ending);

struct Row {
  Ending ending = Ending::done;
  std::string error;        // of a refused or failed point
  std::vector<Cell> cells;  // one for each of row_columns(), when done
  // The report as one line of JSON (schema stepsim.report/1), but without the critical path's single parts (their sums
  // stay) and without what the simulation itself took, which is not the same twice.
  std::string report;

  bool operator==(const Row&) const = default;
};

Row row_of(Report report);
Row brief_row_of(const Report& report);  // of brief_report(): other cells have nothing, and there is no report
double number_in(const Row& row, std::string_view name);  // 0 where the cell is none

}  // namespace stepsim
