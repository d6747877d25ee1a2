// Shipped experiments, with keys replaced.
#pragma once

#include <string>
#include <vector>

#include "sim/inputs.hpp"

namespace stepsim::testing {

// `model`: in place of the experiment's own.
inline Inputs shipped(const std::string& experiment, std::vector<std::string> overrides = {}, const std::string& model = "") {
  Request request;
  request.model = model;
  request.experiment = experiment;
  request.overrides = std::move(overrides);
  request.home = STEPSIM_SOURCE_DIR;
  return load(request);
}

}  // namespace stepsim::testing
