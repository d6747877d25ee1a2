// Changes of a plan that make it fit into memory.
#pragma once

#include <string>
#include <vector>

#include "sim/base/units.hpp"
#include "sim/cluster/cluster.hpp"
#include "workloads/model.hpp"
#include "workloads/plan.hpp"

namespace stepsim {

struct FittingChange {
  std::vector<std::string> sets;  // keys as --set takes them: "plan.recompute=[norm]"
  Bytes peak;                     // of the fullest rank
  double slower = 0;              // estimate: the longer step over the plan's own, 0.03 is 3 %; negative: faster

  bool operator==(const FittingChange&) const = default;
};

// Of all single changes tried (recompute by module, ZeRO stage, microbatch, degrees, schedule, formats of states), and of
// pairs of them where no single one is enough: those with which the plan passes check() and every rank fits, the least
// slow first, at most `most`. Memory is computed for each as for the plan itself. The estimate is the step as planned:
// passes by themselves in the schedule's order, and the parameters' and gradients' collectives where nothing can hide them
// (StepOutline). The global batch stays, and data: auto takes up the ranks that are left.
std::vector<FittingChange> fitting_changes(const ModelSpec& model, const ClusterSpec& cluster, const ParallelPlan& plan,
                                           std::size_t most = 5);

}  // namespace stepsim
