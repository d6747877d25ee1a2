// A kernel and what it costs. Pure functions.
#pragma once

#include <cstdint>
#include <string_view>

#include "sim/base/precision.hpp"
#include "sim/base/units.hpp"
#include "sim/cluster/gpu.hpp"

namespace stepsim {

enum class KernelClass : std::uint8_t { gemm, grouped_gemm, attention, memory };

// What one kernel asks of one GPU. Shapes are per GPU, after every sharding.
struct Kernel {
  std::string_view name;  // a literal: "q_a", "swiglu", "adam", ...
  KernelClass kind = KernelClass::memory;
  Precision precision = Precision::bf16;  // of the arithmetic
  // GEMM: [m,k] x [k,n]. Grouped GEMM and batched GEMM (a GEMM with groups): m rows in all groups together; with
  // groups_in_k, k in all groups together.
  // Attention: m queries a sequence, n keys a query on average under the mask, k = query/key width + value width.
  double m = 0, n = 0, k = 0;
  double groups = 1;  // grouped GEMM: experts; attention: heads x sequences
  bool groups_in_k = false;  // grouped GEMM: the groups share k (a weight gradient), not m
  double most_keys = 0;      // attention: keys that the query with most of them sees
  // Attention: which kernel. best: of the GPU's table; flash2: FlashAttention-2, also where better ones exist; triton: the
  // first FlashAttention as written in Triton.
  enum class Flash : std::uint8_t { best, flash2, triton } flash = Flash::best;
  // Memory-bound: straight through; with sums or maxima along rows (norms, softmax, loss); rows to and from where an index
  // says (a mixture's tokens, fused as Transformer Engine's permutation is).
  enum class Access : std::uint8_t { straight, reduces, permutes } access = Access::straight;
  bool backward = false;
  Flops flops = {};        // hardware FLOPs
  Flops model_flops = {};  // the part the model's arithmetic needs: equal to flops, or less (recompute: 0; what tensor
                           // ranks do redundantly: once; flash attention's backward recomputes the scores: 3 products
                           // of the query/key width and 2 of the value width run, 2 and 2 count)
  Bytes bytes = {};        // HBM traffic: operands read and results written once

  bool operator==(const Kernel&) const = default;
};

struct KernelCost {
  Seconds time;          // on `sms` SMs, launch gap included
  Seconds sm_time;       // the part of it that shrinks with more SMs (0 for a memory-bound kernel)
  Seconds compute_time;  // FLOPs over the achieved rate of the whole GPU
  Seconds hbm_time;      // bytes over achieved bandwidth
  double clock = 1;      // f / f0 at which it computes: below 1 where the limit of power binds. With speed_of_light:
                         // relative to the clock of the measurement
};

// speed_of_light: the larger of FLOPs over the achieved rate (scaled by sms / gpu.sms) and bytes over achieved HBM
// bandwidth (which a part of the SMs saturates as well), plus the launch gap. calibrated: computing by shape (gemm.hpp,
// attention.hpp) at the clock that the limit of power leaves (power.hpp), together with the bytes' time, plus the
// kernel's start. 1 <= sms <= gpu.sms.
KernelCost cost_of(const Kernel& kernel, const Gpu& gpu, int sms);

}  // namespace stepsim
