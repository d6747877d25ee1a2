// The clock that a limit of power leaves to a kernel. Pure functions.
#pragma once

#include "sim/cluster/gpu.hpp"

namespace stepsim {

// f / f0, at most 1, at which idle + activity x dynamic x utilisation x (f / f0)^(1 + 2g) meets the limit: dynamic power
// goes with frequency and the square of voltage, voltage with f^g. `utilisation`: share of the peak FLOP rate that the
// kernel reaches at the full clock f0. The power of HBM and wires is part of idle; a kernel is taken to run long enough
// to feel the limit (training does; a burst of a few tens of milliseconds does not). 1 without power figures.
double clock_of(const PowerModel& power, double utilisation);

// For rates that were measured at the usual limit on random data: how much slower (or, with quieter data, faster) the
// plan's limit and data make a kernel that reaches `utilisation` there.
double relative_clock(const PowerModel& power, double utilisation);

}  // namespace stepsim
