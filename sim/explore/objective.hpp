// What a search minimises.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "sim/explore/row.hpp"
#include "sim/inputs.hpp"

namespace stepsim {

struct Objective {
  std::string_view name;
  std::string_view about;
  // Per second of step time: the value to minimise is step time x factor, so that a bound of the time bounds the value.
  double (*factor)(const Inputs& inputs);
  std::string (*text)(double value);
  bool (*allowed)(const Inputs& inputs);
  std::string_view needs;  // what to give where it is not allowed
};
const std::vector<Objective>& objectives();
const Objective* find_objective(std::string_view name);

}  // namespace stepsim
