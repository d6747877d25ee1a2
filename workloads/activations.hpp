// Bytes of activations: of a block, and of a pass.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "sim/base/units.hpp"

namespace stepsim {

// What kept activations belong to. `norm`: the residual stream as norms read it, and what they write.
enum class ActivationPart : std::uint8_t { norm, attention, ffn, experts, head };
inline constexpr std::size_t kActivationParts = 5;

struct ActivationBytes {
  Bytes kept;              // from the forward pass of a microbatch until its backward (recompute policy applied)
  Bytes weight_grad_kept;  // from the input gradient until the weight gradient when the two are split: inputs of the
                           // linears (kept or recomputed) and the gradients of their outputs
  Bytes transient;         // extra while the block itself runs: what the forward does not keep, the widest gradient,
                           // logits and their softmax
  Bytes logits = {};       // the part of `transient` that is logits and their softmax
  std::array<Bytes, kActivationParts> kept_by = {};  // `kept`, by part
};

// Activations of one microbatch in one chunk of a rank.
struct ChunkActivations {
  Bytes kept, weight_grad_kept;  // as ActivationBytes has them, of all its blocks
  Bytes transient, logits;       // of its widest block: blocks run one after another; logits are not part of `transient`
  std::array<Bytes, kActivationParts> kept_by;

  bool operator==(const ChunkActivations&) const = default;
};

}  // namespace stepsim
