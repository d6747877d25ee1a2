// From a timeline to a report.
#include <cassert>

#include "sim/report/calls.hpp"
#include "sim/report/guardrails.hpp"
#include "sim/report/report.hpp"

namespace stepsim {
namespace {

void add_memory(std::vector<RankRow>& rows, const StepFacts& facts) {
  for (std::size_t r = 0; r < rows.size() && r < facts.memory.size(); ++r) {
    for (const auto& [kind, bytes] : facts.memory[r]) rows[r].peak_memory_bytes += bytes;
  }
}

// Mean over GPUs of the time in compute ops, by phase.
std::map<std::string, double> phase_seconds(const StepGraph& graph, const Timeline& timeline) {
  std::map<Phase, double> sums;
  double ranks = 0;
  for (std::size_t r = 0; r < graph.ranks.size(); ++r) {
    ranks += graph.ranks[r].count;
    const auto& ops = program_of(graph, r).ops;
    for (std::size_t i = 0; i < ops.size(); ++i) {
      if (ops[i].kind != OpKind::compute) continue;
      sums[ops[i].tags.phase] += graph.ranks[r].count * (timeline.spans[r][i].end - timeline.spans[r][i].start);
    }
  }
  std::map<std::string, double> result;
  for (const auto& [phase, sum] : sums) result[std::string(to_text(phase))] = sum / ranks;
  return result;
}

}  // namespace

Report analyse(const StepGraph& graph, const Timeline& timeline, const InputNames& inputs, const StepFacts& facts) {
  assert(timeline.spans.size() == graph.ranks.size());
  const StepIndex index(graph);
  Report report;
  report.inputs = inputs;
  report.step_time_s = timeline.end;
  report.facts = facts;
  report.tiers = graph.tiers;
  report.ranks = split_ranks(graph, timeline);
  add_memory(report.ranks, facts);
  report.collectives = collect_collectives(graph, timeline);
  report.waits = who_waits(graph, timeline, index);
  report.links = collect_links(graph, timeline);
  report.phases = phase_seconds(graph, timeline);
  report.passes = pass_rows(graph, timeline, facts.passes);
  report.critical_path = critical_path(graph, timeline, index);
  report.overlap = collect_overlap(graph, timeline, index);
  report.roofline = roofline_of(report.ranks, report.tiers);
  add_shared_links(report.roofline, graph, timeline);
  report.engine.name = inputs.engine;
  report.engine.detail = inputs.detail;
  report.engine.representatives = graph.ranks.size();
  report.engine.events = timeline.events;
  for (const Rank& rank : graph.ranks) report.engine.folded = report.engine.folded || rank.count > 1;
  report.memory_timeline = memory_timeline(graph, timeline, facts.passes);
  report.warnings = facts.warnings;
  for (std::string& warning : guardrails(graph, index.calls, report)) report.warnings.push_back(std::move(warning));
  judge(report, {});
  return report;
}

}  // namespace stepsim
