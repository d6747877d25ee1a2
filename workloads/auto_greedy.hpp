// One pass after another, as time goes on: how automatic schedules are written.
#pragma once

#include <limits>
#include <optional>

#include "workloads/schedule_times.hpp"

namespace stepsim {

// Rules of preference. Each rank, whenever it is free, runs an input gradient if one is ready; else a forward pass if
// one is ready and memory allows; else a weight gradient that was put off; else it waits.
struct Preference {
  bool later_chunk_first = true;    // of forward passes: those nearest the loss (gradients come sooner)
  bool last_gradient_first = true;  // of input gradients: those nearest the end of the backward pass
  double patience = 1;              // a weight gradient starts only if the rank would idle for this part of it
  double hold = 0;                  // a forward pass is held back if an input gradient comes within this part of it
  double slope = 0;                 // microbatches' worth of memory that each further rank forgoes
};

struct GreedyRequest {
  Schedule shape;  // placement and microbatches; passes only where `keep_order` is set
  // Every rank runs the forward passes and input gradients (or full backward passes, split here) in the order of
  // `shape`: only weight gradients are placed anew. Then of the preferences only `patience` matters.
  bool keep_order = false;
  PassTimes times;        // of the shape's stages
  double memory_cap = 0;  // activations of a chunk
  double kept_for_weight = 1;
  double limit = std::numeric_limits<double>::infinity();  // s: only what ends sooner is wanted
};

struct GreedyResult {
  Schedule schedule;
  Seconds makespan;
};

// No result when there is too little memory for the order that is to be kept, or when it would not end before the limit.
std::optional<GreedyResult> greedy_schedule(const GreedyRequest& request, const Preference& preference);

}  // namespace stepsim
