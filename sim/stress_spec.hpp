// What may go wrong with a step, and how badly: random draws of scenarios, over grids of settings if wanted.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "sim/base/fields.hpp"
#include "sim/cluster/scenario.hpp"
#include "workloads/model.hpp"

namespace stepsim {

// Drawn evenly between the two; one value when they are equal.
struct Range {
  double low = 0, high = 0;

  bool operator==(const Range&) const = default;
};

// Links that suffer: `count` of those that match, each drawn by itself; or, with `all`, every match by the same draw
// (oversubscription, other jobs' traffic on a tier).
struct StressLinks {
  std::string match;
  bool all = false;
  Range count{1, 1};
  Range scale{1, 1};  // on the bandwidth
  bool down = false;  // instead: nothing moves from `from` on, for `lasts`
  Range from{0, 0}, lasts{0, 0};           // s
  std::optional<double> period;            // s: flapping, up for `duty` of each
  Range duty{1, 1};
  bool failover = false;
  double failover_delay = 0;  // s

  bool operator==(const StressLinks&) const = default;
};

struct StressSpec {
  // What ranges, and a grid's values of them, may hold.
  static constexpr Range kCounts{0, 1e6}, kSpeeds{1e-6, 1e6}, kScales{1e-6, 1e6}, kExponents{0, 10}, kSigmas{0, 2};

  std::string file, name;
  int runs = 0;  // of each point of the grid
  std::uint64_t seed = 0;
  Range stragglers{0, 0}, speed{1, 1};  // GPUs, and their speed
  std::vector<StressLinks> links;
  Range zipf{0, 0};           // exponent of the experts' popularity
  Range compute_sigma{0, 0}, communication_sigma{0, 0};
  // Dotted names of ranges ("stragglers.speed", "links.0.scale") and the values each takes in turn; every combination.
  std::vector<std::pair<std::string, std::vector<double>>> grid;

  bool operator==(const StressSpec&) const = default;
};

// One drawn scenario.
struct Draw {
  int number = 0;
  std::uint64_t seed = 0;      // its own: the same spec and number give the same draw
  std::vector<double> point;   // the grid's values, in the order of StressSpec::grid
  Scenario scenario;
  double zipf = 0;
  std::string text;            // what was drawn, in words

  bool operator==(const Draw&) const = default;
};

// Keys: name, runs, seed; stragglers {count, speed}; links, a list of {match, count | all, scale | down {from, lasts,
// period, duty}, failover, failover_delay}; experts {zipf}; jitter {compute_sigma, communication_sigma}; grid {name: list}.
// A range is a number, or [low, high]; times have units.
StressSpec read_stress_spec(Reading& reading, const std::string& path);

// All draws of the spec on this cluster: grid points times runs. Problems (a pattern that matches no link, more stragglers
// than GPUs, more links than match, experts that the model has not) go to `reading`.
std::vector<Draw> draws_of(Reading& reading, const StressSpec& spec, const ClusterSpec& cluster, const ModelSpec& model);

}  // namespace stepsim
