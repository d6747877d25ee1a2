// What a trainer of ZeRO-2 or 3 does with a block's states beside moving them.
#pragma once

#include "workloads/layers.hpp"

namespace stepsim {

// Adds the kernels of plan.kernels.shards to a block, at the end of its passes: they run beside it, on streams of their
// own, and take their share of HBM from it. Bytes a parameter and microbatch, with 16-bit gradients and FP32 reduction:
// flat (PyTorch, torch/distributed/fsdp/_runtime_utils.py): gradients put together 4, cast 6, divided by the ranks 8;
// by_parameter (FSDP2, _fsdp_collectives.py): gathered parameters copied out 4 each way, gradients copied in and cast 6.
// Where products take FP8 of parameters that are gathered in more bits, both cast them forward: along rows and columns.
void add_copies_of_shards(Block& block, const ParallelPlan& plan);

}  // namespace stepsim
