// One kind of GPU: what a kernel really achieves on it.
#pragma once

#include <optional>
#include <string>

#include "sim/base/fields.hpp"
#include "sim/base/precision.hpp"
#include "sim/base/units.hpp"
#include "sim/cluster/gpu_rates.hpp"

namespace stepsim {

// Reduction and multicast in the NVSwitch (NVLink SHARP, "NVLS"), as an all-reduce within a node shows them.
struct SwitchReduction {
  BytesPerSecond bus_bandwidth;  // nccl-tests' bus bandwidth of a large all-reduce of `ranks` GPUs
  int ranks = 0;                 // 0: the node has none
  Seconds latency;               // of a call

  // Bytes/s that a port then really carries each way: of a buffer V it sends and takes V (1 + 1/n), in the time
  // 2 (n - 1)/n V / bus bandwidth.
  BytesPerSecond port_rate() const { return bus_bandwidth * ((ranks + 1.0) / (2.0 * (ranks - 1))); }

  bool operator==(const SwitchReduction&) const = default;
};

struct Gpu {
  std::string name;
  int sms = 0;               // streaming multiprocessors
  Bytes memory;              // usable HBM
  BytesPerSecond hbm;        // achieved HBM bandwidth
  FlopsPerSecond bf16;       // achieved dense rate; also fp16
  FlopsPerSecond fp8;        // achieved dense rate; a GPU without FP8 units has its bf16 rate here
  FlopsPerSecond fp32;       // achieved rate of FP32 GEMMs (TF32 units where the GPU has them)
  FlopsPerSecond bf16_peak;  // data-sheet dense peak: the denominator of MFU
  FlopsPerSecond fp8_peak;
  Seconds launch_gap;  // idle time between kernels; 0 with speed_of_light unless the file says otherwise

  Rates rates = Rates::speed_of_light;  // which of the two price kernels
  CalibratedRates calibrated = {};      // filled in with Rates::calibrated
  std::optional<PowerModel> power = std::nullopt;
  double compute_speed = 1;  // what-if: computing is that much faster, whatever it is priced with
  SwitchReduction nvls;
  double spread = 0;         // standard deviation of the computing speed from GPU to GPU of this kind, over the mean

  // With calibrated rates, where they were measured; else null.
  const NodeSteps* node_steps() const {
    return rates == Rates::calibrated && calibrated.node_steps.half.value > 0 ? &calibrated.node_steps : nullptr;
  }
  // With calibrated rates; at the speed of light wires are never idle.
  AllToAllRates all_to_all() const { return rates == Rates::calibrated ? calibrated.all_to_all : AllToAllRates{}; }
  bool operator==(const Gpu&) const = default;
};

// Reads a GPU's YAML: name, sms, memory, spread, peak {bf16, fp8}, power {limit, cap, idle,
// voltage_exponent, activity}, rates {speed_of_light
// {bf16, fp8, fp32, hbm, launch_gap}, calibrated {...}}, and, where its NVSwitch reduces, nvls {bus_bandwidth, ranks,
// latency}. A GPU without FP8 units leaves the fp8 keys out. Problems go to `reading`; rates that are asked for and
// that the file does not have are one.
Gpu read_gpu(Reading& reading, const std::string& path, Rates rates, const std::vector<Override>& overrides = {});

// The achieved dense rate of a precision with all SMs at the speed of light. fp4 has no units of its own on the GPUs
// known here and runs at the fp8 rate; none is no arithmetic and not a precision to ask for.
FlopsPerSecond rate_of(const Gpu& gpu, Precision precision);

// The same of its data-sheet peak; fp32 and tf32 stand to bf16 as their speed-of-light rates do.
FlopsPerSecond peak_of(const Gpu& gpu, Precision precision);

// The slowest of so many GPUs of this kind: a step in which all wait for all runs at its speed. With calibrated rates,
// which were measured on a GPU or two; at the speed of light all GPUs are alike.
Gpu slowest_of(const Gpu& gpu, int gpus);

// The section `calibrated` of a file's rates (gpu_calibrated.cpp).
void read_calibrated(Fields& rates, bool has_fp8, Gpu& gpu);

}  // namespace stepsim
