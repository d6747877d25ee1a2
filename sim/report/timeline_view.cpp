#include "sim/report/timeline_view.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <numeric>
#include <set>

#include "sim/report/calls.hpp"
#include "sim/report/path_walk.hpp"
#include "sim/report/slack.hpp"

namespace stepsim {
namespace {

using Number = long long;

struct Item {
  Number begin = 0, end = 0;
  int kind = 0, microbatch = -1, layer = -1;
  Number slack = 0;
  int count = 1;
};

struct Lane {
  std::string name, dimension;
  std::vector<Item> items;
};

struct Row {
  std::size_t rank = 0;
  std::vector<Lane> lanes;
};

// What an item is, apart from when; numbered in order of appearance.
class Kinds {
 public:
  int of(const StepGraph& graph, std::size_t rank, const OpView& op) {
    nlohmann::ordered_json json{{"name", graph.labels[static_cast<std::size_t>(op.tags.label)]},
                                {"phase", to_text(op.tags.phase)}};
    if (op.tags.chunk >= 0) json["chunk"] = op.tags.chunk;
    if (op.tags.stage >= 0) json["stage"] = op.tags.stage;
    std::string fallback = op.kind == OpKind::compute ? "compute" : "delay";
    if (op.kind == OpKind::transfer) {
      const Group& group = group_of(graph, rank, op);
      fallback = pattern_of(group, op).operation;
      json.update({{"dimension", to_text(dimension_of(group, op))},
                   {"operation", fallback},
                   {"algorithm", pattern_of(group, op).algorithm},
                   {"group_size", group.size}});
    }
    if (op.tags.label == 0) json["name"] = fallback;
    return number(json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
  }
  int wait(std::string_view dimension) {
    return number(nlohmann::ordered_json{{"name", "wait"}, {"phase", "wait"}, {"dimension", dimension}}.dump());
  }
  const std::vector<std::string>& all() const { return list_; }

 private:
  int number(std::string text) {
    const auto [found, isnew] = numbers_.try_emplace(std::move(text), static_cast<int>(list_.size()));
    if (isnew) list_.push_back(found->first);
    return found->second;
  }

  std::map<std::string, int> numbers_;
  std::vector<std::string> list_;
};

class View {
 public:
  View(const StepGraph& graph, const Timeline& timeline) : graph_(graph), timeline_(timeline) {
    // Nanoseconds, or coarser for steps of days: all numbers stay whole in a double.
    while (timeline.end / unit_ > 1e15) unit_ *= 10;
  }

  std::string run(std::size_t most_items, std::size_t most_ranks) {
    const auto slack = slack_of(graph_, timeline_);
    for (const std::size_t r : shown_ranks(graph_, timeline_, most_ranks)) add_row(r, slack[r]);
    merge(most_items);
    std::string text =
        fmt::format(R"({{"end_s":{},"unit_s":{},"merged_below_s":{},"ranks":{},"ranks_simulated":{},)", timeline_.end,
                    unit_, static_cast<double>(resolution_) * unit_, rows_.size(), graph_.ranks.size());
    write_rows(text);
    write_path(text);
    fmt::format_to(std::back_inserter(text), "\"kinds\":[\n{}\n]}}", fmt::join(kinds_.all(), ",\n"));
    return text;
  }

 private:
  Number whole(double seconds) const { return std::llround(seconds / unit_); }

  void add_row(std::size_t r, const std::vector<double>& slack) {
    const Program& program = program_of(graph_, r);
    Row row{r, {}};
    for (const Stream& stream : program.streams) {
      row.lanes.push_back({stream.name, std::string(to_text(stream.dimension)), {}});
    }
    for (std::size_t i = 0; i < program.ops.size(); ++i) add_op(row, program.ops[i], timeline_.spans[r][i], slack[i]);
    std::erase_if(row.lanes, [](const Lane& lane) { return lane.items.empty(); });
    rows_.push_back(std::move(row));
  }

  void add_op(Row& row, const OpView& op, const Span& span, double slack) {
    Lane& lane = row.lanes[op.stream];
    const Number begin = whole(span.start), end = whole(span.end);
    if (op.kind == OpKind::transfer) {
      const Group& group = group_of(graph_, row.rank, op);
      lane.dimension = to_text(dimension_of(group, op));
      const bool posted = pattern_of(group, op).operation == kPointToPoint;  // ready from the beginning: no wait
      // A stream runs its ops in order, so that a wait begins after the item before it.
      if (const Number ready = whole(span.ready); ready < begin && !posted) {
        lane.items.push_back({ready, begin, kinds_.wait(lane.dimension), op.tags.microbatch, op.tags.layer, -1, 1});
      }
    }
    if (end > begin) {
      lane.items.push_back(
          {begin, end, kinds_.of(graph_, row.rank, op), op.tags.microbatch, op.tags.layer, whole(slack), 1});
    }
  }

