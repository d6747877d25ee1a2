// A training step as it is simulated: one rank for all that are alike.
#pragma once

#include "sim/inputs.hpp"
#include "sim/simulate.hpp"
#include "workloads/step.hpp"

namespace stepsim {

// make_step() of the inputs, its graph folded where the options want it and it is exact; graph_rank says which rank of the
// graph stands for a real one.
Step folded_step(const Inputs& inputs, const Options& options);
// The same on another cluster (a what-if), with orders as decided on `planned_on`.
Step folded_step(const Inputs& inputs, const Options& options, const ClusterSpec& cluster, const ClusterSpec& planned_on);

}  // namespace stepsim
