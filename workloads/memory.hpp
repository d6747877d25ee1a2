// Bytes of memory a GPU needs, by kind; the peak from the order of passes.
#pragma once

#include <array>
#include <string>
#include <utility>
#include <vector>

#include "sim/base/units.hpp"
#include "workloads/activations.hpp"
#include "workloads/layers.hpp"
#include "workloads/schedule.hpp"

namespace stepsim {

struct MemoryUse {
  Bytes weights, gradients, master, moments;  // after ZeRO sharding
  Bytes activations;                          // kept ones, at the peak
  Bytes transient;                            // recomputed activations, the running block's gradients, at the peak
  Bytes logits;                               // and their softmax, at the peak
  Bytes unsharded;                            // gathered parameters and unreduced gradients in flight (ZeRO-3)
  Bytes buffers;  // communication buffers: pipeline messages in flight, dispatch and combine
  // Activations at the peak by part, and last what waits for weight gradients after their input gradients.
  std::array<Bytes, kActivationParts + 1> activations_by;
  std::vector<ChunkActivations> chunks;  // [chunk] what a pass adds and frees

  Bytes constant() const { return weights + gradients + master + moments + unsharded + buffers; }  // all step long
  Bytes total() const { return constant() + activations + transient + logits; }

  bool operator==(const MemoryUse&) const = default;
};

// How many ranks share the states of dense and of expert parameters (1: not sharded), by ZeRO stage and group.
struct ShardDegrees {
  int dense = 1;   // ranks over which a ZeRO-sharded dense state is cut
  int expert = 1;  // the same for routed experts
};

// Peak use of every pipeline rank. stage_blocks[stage] lists the block indices (into `blocks`) of that model stage.
std::vector<MemoryUse> memory_of(const ParallelPlan& plan, const Schedule& schedule, const BlockList& blocks,
                                 const std::vector<std::vector<int>>& stage_blocks, const ShardDegrees& shards,
                                 const ModelSpec& model);

// memory_of() in two steps, for those who ask about many ZeRO stages of one order of passes: activations and buffers,
// then weights, gradients and optimizer states.
std::vector<MemoryUse> activation_memory(const ParallelPlan& plan, const Schedule& schedule, const BlockList& blocks,
                                         const std::vector<std::vector<int>>& stage_blocks, const ModelSpec& model);
void add_state_memory(std::vector<MemoryUse>& uses, const ParallelPlan& plan, const Schedule& schedule, const BlockList& blocks,
                      const std::vector<std::vector<int>>& stage_blocks, const ShardDegrees& shards);

// What stands in a GPU's memory beside what the training program allocates: see MemoryReserve. Not part of MemoryUse.
struct ReservedMemory {
  Bytes context;
  Bytes communicators;
  Bytes fragmentation;
  int count = 0;  // communicators
  Bytes total() const { return context + communicators + fragmentation; }

  bool operator==(const ReservedMemory&) const = default;
};
// `plan` as resolved.
ReservedMemory reserved_memory(const ModelSpec& model, const ParallelPlan& plan, const MemoryUse& use);

// Name ("weights", ...) and bytes of each kind of use, in the order of reports; and of
// activations by part.
std::vector<std::pair<std::string, double>> kinds_of(const MemoryUse& use);
std::vector<std::pair<std::string, double>> activation_parts_of(const MemoryUse& use);

}  // namespace stepsim
