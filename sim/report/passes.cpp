// What runs on a pipeline stage when: passes by themselves, overlapped pairs, the optimizer, nothing.
#include <algorithm>

#include "sim/report/calls.hpp"
#include "sim/report/pass_windows.hpp"
#include "sim/report/report.hpp"

namespace stepsim {
namespace {

struct Piece {
  Window window;
  PassShare PassRow::* share;
};

PassShare PassRow::* share_of(PassKind kind) {
  switch (kind) {
    case PassKind::forward: return &PassRow::forward;
    case PassKind::backward: return &PassRow::backward;
    case PassKind::input_gradient: return &PassRow::input_gradient;
    default: return &PassRow::weight_gradient;
  }
}

std::vector<Piece> pieces_of(const std::vector<Pass>& order, const PassWindows& windows) {
  std::vector<Piece> pieces;
  for (std::size_t i = 0; i < order.size(); ++i) {
    Piece piece{windows.of(order[i]), share_of(order[i].kind)};
    if (order[i].paired_with_next && i + 1 < order.size()) {
      piece.window.take(windows.of(order[++i]));
      piece.share = &PassRow::pair;
    }
    if (!piece.window.empty()) pieces.push_back(piece);
  }
  std::stable_sort(pieces.begin(), pieces.end(), [](const Piece& a, const Piece& b) { return a.window.begin < b.window.begin; });
  return pieces;
}

// Cuts [0, T] at the pieces; where they touch, the earlier one has it.
void fill(PassRow& row, const std::vector<Piece>& pieces, const Intervals& busy, double step_time) {
  const Coverage coverage(busy);
  const auto outside = [&](double begin, double end) {
    const double moving = coverage.within(begin, end);
    row.optimizer_s += moving;
    row.bubble_s += end - begin - moving;
  };
  if (pieces.empty()) return outside(0, step_time);
  double now = pieces.front().window.begin;
  outside(0, now);
  for (const auto& [window, share] : pieces) {
    row.bubble_s += std::max(0.0, window.begin - now);
    PassShare& part = row.*share;
    part.seconds += std::max(0.0, window.end - std::max(now, window.begin));
    part.count += 1;
    now = std::max(now, window.end);
  }
  outside(now, step_time);
}

}  // namespace

std::vector<PassRow> pass_rows(const StepGraph& graph, const Timeline& timeline, const std::vector<PassMemory>& passes) {
  std::vector<PassRow> rows;
  std::vector<bool> seen(passes.size(), false);
  for (std::size_t r = 0; r < graph.ranks.size(); ++r) {
    const Program& program = program_of(graph, r);
    const auto stage = static_cast<std::size_t>(program.pipeline_rank);
    if (stage >= passes.size() || seen[stage]) continue;
    seen[stage] = true;
    PassRow& row = rows.emplace_back();
    row.stage = program.pipeline_rank;
    row.rank = graph.ranks[r].original;
    fill(row, pieces_of(passes[stage].order, PassWindows(program, timeline.spans[r])), busy_of(graph, timeline, r), timeline.end);
  }
  std::stable_sort(rows.begin(), rows.end(), [](const PassRow& a, const PassRow& b) { return a.stage < b.stage; });
  return rows;
}

}  // namespace stepsim
