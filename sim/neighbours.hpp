// The choices next door to a plan's own: each differs from it in one thing.
#pragma once

#include <vector>

#include "sim/whatif.hpp"

namespace stepsim {

// One degree doubled or halved, another schedule, another ZeRO stage, more or less recompute, another precision on a
// wire or in a state, another overlap policy, prefetch, algorithm, microbatch. Whether they can run is not looked at.
std::vector<Alternative> neighbours(const Inputs& inputs);

}  // namespace stepsim
