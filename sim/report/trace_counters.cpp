#include "sim/report/trace_counters.hpp"

#include <algorithm>

#include "sim/graph/changes.hpp"
#include "sim/report/calls.hpp"

namespace stepsim {

void StepFunction::add(double begin, double end, double value) {
  if (!(begin < end) || value == 0) return;
  edges_.push_back({begin, value, 1});
  edges_.push_back({end, -value, -1});
}

std::vector<std::pair<double, double>> StepFunction::points() const {
  std::vector<Edge> edges = edges_;
  std::stable_sort(edges.begin(), edges.end(), [](const Edge& a, const Edge& b) { return a.time < b.time; });
  std::vector<std::pair<double, double>> points;
  double value = 0;
  int lasting = 0;
  for (std::size_t i = 0; i < edges.size(); ++i) {
    value += edges[i].change;
    lasting += edges[i].lasting;
    if (i + 1 < edges.size() && edges[i + 1].time == edges[i].time) continue;
    if (lasting == 0) value = 0;
    if (points.empty() || points.back().second != value) points.emplace_back(edges[i].time, value);
  }
  return points;
}

std::vector<LinkRate> link_rates(const StepGraph& graph, const Timeline& timeline,
                                 const std::vector<std::size_t>& ranks) {
  std::vector<bool> chosen(graph.ranks.size(), false);
  for (const std::size_t r : ranks) chosen[r] = true;
  std::vector<StepFunction> rates(graph.links.size());
  const auto shown = [&](LinkId link) {
    const RankId owner = graph.links[static_cast<std::size_t>(link)].owner;
    return owner >= 0 && chosen[static_cast<std::size_t>(owner)];
  };
  const CallIndex calls(graph);
  for (const Group& group : graph.groups) {
    if (group.endpoints.empty()) continue;
    const auto rank =
        static_cast<std::size_t>(group.endpoints.front().rank);  // a call begins and ends for all together
    for (const auto i : calls.calls(graph.ranks[rank].program, group.endpoints.front().slot)) {
      const OpView op = program_of(graph, rank).ops[static_cast<std::size_t>(i)];
      const Span& span = timeline.spans[rank][static_cast<std::size_t>(i)];
      if (!(span.start < span.end)) continue;
      for (const Part& part : pattern_of(group, op).parts) {
        const double rate = part.bytes_per_payload * op.payload_bytes / (span.end - span.start);
        for (const Load& load : loads_of(part, routing_at(graph, span.start))) {
          if (shown(load.link)) rates[static_cast<std::size_t>(load.link)].add(span.start, span.end, load.legs * rate);
        }
      }
    }
  }
  std::vector<LinkRate> result;
  for (std::size_t l = 0; l < rates.size(); ++l) {
    auto points = rates[l].points();
    if (points.empty()) continue;
    result.push_back({static_cast<std::size_t>(graph.links[l].owner), graph.links[l].name, std::move(points)});
  }
  return result;
}

SmsInUse sms_in_use(const StepGraph& graph, const Timeline& timeline, std::size_t rank) {
  if (graph.sms <= 0) return {};
  const Program& program = program_of(graph, rank);
  StepFunction held;
  std::vector<std::pair<double, double>> busy;  // compute, in order
  for (std::size_t i = 0; i < program.ops.size(); ++i) {
    const Span& span = timeline.spans[rank][i];
    if (program.ops[i].kind == OpKind::transfer) held.add(span.start, span.end, program.ops[i].sms);
    if (program.ops[i].kind == OpKind::compute && span.start < span.end) busy.emplace_back(span.start, span.end);
  }
  SmsInUse use;
  use.communication = held.points();
  // Compute takes what communication leaves.
  StepFunction compute;
  auto next = use.communication.begin();
  double taken = 0;
  for (const auto& [begin, end] : busy) {
    double from = begin;
    while (next != use.communication.end() && next->first < end) {
      if (next->first > from) compute.add(from, next->first, graph.sms - taken);
      from = std::max(from, next->first);
      taken = next->second;
      ++next;
    }
    compute.add(from, end, graph.sms - taken);
  }
  use.compute = compute.points();
  return use;
}

}  // namespace stepsim
