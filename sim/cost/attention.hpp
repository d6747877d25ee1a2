// Flash attention: tiles of queries against all keys they see, no scores in memory. Pure functions.
#pragma once

#include "sim/cost/kernel.hpp"

namespace stepsim {

// Computing time at the full clock. A score costs its products (FLOPs / (m n groups)) and `score` FLOPs more for the
// exponential, which the small products of a small head cannot hide; a query sees n keys and `fill` more: the tiles on
// the diagonal of a causal mask are computed in full, and filling and draining takes time. The work is spread evenly over
// the SMs, but no faster than the tile with most keys takes: few heads of a long sequence leave SMs idle.
Seconds attention_computing(const Kernel& kernel, const AttentionRates& rates, FlopsPerSecond peak, int gpu_sms, int sms);

// How many times longer the first FlashAttention, as written in Triton, takes than FlashAttention-2. assumption: the
// geometric mean of 1.3 and 2.5, the range that FlashAttention-2's paper (Dao, 2023, arXiv 2307.08691) measured on A100.
inline constexpr double kTritonSlowness = 1.8;

}  // namespace stepsim
