// Every reason why a plan cannot run on a cluster.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "sim/base/errors.hpp"
#include "sim/base/fields.hpp"
#include "sim/cluster/cluster.hpp"
#include "workloads/model.hpp"
#include "workloads/plan.hpp"

namespace stepsim {

// Fills in what "auto" means (data), given the cluster; the plan must have passed check() to be sensible.
ParallelPlan resolve(ParallelPlan plan, const ClusterSpec& cluster);

// Microbatches (or accumulation steps) of each data-parallel rank. May be fractional before check() has refused it.
double microbatches_of(const ParallelPlan& plan, const ClusterSpec& cluster);

// All problems at once, each with the plan's key, what was found and the nearest values that would do.
struct PlanSource {
  std::string file;
  std::map<std::string, Origin> origins;  // of dotted keys
};
// What a reading of the plan's file has learnt about its keys.
PlanSource source_of(const std::string& file, const Reading& reading);
std::vector<Problem> check(const ModelSpec& model, const ClusterSpec& cluster, const ParallelPlan& plan,
                           const PlanSource& source);

}  // namespace stepsim
