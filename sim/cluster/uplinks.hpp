// Links that stand for several parallel cables, and how messages are spread over them.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "sim/base/fields.hpp"
#include "sim/cluster/platform.hpp"

namespace stepsim {

// The links whose names match are so many cables each, all of the same speed.
struct Cables {
  std::string match;
  int count = 1;
};

// The platform with each such link (bandwidth B) replaced by `count` links L.0, L.1, ... of B / count each. A message
// takes one cable a link, chosen by a static hash of its two hosts and the seed, as equal-cost multi-path routing does:
// the same on the way up and on the way down, since the spine that one cable leads up to has one cable down to each
// leaf. Where a later entry's count is a multiple of an earlier one's, its cables belong to the switches the earlier
// choice leads to, evenly; otherwise its choice is independent. Needs every match to name links that are no host's own.
std::shared_ptr<const Platform> hashed(std::shared_ptr<const Platform> platform, const std::vector<Cables>& cables,
                                       int seed);

// Reads the cluster's key `uplinks` {choice: ideal or hash, cables: {PATTERN: COUNT}, seed} and returns the platform as
// it asks: unchanged with `ideal` (the cables are used evenly, as one link of their joint speed). Problems go to the
// document's reading.
std::shared_ptr<const Platform> read_uplinks(Fields& document, std::shared_ptr<const Platform> platform);

}  // namespace stepsim
