// The inputs that a published run became, as files that `stepsim run` takes.
#pragma once

#include <string>

#include "sim/inputs.hpp"
#include "workloads/published/run.hpp"
#include "workloads/published/translation.hpp"

namespace stepsim {

// FOLDER/ID/model.yaml, plan.yaml (with what was assumed) and experiment.yaml (with the command that simulates the run).
// `inputs` are what was simulated. Throws InputError where they cannot be written.
void write_inputs(const std::string& folder, const PublishedRun& run, const Translation& translation, const Inputs& inputs);

}  // namespace stepsim
