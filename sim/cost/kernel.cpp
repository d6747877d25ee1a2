#include "sim/cost/kernel.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>

#include "sim/cost/attention.hpp"
#include "sim/cost/gemm.hpp"
#include "sim/cost/power.hpp"

namespace stepsim {
namespace {

KernelCost speed_of_light(const Kernel& kernel, const Gpu& gpu, int sms) {
  KernelCost cost;
  if (kernel.flops.value > 0) {
    const FlopsPerSecond rate = rate_of(gpu, kernel.precision);
    if (gpu.power) cost.clock = relative_clock(*gpu.power, rate / peak_of(gpu, kernel.precision));
    cost.compute_time = kernel.flops / (rate * (cost.clock * gpu.compute_speed));
  }
  cost.hbm_time = kernel.bytes / gpu.hbm;
  const Seconds computing = cost.compute_time * (static_cast<double>(gpu.sms) / sms);
  // A kernel at the balance point is compute-bound: fewer SMs would slow it.
  if (computing >= cost.hbm_time) cost.sm_time = computing;
  cost.time = std::max(computing, cost.hbm_time) + gpu.launch_gap;
  return cost;
}

// (a^p + b^p)^(1/p): b and a overlap the more the larger p is.
Seconds together(Seconds a, Seconds b, double p) {
  const Seconds most = std::max(a, b), least = std::min(a, b);
  const double ratio = least / most;
  // Below that the smaller one adds less than 1e-9 of the larger.
  if (least.value <= 0 || p * std::log(ratio) < -20.7) return most;
  return most * std::pow(1 + std::pow(ratio, p), 1 / p);
}

struct Computing {
  Seconds time;   // at the full clock on the SMs in question
  Seconds whole;  // on all SMs
  Seconds start;
  double overlap = 100;
};

bool is_fp8(Precision precision) { return precision == Precision::fp8 || precision == Precision::fp4; }

Computing computing(const Kernel& kernel, const Gpu& gpu, int sms) {
  const CalibratedRates& c = gpu.calibrated;
  const FlopsPerSecond peak = peak_of(gpu, kernel.precision);
  const auto both = [&](auto&& on, Seconds start, double overlap) {
    const Seconds time = on(sms);
    return Computing{time, sms == gpu.sms ? time : on(gpu.sms), start, overlap};
  };
  switch (kernel.kind) {
    case KernelClass::gemm:
    case KernelClass::grouped_gemm: {
      const bool grouped = kernel.kind == KernelClass::grouped_gemm;
      const GemmRates& r = is_fp8(kernel.precision) ? (grouped ? c.grouped_fp8 : c.fp8) : (grouped ? c.grouped_bf16 : c.bf16);
      const Seconds start = r.start + r.group * (grouped ? kernel.groups : 0);
      return both([&](int n) { return gemm_computing(kernel, r, peak, gpu.sms, n); }, start, r.overlap);
    }
    case KernelClass::attention: {
      const AttentionPasses& passes = kernel.flash != Kernel::Flash::best && c.has_flash2 ? c.flash2 : c.flash;
      const AttentionRates& r = kernel.backward ? passes.backward : passes.forward;
      const double slower = kernel.flash == Kernel::Flash::triton ? kTritonSlowness : 1;
      return both([&](int n) { return attention_computing(kernel, r, peak, gpu.sms, n) * slower; }, r.start, 100);
    }
    case KernelClass::memory:
      break;
  }
  const Seconds at_peak = kernel.flops.value > 0 ? kernel.flops / rate_of(gpu, kernel.precision) : Seconds(0);
  return {at_peak * (static_cast<double>(gpu.sms) / sms), at_peak, c.memory_start, 100};
}

double part_of_hbm(const Kernel& kernel, const CalibratedRates& rates) {
  if (kernel.kind != KernelClass::memory) return 1;
  switch (kernel.access) {
    case Kernel::Access::straight: return rates.elementwise;
    case Kernel::Access::reduces: return rates.elementwise * rates.reduction;
    case Kernel::Access::permutes: return rates.elementwise * rates.permutation;
  }
  return 1;
}

KernelCost calibrated(const Kernel& kernel, const Gpu& gpu, int sms) {
  Computing at = computing(kernel, gpu, sms);
  KernelCost cost;
  cost.hbm_time = kernel.bytes / (gpu.hbm * part_of_hbm(kernel, gpu.calibrated));
  if (at.time.value > 0 && gpu.power) {
    const Seconds free = together(at.time, cost.hbm_time, at.overlap);
    cost.clock = clock_of(*gpu.power, kernel.flops / free / peak_of(gpu, kernel.precision));
  }
  const double faster = cost.clock * gpu.compute_speed;
  at.time /= faster;
  cost.compute_time = at.whole / faster;
  if (at.time.value > 0 && at.time >= cost.hbm_time) cost.sm_time = at.time;
  cost.time = together(at.time, cost.hbm_time, at.overlap) + at.start + gpu.launch_gap;
  return cost;
}

}  // namespace

KernelCost cost_of(const Kernel& kernel, const Gpu& gpu, int sms) {
  assert(sms >= 1 && sms <= gpu.sms);
  return gpu.rates == Rates::calibrated ? calibrated(kernel, gpu, sms) : speed_of_light(kernel, gpu, sms);
}

}  // namespace stepsim
