#include "sim/cost/kernel.hpp"

#include <algorithm>
#include <cassert>

namespace stepsim {

KernelCost cost_of(const Kernel& kernel, const Gpu& gpu, int sms) {
  assert(sms >= 1 && sms <= gpu.sms);
  KernelCost cost;
  if (kernel.flops.value > 0) cost.compute_time = kernel.flops / rate_of(gpu, kernel.precision);
  cost.hbm_time = kernel.bytes / gpu.hbm;
  const Seconds computing = cost.compute_time * (static_cast<double>(gpu.sms) / sms);
  // A kernel at the balance point is compute-bound: fewer SMs would slow it.
  if (computing >= cost.hbm_time) cost.sm_time = computing;
  cost.time = std::max(computing, cost.hbm_time) + gpu.launch_gap;
  return cost;
}

}  // namespace stepsim
