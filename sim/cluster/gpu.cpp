#include "sim/cluster/gpu.hpp"

#include <fmt/format.h>

#include <cassert>

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

void read_nvls(Fields& document, Gpu& gpu) {
  if (!document.has("nvls")) return document.explain("nvls", "none", or_default("no reduction in the NVSwitch"));
  Fields fields = document.mapping("nvls", required());
  fields.bandwidth("bus_bandwidth", gpu.nvls.bus_bandwidth, required());
  fields.integer("ranks", gpu.nvls.ranks, required(), 2);
  fields.time("latency", gpu.nvls.latency, required());
  fields.finish();
}

}  // namespace

Gpu read_gpu(Reading& reading, const std::string& path, Rates rates) {
  Gpu gpu;
  std::optional<Fields> document = open_document(reading, path, {}, "gpu");
  if (!document) return gpu;
  document->text("name", gpu.name, required());
  document->integer("sms", gpu.sms, required(), 1);
  document->size("memory", gpu.memory, required());
  if (document->has("memory") && gpu.memory.value <= 0) document->problem("memory", "a GPU has some memory");

  Fields peak = document->mapping("peak", required());
  const bool has_fp8 = peak.has("fp8");
  if (document->has("peak")) {
    peak.rate("bf16", gpu.bf16_peak, required());
    gpu.fp8_peak = gpu.bf16_peak;
    if (has_fp8) peak.rate("fp8", gpu.fp8_peak, required());
    peak.finish();
  }
  Fields all = document->mapping("rates", required());
  if (document->has("rates")) {
    read_speed_of_light(all, has_fp8, gpu);
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
  if (rates == Rates::calibrated) {
    document->problem("rates", "has no calibrated rates (tables of measurements); use rates: speed_of_light");
  }
  document->finish();
  return gpu;
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

}  // namespace stepsim
