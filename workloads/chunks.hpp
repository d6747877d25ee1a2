// Chunked overlap of a tensor-parallel GEMM with its collective.
#pragma once

#include "workloads/layers.hpp"

namespace stepsim {

// The block with each GEMM of the forward pass, of recompute and of input gradients that stands next to a tensor
// collective cut into `chunks` pieces along its rows, and the collective with it: a gathered piece is multiplied while
// the next one is gathered, a product's piece is reduced while the next one is multiplied. (Transformer Engine's
// userbuffers and PyTorch's asynchronous tensor parallelism run so; weight gradients hide their gather under the input
// gradient instead.) What quantises the gathered rows for the GEMM is cut with it.
//
// The bytes on the wires stay the same; every piece reads the weights again, starts its own kernels, and pays its
// collective's latency.
Block chunk_tensor_collectives(const Block& block, int chunks);

}  // namespace stepsim
