// How each rank spends the step.
#include <algorithm>

#include "sim/graph/changes.hpp"
#include "sim/report/calls.hpp"
#include "sim/report/intervals.hpp"
#include "sim/report/report.hpp"

namespace stepsim {
namespace {

// [0, T] is cut into compute, exposed communication, wait and bubble, each the length of a set of its own, so that
// their sum shows whether the cut is right.
void split_time(RankRow& row, const Activity& activity, double step_time) {
  const Intervals busy = unite(activity.compute, activity.moving);
  row.compute_s = length(activity.compute);
  row.overlapped_communication_s = told(length(intersect(activity.compute, activity.moving)), step_time);
  row.exposed_communication_s = told(length(subtract(activity.moving, activity.compute)), step_time);
  row.wait_s = told(length(subtract(activity.waiting, busy)), step_time);
  row.bubble_s = told(length(subtract({{0, step_time}}, unite(busy, activity.waiting))), step_time);
  row.idle_s = row.wait_s + row.bubble_s;
}

// Seconds that the rank's kernels need at the speed of light. A slow rank's arithmetic is slow, its memory is not.
void sum_work(RankRow& row, const Program& program, double speed) {
  const OpTable& ops = program.ops;
  for (std::size_t s = 0; s < ops.specs().size(); ++s) {
    const OpSpec& op = ops.specs()[s];
    if (op.kind != OpKind::compute) continue;
    row.flops += ops.uses()[s] * op.work.flops;
    row.compute_roofline_s += ops.uses()[s] * op.work.compute_seconds / speed;
    row.hbm_roofline_s += ops.uses()[s] * op.work.hbm_seconds;
  }
}

void sum_wires(std::vector<RankRow>& rows, const StepGraph& graph, const Timeline& timeline) {
  const auto bytes = link_bytes(graph, timeline);
  for (RankRow& row : rows) {
    row.wire_bytes.assign(graph.tiers.size(), 0);
    row.wire_roofline_s.assign(graph.tiers.size(), 0);
  }
  const auto see = [&](std::size_t l, RankId rank) {
    const GraphLink& link = graph.links[l];
    if (link.tier < 0) return;
    RankRow& row = rows[static_cast<std::size_t>(rank)];
    const auto tier = static_cast<std::size_t>(link.tier);
    row.wire_bytes[tier] = std::max(row.wire_bytes[tier], bytes[l]);
    const double capacity = mean_value(link.capacity, link.capacity_changes, timeline.end);
    if (capacity > 0) row.wire_roofline_s[tier] = std::max(row.wire_roofline_s[tier], bytes[l] / capacity);
  };
  for (std::size_t l = 0; l < graph.links.size(); ++l) {
    if (graph.links[l].owner >= 0) see(l, graph.links[l].owner);
  }
  for (const SharedPort& port : graph.shared_ports) see(static_cast<std::size_t>(port.link), port.rank);
}

}  // namespace

std::vector<RankRow> split_ranks(const StepGraph& graph, const Timeline& timeline) {
  std::vector<RankRow> rows(graph.ranks.size());
  for (std::size_t r = 0; r < rows.size(); ++r) {
    const Rank& rank = graph.ranks[r];
    rows[r].rank = rank.original;
    rows[r].count = rank.count;
    rows[r].stage = program_of(graph, r).pipeline_rank;
    split_time(rows[r], activity_of(graph, timeline, r), timeline.end);
    sum_work(rows[r], program_of(graph, r), mean_value(rank.speed, rank.speed_changes, timeline.end));
  }
  sum_wires(rows, graph, timeline);
  return rows;
}

}  // namespace stepsim
