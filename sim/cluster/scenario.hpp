// What is not as the data sheet says: stragglers, slow links.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sim/base/fields.hpp"
#include "sim/cluster/cluster.hpp"

namespace stepsim {

struct Straggler {
  std::vector<int> ranks;
  double speed = 1;  // 0.8: takes 1.25 times as long

  bool operator==(const Straggler&) const = default;
};

// A change of the links whose names match a glob ("leaf*"), for the whole step.
struct LinkFault {
  std::string match;
  std::optional<BytesPerSecond> bandwidth;
  std::optional<double> scale;

  bool operator==(const LinkFault&) const = default;
};

struct Scenario {
  std::string name = "none";
  std::vector<Straggler> stragglers;
  std::vector<LinkFault> links;

  bool operator==(const Scenario&) const = default;
};

Scenario read_scenario(Reading& reading, const std::string& path, const std::vector<Override>& overrides);

// The cluster under the scenario. Problems (ranks that do not exist, a glob that matches no link) go to `reading`.
ClusterSpec apply(Reading& reading, ClusterSpec cluster, const Scenario& scenario);

}  // namespace stepsim
