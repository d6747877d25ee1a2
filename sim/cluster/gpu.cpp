#include "sim/cluster/gpu.hpp"

#include <fmt/format.h>

#include <cassert>
#include <cmath>

#include "sim/base/text_units.hpp"

namespace stepsim {
namespace {

void read_speed_of_light(Fields& rates, bool has_fp8, Gpu& gpu) {
  Fields fields = rates.mapping("speed_of_light", required());
  if (!rates.has("speed_of_light")) return;
  fields.rate("bf16", gpu.bf16, required());
  gpu.fp8 = gpu.bf16;
  if (has_fp8 || fields.has("fp8")) fields.rate("fp8", gpu.fp8, required());
  fields.rate("fp32", gpu.fp32, required());
  fields.bandwidth("hbm", gpu.hbm, required());
  fields.time("launch_gap", gpu.launch_gap,
              or_default("kernels follow one another without a gap at the speed of light"));
  fields.finish();
}

void read_power(Fields& document, Gpu& gpu) {
  if (!document.has("power")) return;
  PowerModel power;
  Fields fields = document.mapping("power", required());
  fields.power("limit", power.usual_limit, required());
  power.limit = power.usual_limit;
  fields.power("cap", power.limit, or_default("the board's own limit"));
  fields.power("idle", power.idle, required());
  fields.number("voltage_exponent", power.voltage_exponent, or_default("voltage grows with the clock"), 0, 4);
  fields.number("activity", power.activity, or_default("data as random as that of the measurements"), 0.01, 2);
  if (power.limit > power.usual_limit) fields.problem("cap", "is above the board's limit " + to_text(power.usual_limit));
  if (power.idle >= power.limit) {
    fields.problem(fields.has("cap") ? "cap" : "idle", fmt::format("{} in all, and {} of them when idle: nothing is left", to_text(power.limit), to_text(power.idle)));
  }
  fields.finish();
  gpu.power = power;
}

// A cap and other data act through the dynamic power.
void check_power(Fields& document, const Gpu& gpu) {
  if (!gpu.power || gpu.power->dynamic.value > 0) return;
  if (gpu.power->limit == gpu.power->usual_limit && gpu.power->activity == 1) return;
  document.problem("power", "a cap or an activity needs the dynamic_power of the calibrated rates");
}

void read_nvls(Fields& document, Gpu& gpu) {
  if (!document.has("nvls")) return document.explain("nvls", "none", or_default("no reduction in the NVSwitch"));
  Fields fields = document.mapping("nvls", required());
  fields.bandwidth("bus_bandwidth", gpu.nvls.bus_bandwidth, required());
  fields.integer("ranks", gpu.nvls.ranks, required(), 2);
  fields.time("latency", gpu.nvls.latency, required());
  fields.finish();
}

}  // namespace

Gpu read_gpu(Reading& reading, const std::string& path, Rates rates, const std::vector<Override>& overrides) {
  Gpu gpu;
  std::optional<Fields> document = open_document(reading, path, overrides, "gpu");
  if (!document) return gpu;
  document->text("name", gpu.name, required());
  document->integer("sms", gpu.sms, required(), 1);
  document->size("memory", gpu.memory, required());
  document->number("spread", gpu.spread, or_default("all GPUs of a kind compute alike"), 0, 0.2);
  if (document->has("memory") && gpu.memory.value <= 0) document->problem("memory", "a GPU has some memory");

  Fields peak = document->mapping("peak", required());
  const bool has_fp8 = peak.has("fp8");
  if (document->has("peak")) {
    peak.rate("bf16", gpu.bf16_peak, required());
    gpu.fp8_peak = gpu.bf16_peak;
    if (has_fp8) peak.rate("fp8", gpu.fp8_peak, required());
    peak.finish();
  }
  read_power(*document, gpu);
  gpu.rates = rates;
  Fields all = document->mapping("rates", required());
  if (document->has("rates")) {
    read_speed_of_light(all, has_fp8, gpu);
    read_calibrated(all, has_fp8, gpu);
    check_power(*document, gpu);
    all.finish();
  }
  read_nvls(*document, gpu);
  const auto above_peak = [&](const char* what, FlopsPerSecond rate, FlopsPerSecond most) {
    if (rate > most && most.value > 0) {
      all.problem("speed_of_light", fmt::format("{} is achieved faster than its data-sheet peak: {} of {}", what,
                                                to_text(rate), to_text(most)));
    }
  };
  above_peak("bf16", gpu.bf16, gpu.bf16_peak);
  above_peak("fp8", gpu.fp8, gpu.fp8_peak);
  if (rates == Rates::calibrated && document->has("rates") && !all.has("calibrated")) {
    document->problem("rates", "has no calibrated rates (tables of measurements); use rates: speed_of_light");
  }
  document->finish();
  return gpu;
}

namespace {

// What the largest of n standard normal values is on average (Blom's approximation: the quantile (n - 3/8) / (n + 1/4)),
// by bisection of the distribution function.
double expected_maximum(int n) {
  const double below = (n - 0.375) / (n + 0.25);
  double low = 0, high = 8;
  while (high - low > 1e-9) {
    const double middle = (low + high) / 2;
    (0.5 * std::erfc(-middle / std::sqrt(2.0)) < below ? low : high) = middle;
  }
  return low;
}

}  // namespace

Gpu slowest_of(const Gpu& gpu, int gpus) {
  Gpu slowest = gpu;
  if (gpu.rates == Rates::calibrated && gpus > 1) slowest.compute_speed *= 1 - gpu.spread * expected_maximum(gpus);
  return slowest;
}

FlopsPerSecond rate_of(const Gpu& gpu, Precision precision) {
  switch (precision) {
    case Precision::fp4:
    case Precision::fp8:
      return gpu.fp8;
    case Precision::bf16:
    case Precision::fp16:
      return gpu.bf16;
    case Precision::tf32:
    case Precision::fp32:
      return gpu.fp32;
    case Precision::none:
      break;
  }
  assert(false && "no arithmetic has no rate");
  return gpu.fp32;
}

FlopsPerSecond peak_of(const Gpu& gpu, Precision precision) {
  switch (precision) {
    case Precision::fp4:
    case Precision::fp8:
      return gpu.fp8_peak;
    case Precision::tf32:
    case Precision::fp32:
      return gpu.bf16_peak * (gpu.fp32 / gpu.bf16);
    default:
      return gpu.bf16_peak;
  }
}

}  // namespace stepsim
