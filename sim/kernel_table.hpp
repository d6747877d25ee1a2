// The kernels and collectives of a model's blocks under a plan, one by one, priced; nothing is simulated.
#pragma once

#include <string>
#include <vector>

#include "sim/inputs.hpp"
#include "workloads/layers.hpp"

namespace stepsim {

// One kernel or collective of a block, per GPU and microbatch.
struct KernelRow {
  std::string block;  // embedding, dense layer, expert layer, head
  int blocks = 0;     // of this kind in the model
  Phase phase = Phase::forward;
  std::string name, kind, precision;  // kind: gemm, grouped_gemm, attention, memory, or a collective's operation
  double m = 0, n = 0, k = 0, groups = 0;  // as sim/cost/kernel.hpp has them; 0: does not apply
  double flops = 0, bytes = 0;             // bytes: of HBM; a collective's payload
  double seconds = 0;                      // of a kernel on the SMs that compute has; a collective: 0, it depends on the wires
  double clock = 1;                        // f / f0 (KernelCost::clock)
  std::string bound;                       // compute, HBM, or start (launch and ramps are most of it); "" of a collective
};
std::vector<KernelRow> kernel_rows(const Inputs& inputs);

std::string kernels_text(const Inputs& inputs, const std::vector<KernelRow>& rows);
std::string kernels_csv(const std::vector<KernelRow>& rows);
std::string kernels_json(const Inputs& inputs, const std::vector<KernelRow>& rows);  // schema stepsim.kernels/1

}  // namespace stepsim
