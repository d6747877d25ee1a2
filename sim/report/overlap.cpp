// Which communication costs nothing, and which overlap only moves the waiting.
#include <algorithm>

#include "sim/report/calls.hpp"
#include "sim/report/report.hpp"
#include "sim/report/slack.hpp"

namespace stepsim {
namespace {

using Key = std::pair<std::string, Dimension>;

struct Sum {
  OverlapRow row;    // sums until run() divides them
  double calls = 0;  // weighted by the ranks that they stand for
};

class Overlaps {
 public:
  Overlaps(const StepGraph& graph, const Timeline& timeline, const StepIndex& index)
      : graph_(graph), timeline_(timeline), slack_(slack_of(graph, timeline, index)), known_(graph.labels.size() * kDimensions, nullptr) {}

  std::vector<OverlapRow> run() {
    double ranks = 0;
    for (std::size_t r = 0; r < graph_.ranks.size(); ++r) {
      ranks += graph_.ranks[r].count;
      add(r);
    }
    std::vector<OverlapRow> rows;
    for (auto& [key, sum] : sums_) {
      for (double* part :
           {&sum.row.hidden_free_s, &sum.row.hidden_critical_s, &sum.row.exposed_free_s, &sum.row.exposed_critical_s}) {
        *part /= ranks;
      }
      sum.row.mean_slack_s /= sum.calls;
      rows.push_back(std::move(sum.row));
    }
    const auto moving = [](const OverlapRow& r) {
      return r.hidden_free_s + r.hidden_critical_s + r.exposed_free_s + r.exposed_critical_s;
    };
    std::stable_sort(rows.begin(), rows.end(),
                     [&](const OverlapRow& a, const OverlapRow& b) { return moving(a) > moving(b); });
    return rows;
  }

 private:
  void add(std::size_t r) {
    const Coverage compute(compute_of(graph_, timeline_, r));
    const int count = graph_.ranks[r].count;
    const auto& ops = program_of(graph_, r).ops;
    for (std::size_t i = 0; i < ops.size(); ++i) {
      if (ops[i].kind != OpKind::transfer) continue;
      const Span& span = timeline_.spans[r][i];
      const double hidden = compute.within(span.start, span.end);
      const double exposed = std::max(0.0, span.end - span.start - hidden);
      Sum& sum = sum_of(r, ops[i]);
      const bool critical = is_critical(slack_[r][i], timeline_);
      (critical ? sum.row.hidden_critical_s : sum.row.hidden_free_s) += count * hidden;
      (critical ? sum.row.exposed_critical_s : sum.row.exposed_free_s) += count * exposed;
      sum.row.mean_slack_s += count * slack_[r][i];
      sum.calls += count;
    }
  }

  Sum& sum_of(std::size_t r, const OpView& op) {
    const Group& group = group_of(graph_, r, op);
    const Dimension dimension = dimension_of(group, op);
    const std::string& label = graph_.labels[static_cast<std::size_t>(op.tags.label)];
    // Found by its name once for each label and dimension: there are as many calls as events.
    Sum*& known = known_[static_cast<std::size_t>(op.tags.label) * kDimensions + static_cast<std::size_t>(dimension)];
    if (known != nullptr && !label.empty()) return *known;
    Sum& sum = sums_[{label.empty() ? pattern_of(group, op).operation : label, dimension}];
    known = &sum;
    if (sum.row.name.empty()) {
      sum.row.name = label.empty() ? pattern_of(group, op).operation : label;
      sum.row.dimension = to_text(dimension);
    }
    return sum;
  }

  const StepGraph& graph_;
  const Timeline& timeline_;
  std::vector<std::vector<double>> slack_;
  std::map<Key, Sum> sums_;
  static constexpr std::size_t kDimensions = static_cast<std::size_t>(Dimension::reduce) + 1;
  std::vector<Sum*> known_;  // [label][dimension]
};

}  // namespace

std::vector<OverlapRow> collect_overlap(const StepGraph& graph, const Timeline& timeline, const StepIndex& index) {
  return Overlaps(graph, timeline, index).run();
}

}  // namespace stepsim
