// What a GPU's kernels really achieve, as parameters fitted to measurements (tools/calibrate writes them into the GPU's
// file; sim/cost/ has the formulas that they belong to).
#pragma once

#include "sim/base/units.hpp"

namespace stepsim {

// Which rates price a kernel: one number a precision (the roofline study's method), or tables read from measurements.
enum class Rates { speed_of_light, calibrated };

// A matrix product, dense or grouped; sim/cost/gemm.hpp.
struct GemmRates {
  double peak_fraction = 0;  // of the data-sheet peak that a large tile's inner loop reaches at the full clock
  double fill = 0;           // columns of k that filling and draining a tile costs
  double edge = 0;           // a tile of a x b runs at 1 / (1 + edge (1/a + 1/b)) of that: operands it loads
  double overlap = 1;        // p in (computing^p + traffic^p)^(1/p): 1 nothing overlaps, large: all
  Seconds start;             // before the first tile and after the last, the gap to the next kernel included
  Seconds group;             // grouped products only: once for each group
  double weight_gradient = 1;  // grouped products only: how much faster the inner loop of a weight gradient is

  bool operator==(const GemmRates&) const = default;
};

// One direction of a flash attention kernel; sim/cost/attention.hpp.
struct AttentionRates {
  double peak_fraction = 0;  // of the data-sheet peak at the full clock
  double score = 0;          // FLOPs that a score's exponential and bookkeeping cost as much as
  double fill = 0;           // keys that a tile of queries costs beside those it sees (whole tiles on the diagonal)
  double wide = 1;           // times peak_fraction where a head's two widths together exceed 256
  double tile = 128;         // queries (backward: keys) that one SM works on at a time
  Seconds start;

  bool operator==(const AttentionRates&) const = default;
};

struct AttentionPasses {
  AttentionRates forward, backward;

  bool operator==(const AttentionPasses&) const = default;
};

// What a collective costs beside its bytes when all its ranks are on one node: for each round (an all-gather or a
// reduce-scatter of n GPUs; an all-reduce is both) n - 1 times `step`, and as buffers grow and fill more of the library's
// slots and channels up to `fill`, half of that from a buffer of `half` bytes.
struct NodeSteps {
  Seconds step, fill;
  Bytes half;  // 0: not measured, the wires' own latencies hold

  // Of one of the n - 1 steps of a round, s.
  double of_step(double members, double buffer_bytes) const {
    return step.value + fill.value * buffer_bytes / (buffer_bytes + half.value) / (members - 1);
  }
  bool operator==(const NodeSteps&) const = default;
};

// Which part of the wires' rate all-to-alls reach, the expert-parallel ones too: a GPU deals with many others in turn, and
// the wire idles between messages. Inside a node, and where the network between nodes limits.
struct AllToAllRates {
  double inside = 1, between = 1;

  bool operator==(const AllToAllRates&) const = default;
};

struct CalibratedRates {
  GemmRates bf16, fp8;                 // fp32 and tf32 run as bf16 does, scaled by their speed-of-light rates
  GemmRates grouped_bf16, grouped_fp8;
  AttentionPasses flash;   // the best kernel that trainers use on the GPU: FlashAttention-2 on Ampere, 3 or cuDNN later
  AttentionPasses flash2;  // FlashAttention-2 on GPUs that have better ones
  bool has_flash2 = false;
  NodeSteps node_steps;
  AllToAllRates all_to_all;
  Seconds memory_start;    // of a memory-bound kernel, the gap to the next included: what the bandwidth's source adds to one
  double elementwise = 1;  // of the HBM bandwidth that kernels reach which only pass over memory, as training runs them
  double reduction = 1;    // of that, what kernels reach which reduce along rows: norms, softmax, loss
  double permutation = 1;  // of that, what kernels reach which put a mixture's rows where its experts want them

  bool operator==(const CalibratedRates&) const = default;
};

// Power and clock: P = idle + activity x dynamic x utilisation x (f / f0)^(1 + 2 voltage_exponent), kept below the limit
// by lowering f (sim/cost/power.hpp).
struct PowerModel {
  Watts limit;                  // that the GPU keeps; a plan may set a lower one
  Watts usual_limit;            // of the measurements: the board's own
  Watts idle;                   // static: what does not shrink with the clock
  Watts dynamic;                // of tensor units all busy on random data at the full clock
  double voltage_exponent = 1;  // voltage grows as f^g
  double activity = 1;          // of the data: 1 random, lower for zeros or sparse values

  bool operator==(const PowerModel&) const = default;
};

}  // namespace stepsim
