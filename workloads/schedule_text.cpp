#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "workloads/pass_index.hpp"
#include "workloads/schedule_drawing.hpp"

namespace stepsim {

namespace {

std::string label(const Schedule& schedule, int rank, const Pass& pass) {
  const std::string name = fmt::format("{}{}", letter_of(pass.kind), pass.microbatch);
  if (schedule.placement[rank].size() == 1) return name;
  return fmt::format("{}{}", schedule.placement[rank][pass.chunk], name);
}

using Line = std::vector<std::string>;  // what stands in each slot of a rank

Line row_of(const Schedule& schedule, const ScheduleTimes& times, int rank, Seconds slot, int slots) {
  Line row(slots, ".");
  const std::vector<Pass>& order = schedule.order[rank];
  for (std::size_t i = 0; i < order.size(); ++i) {
    const PassSpan& span = times.spans[rank][i];
    std::string name = label(schedule, rank, order[i]);
    if (order[i].paired_with_next) name += "&" + label(schedule, rank, order[++i]);
    const int first = static_cast<int>(std::lround(span.start / slot));
    const int last = std::max(first + 1, static_cast<int>(std::lround(span.end / slot)));
    if (last > static_cast<int>(row.size())) row.resize(last, ".");
    row[first] = name;
    std::fill(row.begin() + first + 1, row.begin() + last, "-");
  }
  return row;
}

}  // namespace

PassTimes unit_times() {
  PassTimes times;
  times.stages = {{Seconds(1), Seconds(1), Seconds(1)}};
  return times;
}

std::string schedule_to_text(const Schedule& schedule, const PassTimes& pass_times, Seconds slot, int width) {
  const ScheduleTimes times = times_of(schedule, pass_times);
  const int slots = static_cast<int>(std::lround(times.makespan / slot));
  std::vector<Line> rows;
  std::size_t cell = 1, columns = 0;
  for (int rank = 0; rank < schedule.ranks(); ++rank) {
    rows.push_back(row_of(schedule, times, rank, slot, slots));
    for (const std::string& name : rows.back()) cell = std::max(cell, name.size());
    columns = std::max(columns, rows.back().size());
  }
  const std::string head = "rank ";
  const std::size_t number = fmt::format("{}", schedule.ranks() - 1).size();
  const std::size_t room = width <= 0 ? columns : std::max(1, width - static_cast<int>(head.size() + number));
  const std::size_t block =
      width <= 0 ? std::max<std::size_t>(1, columns) : std::max<std::size_t>(1, room / (cell + 1));
  std::string text;
  for (std::size_t first = 0; first < columns; first += block) {
    if (columns > block) text += fmt::format("slots {} to {}\n", first, std::min(columns, first + block) - 1);
    for (int rank = 0; rank < schedule.ranks(); ++rank) {
      std::string line = fmt::format("{}{:>{}}", head, rank, number);
      for (std::size_t i = first; i < std::min(rows[rank].size(), first + block); ++i) {
        line += fmt::format(" {:<{}}", rows[rank][i], cell);
      }
      line.erase(line.find_last_not_of(' ') + 1);
      text += line + "\n";
    }
  }
  return text;
}

}  // namespace stepsim
