#include "sim/report/table.hpp"

#include <algorithm>
#include <cassert>

namespace stepsim {
namespace {

constexpr std::size_t indent = 2, gap = 2, shortest = 6;

// The end of a name tells names apart as often as its beginning: cut the middle.
std::string cut(const std::string& text, std::size_t width) {
  if (text.size() <= width) return text;
  const std::size_t tail = (width - 2) / 2;
  return text.substr(0, width - 2 - tail) + ".." + text.substr(text.size() - tail);
}

std::size_t total(const std::vector<std::size_t>& widths) {
  std::size_t sum = indent + gap * (widths.size() - 1);
  for (const std::size_t width : widths) sum += width;
  return sum;
}

}  // namespace

void Table::row(std::vector<std::string> cells) {
  assert(cells.size() == columns_.size());
  rows_.push_back(std::move(cells));
}

std::vector<std::size_t> Table::widths() const {
  std::vector<std::size_t> widths;
  for (std::size_t c = 0; c < columns_.size(); ++c) {
    std::size_t width = columns_[c].title.size();
    for (const auto& row : rows_) width = std::max(width, row[c].size());
    widths.push_back(width);
  }
  return widths;
}

std::size_t Table::width() const {
  return total(widths());
}

std::string Table::text() const {
  auto width = widths();
  while (total(width) > page_width) {
    std::size_t widest = columns_.size();
    for (std::size_t c = 0; c < columns_.size(); ++c) {
      if (columns_[c].shortens && width[c] > shortest && (widest == columns_.size() || width[c] > width[widest]))
        widest = c;
    }
    if (widest == columns_.size()) break;
    --width[widest];
  }
  std::string text;
  const auto line = [&](const auto& cell) {
    std::string out(indent, ' ');
    for (std::size_t c = 0; c < columns_.size(); ++c) {
      const std::string content = cut(cell(c), width[c]);
      const std::string padding(width[c] - content.size(), ' ');
      out += (c > 0 ? std::string(gap, ' ') : "") + (columns_[c].left ? content + padding : padding + content);
    }
    out.erase(out.find_last_not_of(' ') + 1);
    text += out + '\n';
  };
  line([&](std::size_t c) -> const std::string& { return columns_[c].title; });
  for (const auto& row : rows_) line([&](std::size_t c) -> const std::string& { return row[c]; });
  return text;
}

}  // namespace stepsim
