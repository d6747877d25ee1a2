// One op of a rank's program: what it does, where it comes from, what it waits for.
#pragma once

#include <boost/container/small_vector.hpp>
#include <cstdint>
#include <string_view>

namespace stepsim {

// What a communication is for.
enum class Dimension : std::uint8_t { none, tensor, context, expert, pipeline, gather, reduce };
std::string_view to_text(Dimension dimension);

// Which part of a training step an op belongs to.
enum class Phase : std::uint8_t { forward, recompute, backward, input_gradient, weight_gradient, optimizer, other };
std::string_view to_text(Phase phase);

// Where an op comes from, so that every number of a report can be traced to events. -1: does not apply.
struct Tags {
  Phase phase = Phase::other;
  Dimension dimension = Dimension::none;
  std::int16_t stage = -1;
  std::int16_t chunk = -1;
  std::int16_t layer = -1;  // block of the model: 0 the embedding, 1.. the layers, last the head
  std::int32_t microbatch = -1;
  std::int32_t label = 0;  // index into StepGraph::labels

  bool operator==(const Tags&) const = default;
};

// What a compute op asks of the GPU, for rooflines and utilisation.
struct ComputeWork {
  double flops = 0;            // hardware FLOPs
  double model_flops = 0;      // the part of them that the model's own arithmetic needs (no recompute)
  double compute_seconds = 0;  // FLOPs over the full GPU's achieved rate
  double hbm_seconds = 0;      // HBM bytes over achieved bandwidth

  bool operator==(const ComputeWork&) const = default;
};

// What an op waits for, while it is made: a list that rarely needs memory of its own.
using OpList = boost::container::small_vector<std::int32_t, 2>;

enum class OpKind : std::uint8_t { compute, transfer, delay };

// An op but for what it waits for.
struct OpSpec {
  OpKind kind = OpKind::compute;
  std::uint8_t stream = 0;
  std::int16_t slot = -1;     // transfer: which of the rank's groups
  std::int16_t pattern = -1;  // transfer: which of the group's patterns
  std::int16_t sms = 0;       // SMs the rank loses while the transfer moves (from start to end)
  // compute and delay: duration in seconds on a rank of speed 1. A delay of zero makes a join. Ranks' speeds scale
  // compute only.
  double seconds = 0;
  // compute: the part of `seconds` that is inversely proportional to the SMs available (shared SMs, see
  // StepGraph::sms). A compute op of seconds s with SM-bound part a runs at the speed s / (a / f + s - a) while a
  // fraction f of the SMs is free.
  double sm_seconds = 0;
  // transfer: payload of the call; what one payload byte puts on which link is the pattern's business.
  double payload_bytes = 0;
  Tags tags;
  ComputeWork work;

  bool operator==(const OpSpec&) const = default;
};

struct Op : OpSpec {
  OpList after;  // indices of ops of the same program

  bool operator==(const Op&) const = default;
};

}  // namespace stepsim
