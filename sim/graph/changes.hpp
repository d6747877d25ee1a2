// Values that change at times, and random variation of single events.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/graph/step_graph.hpp"

namespace stepsim {

// The value at `time` (s) of something that starts as `start`.
double value_at(double start, const std::vector<Change>& changes, double time);

// Its mean over [0, end]; `start` when end is 0.
double mean_value(double start, const std::vector<Change>& changes, double end);

// The routing that holds at `time` (s).
std::int32_t routing_at(const StepGraph& graph, double time);

// Of a part under a routing (0: its own).
inline const std::vector<Load>& loads_of(const Part& part, std::int32_t routing) {
  return routing == 0 || part.detours.empty() ? part.loads : part.detours[static_cast<std::size_t>(routing) - 1].loads;
}
inline double alpha_of(const Part& part, std::int32_t routing) {
  return routing == 0 || part.detours.empty() ? part.alpha : part.detours[static_cast<std::size_t>(routing) - 1].alpha;
}

// How many times as long an event takes: exp(sigma z - sigma^2/2), whose mean is 1. z is a standard normal number drawn
// by (seed, which, index), so that it depends on nothing else: not on the engine, not on the order of events.
double jitter_factor(double sigma, std::uint64_t seed, std::uint64_t which, std::uint64_t index);

}  // namespace stepsim
