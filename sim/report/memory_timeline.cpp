// Memory over time, from the times of the passes.
#include <algorithm>

#include "sim/report/pass_windows.hpp"
#include "sim/report/report.hpp"

namespace stepsim {
namespace {

struct Growth {
  double time = 0;
  double bytes = 0;
};

// What a pass adds when it starts and frees when it ends.
void add_pass(std::vector<Growth>& changes, const Pass& pass, const ChunkActivations& a, const Window& window) {
  if (window.empty()) return;  // computes nothing
  const double running = pass.kind == PassKind::weight_gradient ? 0 : (a.transient + a.logits).value;
  double kept = 0, freed = 0;
  if (pass.kind == PassKind::forward) kept = a.kept.value;
  if (pass.kind == PassKind::backward) freed = a.kept.value;
  if (pass.kind == PassKind::input_gradient) freed = (a.kept - a.weight_grad_kept).value;
  if (pass.kind == PassKind::weight_gradient) freed = a.weight_grad_kept.value;
  changes.push_back({window.begin, running + kept});
  changes.push_back({window.end, -(running + freed)});
}

using Points = std::vector<std::pair<double, double>>;

// At one time what is freed is freed before the next pass allocates.
Points summed(std::vector<Growth> changes, double constant, double end) {
  std::stable_sort(changes.begin(), changes.end(), [](const Growth& a, const Growth& b) {
    return a.time != b.time ? a.time < b.time : a.bytes < b.bytes;
  });
  Points points{{0, constant}};
  double now = constant;
  for (std::size_t i = 0; i < changes.size(); ++i) {
    now += changes[i].bytes;
    if (i + 1 < changes.size() && changes[i + 1].time == changes[i].time) continue;
    if (points.back().first == changes[i].time) {
      points.back().second = now;
    } else {
      points.emplace_back(changes[i].time, now);
    }
  }
  if (points.back() != std::pair(end, now)) points.emplace_back(end, now);
  return points;
}

// The highest and the lowest point of each piece of the step.
Points thinned(const Points& points, int most) {
  if (static_cast<int>(points.size()) <= most) return points;
  const int pieces = std::max(1, most / 2 - 1);
  const double end = points.back().first;
  Points kept{points.front()};
  for (std::size_t i = 1; i + 1 < points.size();) {
    const auto piece = [&](std::size_t at) { return static_cast<int>(points[at].first / end * pieces); };
    std::size_t high = i, low = i, next = i;
    for (; next + 1 < points.size() && piece(next) == piece(i); ++next) {
      if (points[next].second > points[high].second) high = next;
      if (points[next].second < points[low].second) low = next;
    }
    kept.push_back(points[std::min(high, low)]);
    if (high != low) kept.push_back(points[std::max(high, low)]);
    i = next;
  }
  kept.push_back(points.back());
  return kept;
}

}  // namespace

std::vector<MemoryTimeline> memory_timeline(const StepGraph& graph, const Timeline& timeline,
                                            const std::vector<PassMemory>& passes, int most_points) {
  std::vector<MemoryTimeline> result;
  std::vector<bool> seen(passes.size(), false);
  for (std::size_t r = 0; r < graph.ranks.size(); ++r) {
    const Program& program = graph.programs[static_cast<std::size_t>(graph.ranks[r].program)];
    const auto stage = static_cast<std::size_t>(program.pipeline_rank);
    if (stage >= passes.size() || seen[stage]) continue;
    seen[stage] = true;
    const PassMemory& memory = passes[stage];
    const PassWindows windows(program, timeline.spans[r]);
    std::vector<Growth> changes;
    for (const Pass& pass : memory.order) {
      add_pass(changes, pass, memory.chunks[static_cast<std::size_t>(pass.chunk)], windows.of(pass));
    }
    result.push_back({program.pipeline_rank, graph.ranks[r].original,
                      thinned(summed(std::move(changes), memory.constant, timeline.end), most_points)});
  }
  std::stable_sort(result.begin(), result.end(), [](const auto& a, const auto& b) { return a.stage < b.stage; });
  return result;
}

}  // namespace stepsim