  std::size_t count_at(Number resolution) const {
    std::size_t count = 0;
    for (const Row& row : rows_) {
      for (const Lane& lane : row.lanes) {
        Number begin = 0;
        bool open = false;
        for (const Item& item : lane.items) {
          const bool joins = open && item.end - begin <= resolution;
          if (joins) continue;
          ++count;
          begin = item.begin;
          open = item.end - item.begin <= resolution;
        }
      }
    }
    return count;
  }

  void merge(std::size_t most_items) {
    if (count_at(0) <= most_items) return;
    resolution_ = std::max<Number>(1, whole(timeline_.end / (1 << 20)));
    while (count_at(resolution_) > most_items && resolution_ < whole(timeline_.end)) resolution_ += resolution_ / 4 + 1;
    for (Row& row : rows_) {
      for (Lane& lane : row.lanes) lane.items = merged(lane.items);
    }
  }

  std::vector<Item> merged(const std::vector<Item>& items) const {
    std::vector<Item> result;
    Number longest = 0;  // part of the last item
    for (const Item& item : items) {
      if (result.empty() || item.end - result.back().begin > resolution_) {
        result.push_back(item);
        longest = item.end - item.begin;
        continue;
      }
      Item& last = result.back();
      last.end = item.end;
      last.count += item.count;
      if (item.slack >= 0) last.slack = last.slack < 0 ? item.slack : std::min(last.slack, item.slack);
      if (last.microbatch != item.microbatch) last.microbatch = -1;
      if (last.layer != item.layer) last.layer = -1;
      if (item.end - item.begin > longest) {
        longest = item.end - item.begin;
        last.kind = item.kind;
      }
    }
    return result;
  }

  void write_rows(std::string& text) const {
    text += "\"rows\":[";
    for (const Row& row : rows_) {
      const Rank& rank = graph_.ranks[row.rank];
      fmt::format_to(std::back_inserter(text), R"({}{{"rank":{},"count":{},"stage":{},"lanes":[)",
                     &row == &rows_.front() ? "\n" : ",\n", rank.original, rank.count,
                     program_of(graph_, row.rank).pipeline_rank);
      for (const Lane& lane : row.lanes) {
        fmt::format_to(std::back_inserter(text), R"({}{{"name":{},"dimension":"{}","items":[)",
                       &lane == &row.lanes.front() ? "\n" : ",\n", nlohmann::json(lane.name).dump(), lane.dimension);
        Number last = 0;
        for (const Item& i : lane.items) {
          fmt::format_to(std::back_inserter(text), "{}{},{},{},{},{},{},{}", &i == &lane.items.front() ? "" : ",",
                         i.begin - last, i.end - i.begin, i.kind, i.microbatch, i.layer, i.slack, i.count);
          last = i.end;
        }
        text += "]}";
      }
      text += "]}";
    }
    text += "],\n";
  }

  void write_path(std::string& text) {
    std::vector<int> row_of(graph_.ranks.size(), -1);
    for (std::size_t i = 0; i < rows_.size(); ++i) row_of[rows_[i].rank] = static_cast<int>(i);
    text += "\"path\":[";
    bool first = true;
    for (const PathStep& step : walk_path(graph_, timeline_)) {
      if (step.op < 0) continue;
      const OpView op = program_of(graph_, step.rank).ops[static_cast<std::size_t>(step.op)];
      fmt::format_to(std::back_inserter(text), "{}{},{},{},{}", first ? "" : ",", row_of[step.rank], whole(step.begin),
                     whole(step.end) - whole(step.begin), kinds_.of(graph_, step.rank, op));
      first = false;
    }
    text += "],\n";
  }

  const StepGraph& graph_;
  const Timeline& timeline_;
  double unit_ = 1e-9;
  Number resolution_ = 0;
  Kinds kinds_;
  std::vector<Row> rows_;
};

}  // namespace

std::vector<std::size_t> shown_ranks(const StepGraph& graph, const Timeline& timeline, std::size_t most) {
  std::vector<std::size_t> all(graph.ranks.size());
  std::iota(all.begin(), all.end(), std::size_t{0});
  if (all.size() <= most) return all;
  std::set<std::size_t> chosen;
  std::set<std::pair<std::int32_t, double>> seen;
  for (const std::size_t r : all) {
    if (chosen.size() < most && seen.insert({graph.ranks[r].program, graph.ranks[r].speed}).second) chosen.insert(r);
  }
  std::vector<double> on_path(graph.ranks.size(), 0);
  for (const PathStep& step : walk_path(graph, timeline)) on_path[step.rank] += step.end - step.begin;
  std::stable_sort(all.begin(), all.end(), [&](std::size_t a, std::size_t b) { return on_path[a] > on_path[b]; });
  for (const std::size_t r : all) {
    if (chosen.size() < most && on_path[r] > 0) chosen.insert(r);
  }
  return {chosen.begin(), chosen.end()};
}

std::string timeline_json(const StepGraph& graph, const Timeline& timeline, std::size_t most_items,
                          std::size_t most_ranks) {
  return View(graph, timeline).run(most_items, most_ranks);
}

}  // namespace stepsim
