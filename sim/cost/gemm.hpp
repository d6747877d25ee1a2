// Matrix products on tiles. Pure functions.
#pragma once

#include "sim/cost/kernel.hpp"

namespace stepsim {

// Computing time at the full clock on `sms` of the GPU's SMs, the best of all tile shapes (256 x 128 down to 64 x 64)
// and, for few tiles, of splits of k: the tiles run in waves over the SMs, a tile takes
//   2 a b (k / splits + fill) / (peak_fraction peak / SMs) (1 + edge (1/a + 1/b)),
// and a tile that sticks out of the matrix computes in full. So small products, products with few columns of k and
// products whose tiles just overflow a wave are slow. Grouped products share the waves; each group has tiles of its own.
Seconds gemm_computing(const Kernel& kernel, const GemmRates& rates, FlopsPerSecond peak, int gpu_sms, int sms);

}  // namespace stepsim
