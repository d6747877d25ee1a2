#include "workloads/schedule_csv.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <fstream>
#include <map>
#include <sstream>

#include "sim/base/errors.hpp"
#include "sim/base/read_files.hpp"
#include "workloads/pass_index.hpp"
#include "workloads/schedule_csv_cells.hpp"

namespace stepsim {

namespace {

// A row of the file, while it is read.
struct Row {
  int line = 0;
  std::vector<Action> actions;
};

std::vector<Row> read_rows(std::string_view text, const std::string& file, std::vector<Problem>& problems) {
  std::vector<Row> rows;
  int line = 0, last_line = 0;
  for (std::string_view text_line : split(text, '\n')) {
    Row row{++line, {}};
    for (std::string_view cell : split(text_line, ',')) {
      const std::string wrong = read_cell(trimmed(cell), row.actions);
      if (!wrong.empty()) problems.push_back({file, line, "", wrong});
    }
    if (!row.actions.empty()) last_line = line;
    rows.push_back(std::move(row));
  }
  rows.resize(last_line);  // what follows the last pass is white space
  for (const Row& row : rows) {
    if (row.actions.empty() && problems.empty()) {
      problems.push_back({file, row.line, "", fmt::format("rank {} has no pass", row.line - 1)});
    }
  }
  if (rows.empty() && problems.empty())
    problems.push_back({file, 0, "", "no pass at all: a row a pipeline rank is due"});
  return rows;
}

// Stages and microbatches counted from the largest that occurs; what that makes missing, problems_of() will name. But a
// number so large that hardly any of its passes are there is a slip of the pen, and would cost memory to list.
void count(const std::vector<Row>& rows, const std::string& file, Schedule& schedule, std::vector<Problem>& problems) {
  std::size_t passes = 0;
  for (const Row& row : rows) {
    passes += row.actions.size();
    for (const Action& action : row.actions) {
      schedule.stages = std::max(schedule.stages, action.stage + 1);
      schedule.microbatches = std::max(schedule.microbatches, action.microbatch + 1);
    }
  }
  const double due = 2.0 * schedule.stages * schedule.microbatches;
  if (due > 4.0 * passes + 1000) {
    problems.push_back({file, 0, "",
                        fmt::format("stages up to {} and microbatches up to {} need at least {:.0f} passes, "
                                    "but there are {}",
                                    schedule.stages - 1, schedule.microbatches - 1, due, passes)});
  }
}

void set_directions(const std::vector<Row>& rows, const std::string& file, Schedule& schedule,
                    std::vector<Problem>& problems) {
  constexpr int unknown = -1;
  schedule.microbatch_direction.assign(schedule.microbatches, unknown);
  for (const Row& row : rows) {
    for (const Action& action : row.actions) {
      int& direction = schedule.microbatch_direction[action.microbatch];
      if (direction == unknown) direction = action.direction;
      if (direction == action.direction) continue;
      problems.push_back(
          {file, row.line, "",
           fmt::format("microbatch {} runs in both directions (with and without r)", action.microbatch)});
    }
  }
  for (int& direction : schedule.microbatch_direction) direction = std::max(direction, 0);
}

void place_stages(const std::vector<Row>& rows, Schedule& schedule) {
  for (const Row& row : rows) {
    std::map<std::pair<int, int>, int> chunk_of;  // (direction, stage)
    for (const Action& action : row.actions) chunk_of[{action.direction, action.stage}] = 0;
    std::vector<int> stages, directions;
    for (auto& [key, chunk] : chunk_of) {
      chunk = static_cast<int>(stages.size());
      directions.push_back(key.first);
      stages.push_back(key.second);
    }
    std::vector<Pass> order;
    for (const Action& action : row.actions) {
      const int chunk = chunk_of[{action.direction, action.stage}];
      order.push_back({action.kind, action.microbatch, chunk, action.paired_with_next});
    }
    schedule.placement.push_back(std::move(stages));
    schedule.direction.push_back(std::move(directions));
    schedule.order.push_back(std::move(order));
  }
}

// The row of the rank that a reason of problems_of() names first; 0 where it names none.
int line_of(const std::string& reason) {
  const std::size_t at = reason.find("rank ");
  int rank = -1;
  if (at != std::string::npos) std::from_chars(reason.data() + at + 5, reason.data() + reason.size(), rank);
  return rank + 1;
}

std::string action_text(const Schedule& schedule, int rank, const Pass& pass) {
  return fmt::format("{}{}{}{}", schedule.placement[rank][pass.chunk],
                     schedule.direction[rank][pass.chunk] == 1 ? "r" : "", letter_of(pass.kind), pass.microbatch);
}

}  // namespace

std::string schedule_to_csv(const Schedule& schedule) {
  std::string csv;
  for (int rank = 0; rank < schedule.ranks(); ++rank) {
    const std::vector<Pass>& order = schedule.order[rank];
    for (std::size_t i = 0; i < order.size(); ++i) {
      if (i > 0) csv += ',';
      if (order[i].paired_with_next && i + 1 < order.size()) {
        csv += fmt::format("({};{}){}", action_text(schedule, rank, order[i]),
                           action_text(schedule, rank, order[i + 1]), overlap_action);
        ++i;
      } else {
        csv += action_text(schedule, rank, order[i]);
      }
    }
    csv += '\n';
  }
  return csv;
}

Schedule schedule_from_csv(std::string_view text, const std::string& file) {
  std::vector<Problem> problems;
  Schedule schedule;
  const std::vector<Row> rows = read_rows(text, file, problems);
  if (problems.empty()) count(rows, file, schedule, problems);
  if (problems.empty()) set_directions(rows, file, schedule, problems);
  if (problems.empty()) {
    place_stages(rows, schedule);
    for (const std::string& reason : problems_of(schedule)) problems.push_back({file, line_of(reason), "", reason});
  }
  if (!problems.empty()) throw InputError(std::move(problems));
  return schedule;
}

Schedule read_schedule_csv(const std::string& path) {
  note_read(path);
  std::ifstream in(path, std::ios::binary);
  std::ostringstream text;
  if (in) text << in.rdbuf();
  if (!in || in.bad()) throw InputError({{path, 0, "", "cannot be read"}});
  return schedule_from_csv(text.str(), path);
}

}  // namespace stepsim
