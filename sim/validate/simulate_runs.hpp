// Many simulations in worker processes.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "sim/inputs.hpp"
#include "sim/validate/validation.hpp"

namespace stepsim {

struct SimulatedRun {
  std::string error;  // empty when all is well
  double step_s = 0;
  double memory_gb = 0;  // peak of the fullest GPU
  StepParts parts;
};

// One step of each of `count` inputs: make(i) is called in a worker process. `jobs` workers take the next one as they
// become free; a worker that dies takes only its current run with it.
std::vector<SimulatedRun> simulate_runs(std::size_t count, const std::function<Inputs(std::size_t)>& make, int jobs);

}  // namespace stepsim
