// model + cluster + plan -> the StepGraph of one training step.
#pragma once

#include <algorithm>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "sim/cluster/cluster.hpp"
#include "sim/collective/algorithm.hpp"
#include "sim/graph/step_graph.hpp"
#include "workloads/memory.hpp"
#include "workloads/model.hpp"
#include "workloads/plan.hpp"
#include "workloads/plan_schedule.hpp"
#include "workloads/schedule.hpp"
#include "workloads/schedule_times.hpp"

namespace stepsim {

// Which ranks the graph has: all; or, of replicas that nothing can tell apart, one, where that is exact. It then stands for
// all by its counts, and folds to what the graph of all ranks folds to (but for jitter and detail flow, which have all).
enum class Replicas : std::uint8_t { all, one };

struct Step {
  StepGraph graph;
  std::vector<RankId> graph_rank;  // [rank] the graph's rank that stands for it
  Schedule schedule;
  std::string schedule_origin;  // its name; of an automatic one, "automatic" or the name it could not improve on
  std::vector<PassPlan> offers;  // of an automatic one: this one and others nearly as fast, as planned
  std::vector<std::vector<int>> stage_blocks;  // [stage] block indices
  PassTimes planned;                           // how long each stage's passes take by themselves, on `planned_on`
  std::vector<MemoryUse> memory;               // [pipeline rank]
  std::vector<int> pipeline_rank;              // [rank]
  double tokens = 0;                           // a step
  double model_flops = 0, hardware_flops = 0;  // a step, whole cluster
};

// A step before its graph is built: enough to know memory, and to guess how long it takes.
struct StepOutline {
  Schedule schedule;
  std::vector<std::vector<int>> stage_blocks;
  std::vector<MemoryUse> memory;  // [pipeline rank]
  PassTimes planned;
  Seconds passes;   // the passes in their order, each as planned (collectives that it waits for included)
  Seconds gathers;  // parameters' collectives of a step by themselves, on the rank that has most to do
  Seconds reduces;  // gradients'

  // Passes, and of parameters and gradients what nothing hides: with ZeRO-3 what takes longer than the passes; else the
  // gather after the optimizer, and gradients that wait for the end.
  Seconds estimate() const {
    if (whole) return prefetched ? std::max(passes, gathers + reduces) : passes + gathers + reduces;
    return passes + gathers + (late ? reduces : Seconds());
  }
  bool whole = false, prefetched = false, late = false;  // ZeRO-3; gathers ahead; gradients reduced after the passes
};
// What collectives of parameters and gradients put on the wires, kept between outlines on one cluster: counting the links
// of all pairs of thousands of ranks is most of an outline's work. By operation, algorithm (never "auto"), payload (0
// where patterns do not differ with it) and members.
using StatePatterns = std::map<std::tuple<Operation, std::string, double, std::vector<RankId>>, Pattern>;

// `plan` as for make_step().
StepOutline outline_step(const ModelSpec& model, const ClusterSpec& cluster, const ParallelPlan& plan,
                         StatePatterns* known = nullptr);
// Its memory alone, [pipeline rank].
std::vector<MemoryUse> plan_memory(const ModelSpec& model, const ClusterSpec& cluster, const ParallelPlan& plan);

// `plan` must have passed check(). Throws std::invalid_argument when a collective's algorithm does not fit a group.
// The order of kernels in overlapped pairs and the split of layers into stages are decided on `planned_on`: a what-if
// (a faster wire) gives the cluster as it was, so that only times change. By default it is the cluster itself.
Step make_step(const ModelSpec& model, const ClusterSpec& cluster, const ParallelPlan& plan, Detail detail,
               const ClusterSpec* planned_on = nullptr, Replicas replicas = Replicas::all);

}  // namespace stepsim
