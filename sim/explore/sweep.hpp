// Runs a sweep's points into a store.
#pragma once

#include <functional>

#include "sim/explore/progress.hpp"
#include "sim/explore/store.hpp"
#include "sim/explore/sweep_spec.hpp"
#include "sim/simulate.hpp"

namespace stepsim {

struct Shard {
  int index = 0, of = 1;  // takes the points whose position leaves `index` when divided by `of`

  bool operator==(const Shard&) const = default;
};
// "3/64": the third of 64, counted from 1. Throws InputError.
Shard shard_from(const std::string& text);

struct SweepOptions {
  Options simulate;
  int workers = 1;
  bool retry_failed = false;
  Shard shard;
  bool progress = false;
};

struct SweepCounts {
  std::int64_t points = 0;     // of this shard
  std::int64_t simulated = 0;  // now
  std::int64_t known = 0;      // were in the store, or stand more than once in the sweep
  std::int64_t refused = 0, failed = 0;
  std::string first_refusal, first_failure;
};

// Points known to the store are not simulated again; each of the others is in it as soon as it is done.
SweepCounts run_sweep(const Sweep& sweep, Store& store, const SweepOptions& options);

}  // namespace stepsim
