// The values of one key of a sweep: a list, or a range. Inside read_sweep.
#pragma once

#include <yaml-cpp/yaml.h>

#include <string>
#include <vector>

#include "sim/base/fields.hpp"

namespace stepsim {

// As text that --set takes. Problems go to `reading`, under `key`; then the list is empty.
//   [a, b, c]                                 as they stand; an item may be a list or a mapping itself
//   {from: A, to: B, step: S}                 A, A + S, ... up to B
//   {from: A, to: B, factor: F}               A, A F, A F^2, ... up to B
//   {from: A, to: B, points: N, scale: log}   N values from A to B, equally far apart (scale: linear) or in equal ratios
// A, B and S are numbers, or quantities of one dimension ("10GBps"); values then have the unit of A. Whole numbers stay
// whole with step and factor.
std::vector<std::string> sweep_values(Reading& reading, const std::string& file, const std::string& key,
                                      const YAML::Node& node, int line);

}  // namespace stepsim
