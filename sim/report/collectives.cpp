// Calls of each kind of collective, as the rank that spends most time in them sees them.
#include <algorithm>
#include <map>
#include <tuple>

#include "sim/report/calls.hpp"
#include "sim/report/intervals.hpp"
#include "sim/report/report.hpp"

namespace stepsim {
namespace {

// Bytes on the busiest port for a byte of "size", by nccl-tests' conventions (its doc/PERFORMANCE.md).
double bus_factor(std::string_view operation, int n) {
  if (n < 1) return 0;
  const double others = static_cast<double>(n - 1) / n;
  if (operation == "all_reduce") return 2 * others;
  if (operation == "all_gather" || operation == "reduce_scatter" || operation == "all_to_all") return others;
  return 1;  // broadcast, kPointToPoint
}

// Gives every kind of call a number: (label, operation, dimension, algorithm, group size).
class Kinds {
 public:
  explicit Kinds(const StepGraph& graph) : graph_(graph) {
    std::map<std::tuple<std::string, std::string, int>, std::size_t> shapes;
    shape_.resize(graph.groups.size());
    for (std::size_t g = 0; g < graph.groups.size(); ++g) {
      for (const Pattern& pattern : graph.groups[g].patterns) {
        const std::tuple key{pattern.operation, pattern.algorithm, graph.groups[g].size};
        shape_[g].push_back(shapes.try_emplace(key, shapes.size()).first->second);
      }
    }
    number_.assign(shapes.size() * graph.labels.size() * dimensions, -1);
  }

  std::size_t number_of(std::size_t rank, const OpView& op) {
    const auto g = static_cast<std::size_t>(graph_.ranks[rank].slots[static_cast<std::size_t>(op.slot)]);
    const Group& group = graph_.groups[g];
    const Dimension dimension = dimension_of(group, op);
    const std::size_t shape = shape_[g][static_cast<std::size_t>(op.pattern)];
    const auto label = static_cast<std::size_t>(op.tags.label);
    int& number = number_[(shape * graph_.labels.size() + label) * dimensions + static_cast<std::size_t>(dimension)];
    if (number < 0) {
      number = static_cast<int>(rows.size());
      const Pattern& pattern = pattern_of(group, op);
      rows.push_back({.name = graph_.labels[label].empty() ? pattern.operation : graph_.labels[label],
                      .operation = pattern.operation,
                      .dimension = std::string(to_text(dimension)),
                      .algorithm = pattern.algorithm,
                      .group_size = group.size});
      copies.push_back(pattern.copies);
    }
    return static_cast<std::size_t>(number);
  }

  std::vector<CollectiveRow> rows;
  std::vector<double> copies;  // [row] of the payload that are sent

 private:
  static constexpr std::size_t dimensions = static_cast<std::size_t>(Dimension::reduce) + 1;
  const StepGraph& graph_;
  std::vector<std::vector<std::size_t>> shape_;  // [group][pattern]
  std::vector<int> number_;                      // [shape][label][dimension] -> row, -1: none yet
};

void count_call(CollectiveRow& row, const OpView& op, const Span& span, const Coverage& compute) {
  row.count += 1;
  row.bytes_per_rank += op.payload_bytes;
  row.busy_s += span.end - span.start;
  row.exposed_s += (span.end - span.start) - compute.within(span.start, span.end);
  if (row.operation != kPointToPoint) row.wait_s += span.start - span.ready;
}

}  // namespace

std::vector<CollectiveRow> collect_collectives(const StepGraph& graph, const Timeline& timeline) {
  Kinds kinds(graph);
  std::vector<CollectiveRow> worst;
  for (std::size_t r = 0; r < graph.ranks.size(); ++r) {
    const auto& ops = program_of(graph, r).ops;
    const Coverage compute(compute_of(graph, timeline, r));
    std::vector<CollectiveRow> mine = kinds.rows;  // counts of 0
    for (std::size_t i = 0; i < ops.size(); ++i) {
      if (ops[i].kind != OpKind::transfer) continue;
      const std::size_t number = kinds.number_of(r, ops[i]);
      if (number >= mine.size())
        mine.insert(mine.end(), kinds.rows.begin() + static_cast<long>(mine.size()), kinds.rows.end());
      count_call(mine[number], ops[i], timeline.spans[r][i], compute);
    }
    worst.resize(mine.size());
    for (std::size_t k = 0; k < mine.size(); ++k) {
      if (mine[k].count == 0 || (worst[k].count > 0 && mine[k].busy_s <= worst[k].busy_s)) continue;
      worst[k] = mine[k];
      worst[k].rank = graph.ranks[r].original;
    }
  }
  for (std::size_t k = 0; k < worst.size(); ++k) {
    CollectiveRow& row = worst[k];
    row.exposed_s = told(row.exposed_s, timeline.end);
    row.wait_s = told(row.wait_s, timeline.end);
    const double bytes = bus_factor(row.operation, row.group_size) * row.bytes_per_rank * kinds.copies[k];
    row.bus_bandwidth = row.busy_s > 0 ? bytes / row.busy_s : 0;
  }
  std::stable_sort(worst.begin(), worst.end(), [](const CollectiveRow& a, const CollectiveRow& b) {
    return std::tie(b.exposed_s, b.busy_s) < std::tie(a.exposed_s, a.busy_s);
  });
  return worst;
}

}  // namespace stepsim
