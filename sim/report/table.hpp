// A table of text: aligned columns, two spaces apart, never wider than the page.
#pragma once

#include <string>
#include <vector>

namespace stepsim {

inline constexpr std::size_t page_width = 100;  // columns of a terminal report

struct Column {
  std::string title;
  bool left = false;      // alignment; numbers stand right
  bool shortens = false;  // cells are cut when the table would be too wide
};

class Table {
 public:
  explicit Table(std::vector<Column> columns) : columns_(std::move(columns)) {}

  void row(std::vector<std::string> cells);
  bool empty() const { return rows_.empty(); }
  std::size_t width() const;  // of the widest line, before anything is cut
  std::string text() const;   // title line and rows, each indented by two spaces and ended by a line break

 private:
  std::vector<std::size_t> widths() const;

  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace stepsim
