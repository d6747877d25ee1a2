#include "sim/cost/attention.hpp"

#include <algorithm>

namespace stepsim {
namespace {

constexpr double kNarrow = 256;  // query/key and value width together: tiles of 128-wide heads fit into an SM at full size

}  // namespace

Seconds attention_computing(const Kernel& kernel, const AttentionRates& rates, FlopsPerSecond peak, int gpu_sms, int sms) {
  const double fraction = rates.peak_fraction * (kernel.k > kNarrow ? rates.wide : 1);
  const double of_one_sm = fraction * peak.value / gpu_sms;
  const double scores = kernel.m * kernel.n * kernel.groups;
  if (scores <= 0) return Seconds(0);
  const double of_a_score = kernel.flops.value / scores + rates.score;
  const double even = kernel.m * kernel.groups * (kernel.n + rates.fill) / sms;
  const double widest = std::min(kernel.m, rates.tile) * (std::max(kernel.n, kernel.most_keys) + rates.fill);
  return Seconds(std::max(even, widest) * of_a_score / of_one_sm);
}

}  // namespace stepsim
