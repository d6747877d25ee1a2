// Decides what a plan leaves to stepsim.
#pragma once

#include "sim/simulate.hpp"

namespace stepsim {

// The inputs with their passes settled: of what "automatic" offers as nearly the fastest by planned times, the one whose
// step is shortest when simulated. Other inputs come back as they are.
Inputs settle(Inputs inputs, const Options& options);

}  // namespace stepsim
