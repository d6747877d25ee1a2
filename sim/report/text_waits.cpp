// Who waits for whom, for people: a row for each kind of rank that others wait for, at once or, where a slow rank made
// others late, through them.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "sim/report/table.hpp"
#include "sim/report/text_sections.hpp"
#include "sim/report/words.hpp"

namespace stepsim {
namespace {

constexpr std::size_t most_causes = 8;
constexpr double noise = 1e-6;  // of the step: below this nobody waits for anybody

struct Cause {
  int rank = 0, count = 0, stage = 0;
  double speed = 1;
  std::set<int> waiting;  // lowest ranks of the kinds that wait
  int gpus = 0;
  std::set<int> stages;
  double longest = 0, sum = 0;  // seconds of a GPU, of all
};

// "0-3, 7"
std::string ranges(const std::set<int>& numbers) {
  std::string text;
  for (auto at = numbers.begin(); at != numbers.end();) {
    const int first = *at;
    int last = first;
    while (++at != numbers.end() && *at == last + 1) last = *at;
    text += fmt::format("{}{}{}", text.empty() ? "" : ", ", first, last > first ? fmt::format("-{}", last) : "");
  }
  return text;
}

std::vector<Cause> causes_of(const Report& report) {
  std::map<int, Cause> by_rank;
  std::map<int, const RankRow*> ranks;
  for (const RankRow& row : report.ranks) ranks[row.rank] = &row;
  for (const WaitRow& row : report.waits) {
    if (row.wait_s < noise * report.step_time_s) continue;
    const auto slow = ranks.find(row.slow_rank);
    const int rank = slow == ranks.end() ? row.for_rank : row.slow_rank;
    Cause& cause = by_rank[rank];
    cause.rank = rank;
    cause.count = slow == ranks.end() ? row.for_count : slow->second->count;
    cause.stage = slow == ranks.end() ? row.for_stage : slow->second->stage;
    cause.speed = std::min(cause.speed, slow == ranks.end() ? row.for_speed : row.slow_speed);
    if (cause.waiting.insert(row.rank).second) cause.gpus += row.count;
    cause.stages.insert(row.stage);
    cause.longest = std::max(cause.longest, row.wait_s);
    cause.sum += row.count * row.wait_s;
  }
  std::vector<Cause> causes;
  for (auto& [rank, cause] : by_rank) causes.push_back(std::move(cause));
  std::stable_sort(causes.begin(), causes.end(), [](const Cause& a, const Cause& b) { return a.sum > b.sum; });
  return causes;
}

}  // namespace

std::string waits_section(const Report& report) {
  const std::vector<Cause> causes = causes_of(report);
  if (causes.empty()) return "";
  Table table({{"rank"},
               {"alike"},
               {"stage"},
               {"speed"},
               {"GPUs that wait for it"},
               {"their stages", true, true},
               {"longest"},
               {"GPU-seconds"}});
  const std::size_t shown = std::min(most_causes, causes.size());
  double left = 0;
  for (std::size_t i = shown; i < causes.size(); ++i) left += causes[i].sum;
  for (std::size_t i = 0; i < shown; ++i) {
    const Cause& c = causes[i];
    table.row({std::to_string(c.rank), number_text(c.count), std::to_string(c.stage), fmt::format("{:.3g}", c.speed),
               number_text(c.gpus), ranges(c.stages), seconds_text(c.longest), number_text(c.sum)});
  }
  std::string text =
      "Who waits for whom (in collectives; for the last to come, or for the slow rank that made it late)\n" +
      table.text();
  if (causes.size() > shown) {
    text += fmt::format("  ({} more ranks, {} GPU-seconds, not shown; --json has all)\n",
                        number_text(static_cast<double>(causes.size() - shown)), number_text(left));
  }
  return text;
}

}  // namespace stepsim
