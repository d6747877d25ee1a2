// What a plan needs, without simulating it: its memory, exactly, and a time that no simulation of its step ends before.
// For searching among plans: what cannot win need not be simulated.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "workloads/group_bound.hpp"
#include "workloads/memory.hpp"
#include "workloads/model.hpp"
#include "workloads/pass_bound.hpp"

namespace stepsim {

struct StepBound {
  double seconds = 0;         // of the step, at least
  std::string by;             // what needs that long: "schedule", a tier's name, or "tensor", "context", "expert",
                              // "gather", "reduce": collectives of a kind, one after another
  double memory_bytes = 0;    // peak of the fullest pipeline rank, as the step will have it
};

// The bound is the largest of
//   schedule  the chain of passes: every pass takes its compute and the collectives that nothing can hide (each alone on
//             its wires), in the schedule's order, with the messages between stages; then the last gradient reduction,
//             the optimizer, the gather of parameters. The pipeline's bubble is part of it.
//   a wire    what the collectives of a rank put through its ports of that wire, at the speed of its fastest link
//   a kind    collectives of one stream, one after another
// Latencies, contention, and stragglers are left out; all make a step longer. With unequal experts, random variation, or
// messages that go round a dead link nothing is promised and the bound is 0.
class Bounds {
 public:
  Bounds(const ModelSpec& model, const ClusterSpec& cluster);
  ~Bounds();
  Bounds(const Bounds&) = delete;
  Bounds& operator=(const Bounds&) = delete;

  // `plan` must be resolved, must have passed check(), and must not be automatic. All plans given to one object have the
  // same precisions, algorithms, SMs, routing and overlap (but overlap.expert): what they share is worked out once.
  StepBound of(const ParallelPlan& plan);

  // A quick look at all plans that differ from `plan` only in schedule, virtual stages, ZeRO stage, recompute and
  // overlap.expert: neither time nor memory of any of them is less.
  StepBound least(const ParallelPlan& plan);

  // The same with a longer look: collectives that nothing hides, and what the wires carry. No less than least().
  // `pairs`: whether some of these plans run overlapped pairs interleaved.
  StepBound least_with_wires(const ParallelPlan& plan, bool pairs);

  // Of all plans that differ from `plan` only in schedule, virtual stages and ZeRO stage. `pairs`: whether of those
  // schedules whose overlapped pairs the plan runs interleaved; else of the others. Memory as least() has it.
  StepBound least_of_passes(const ParallelPlan& plan, bool pairs);

 private:
  class Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace stepsim
