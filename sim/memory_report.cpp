#include "sim/memory_report.hpp"

#include "sim/report/derived.hpp"
#include "workloads/fit.hpp"
#include "workloads/grid.hpp"
#include "workloads/step.hpp"

namespace stepsim {
namespace {

// One row for each pipeline rank: its lowest rank, and how many there are.
std::vector<RankRow> rows_of(const Inputs& in, const std::vector<MemoryUse>& memory) {
  std::vector<RankRow> rows(memory.size(), {.rank = -1, .count = 0});
  const Grid grid = make_grid(in.plan, in.cluster.ranks());
  for (int rank = 0; rank < grid.world; ++rank) {
    RankRow& row = rows[static_cast<std::size_t>(grid.place[rank].pipeline)];
    if (row.rank < 0) row.rank = rank;
    ++row.count;
  }
  for (std::size_t p = 0; p < rows.size(); ++p) {
    rows[p].stage = static_cast<int>(p);
    rows[p].peak_memory_bytes = memory[p].total().value;
  }
  return rows;
}

}  // namespace

void add_memory(StepFacts& facts, const Inputs& in, const Schedule& schedule, const std::vector<MemoryUse>& memory,
                const std::vector<int>& pipeline_ranks) {
  facts.gpu_memory_bytes = in.cluster.gpu.memory.value;
  for (const int p : pipeline_ranks) {
    const MemoryUse& use = memory[static_cast<std::size_t>(p)];
    const ReservedMemory reserved = reserved_memory(in.model, in.plan, use);
    facts.memory.push_back(kinds_of(use));
    facts.activation_parts.push_back(activation_parts_of(use));
    facts.reserved.push_back({{"context", reserved.context.value},
                              {"communicators", reserved.communicators.value},
                              {"fragmentation", reserved.fragmentation.value}});
  }
  for (std::size_t p = 0; p < memory.size(); ++p) {
    facts.passes.push_back({memory[p].constant().value, memory[p].chunks, schedule.order[p]});
  }
}

Report memory_report(const Inputs& in) {
  const StepOutline outline = outline_step(in.model, in.cluster, in.plan);
  Report report;
  report.inputs.experiment = in.name;
  report.inputs.model = in.model.name;
  report.inputs.cluster = in.cluster.name;
  report.inputs.plan = in.plan.name;
  report.inputs.gpus = in.cluster.ranks();
  report.inputs.nodes = in.cluster.nodes;
  report.ranks = rows_of(in, outline.memory);
  std::vector<int> pipeline_ranks;
  for (std::size_t p = 0; p < outline.memory.size(); ++p) pipeline_ranks.push_back(static_cast<int>(p));
  add_memory(report.facts, in, outline.schedule, outline.memory, pipeline_ranks);
  report.warnings = in.notes;
  if (!fits_in_memory(report)) report.fitting_changes = fitting_changes(in.model, in.cluster, in.plan);
  return report;
}

}  // namespace stepsim
