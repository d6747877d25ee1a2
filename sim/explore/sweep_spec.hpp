// A sweep's YAML: an experiment, and what is varied.
//
//   name: wires                              # of the sweep in its store
//   experiment: deepseek-v3-dualpipe         # or model, cluster, plan, scenario (names or paths), as on the command line
//   set: {plan.batch.global_sequences: 7680} # keys that are replaced in every point
//   product:                                 # every combination, the last key fastest
//     plan.schedule: [1f1b, zb-h1]
//     plan.parallel.pipeline: {from: 4, to: 16, factor: 2}          # 4, 8, 16
//     plan.parallel.expert: {from: 16, to: 64, step: 16}            # 16, 32, 48, 64
//     cluster.x: {from: 10GBps, to: 1000GBps, points: 5, scale: log}
//     scenario: [none, slow-leaf]            # experiment, model, cluster, plan and scenario themselves can be varied
//   zip:                                     # keys that go together: lists of the same length
//     - {plan.parallel.tensor: [1, 8], plan.parallel.sequence: [false, true]}
//   filter: plan.parallel.pipeline * plan.parallel.tensor <= 64     # expression.hpp, over the keys varied
//
// Points are the product of all keys of `product` and of all groups of `zip`, in this order, without those that the
// filter drops.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "sim/explore/store.hpp"
#include "sim/inputs.hpp"

namespace stepsim {

struct SweepPoint {
  Entry entry;
  Request request;
};

struct Sweep {
  std::string name;
  std::size_t size = 0;
  std::function<SweepPoint(std::size_t)> point;  // below size. Made when asked for: a sweep's memory does not hold its points.
  std::int64_t filtered = 0;                     // combinations that the filter dropped
};

// Reads the file and lists its points. Throws InputError with all problems. `overrides` are added to every point's.
Sweep read_sweep(const std::string& path, const std::string& home, const std::vector<std::string>& overrides);

// A hash of what the points ask for: shards of one sweep must agree in it.
std::string points_key(const Sweep& sweep);

// "8/zb-h1": the values.
std::string label_of(const std::vector<std::pair<std::string, std::string>>& values);

// `request` with one more value: of a document ("scenario", "none" for without) or of a key ("plan.schedule").
void apply(Request& request, const std::string& key, const std::string& value);

}  // namespace stepsim
