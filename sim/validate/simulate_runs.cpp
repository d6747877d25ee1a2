#include "sim/validate/simulate_runs.hpp"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <thread>

#include "sim/engine/child.hpp"
#include "sim/engine/engine.hpp"
#include "sim/folded_step.hpp"
#include "sim/report/report.hpp"
#include "workloads/step.hpp"

namespace stepsim {
namespace {

// What a worker leaves in shared memory.
struct Slot {
  enum State { waiting, running, done } state;
  double step_s, memory_gb;
  StepParts parts;
  char error[400];
};

StepParts parts_of(const StepGraph& graph, const Timeline& timeline) {
  StepParts parts;
  double gpus = 0;
  for (const RankRow& rank : split_ranks(graph, timeline)) {
    gpus += rank.count;
    parts.compute_s += rank.count * rank.compute_s;
    parts.exposed_s += rank.count * rank.exposed_communication_s;
    parts.wait_s += rank.count * rank.wait_s;
    parts.bubble_s += rank.count * rank.bubble_s;
  }
  for (double* part : {&parts.compute_s, &parts.exposed_s, &parts.wait_s, &parts.bubble_s}) *part /= gpus;
  for (const CollectiveRow& call : collect_collectives(graph, timeline)) {
    for (std::size_t d = 0; d < parts.exposed_by_dimension.size(); ++d) {
      if (to_text(static_cast<Dimension>(d)) == call.dimension) parts.exposed_by_dimension[d] += call.exposed_s;
    }
  }
  return parts;
}

void simulate_into(Slot& slot, const Inputs& in) {
  const Step step = folded_step(in, Options{}, in.cluster, in.cluster);
  const Timeline timeline = make_engine("simgrid")->run(step.graph);
  slot.step_s = timeline.end;
  for (const MemoryUse& use : step.memory) slot.memory_gb = std::max(slot.memory_gb, use.total().value / 1e9);
  slot.parts = parts_of(step.graph, timeline);
}

void work(SharedArray<Slot>& slots, std::atomic<std::size_t>& next, std::size_t count,
          const std::function<Inputs(std::size_t)>& make) {
  for (std::size_t i = next++; i < count; i = next++) {
    slots[i].state = Slot::running;
    try {
      simulate_into(slots[i], make(i));
    } catch (const std::exception& e) {
      std::strncpy(slots[i].error, e.what(), sizeof slots[i].error - 1);
    }
    slots[i].state = Slot::done;
  }
}

}  // namespace

std::vector<SimulatedRun> simulate_runs(std::size_t count, const std::function<Inputs(std::size_t)>& make, int jobs) {
  SharedArray<Slot> slots(count);
  SharedArray<std::atomic<std::size_t>> next(1);
  if (jobs <= 0) jobs = static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
  const std::vector<std::function<void()>> workers(static_cast<std::size_t>(jobs), [&] { work(slots, next[0], count, make); });
  std::string failure;
  do {
    try {
      run_in_children(workers, jobs);
    } catch (const std::runtime_error& e) {
      failure = e.what();  // the slot that it was at tells which
    }
  } while (next[0] < count);
  std::vector<SimulatedRun> runs;
  for (std::size_t i = 0; i < count; ++i) {
    const Slot& slot = slots[i];
    runs.push_back({slot.state == Slot::done ? slot.error : failure, slot.step_s, slot.memory_gb, slot.parts});
    if (slot.state != Slot::done && failure.empty()) runs.back().error = "the worker ended without a word";
  }
  return runs;
}

}  // namespace stepsim
