// Fits a few parameters to measurements.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "rows.hpp"
#include "sim/cluster/gpu.hpp"

namespace stepsim {

using Gpus = std::map<std::string, Gpu>;  // by stem

// A parameter takes the values low, low + step, ... up to high: a grid, so that a fit comes out the same everywhere.
struct Parameter {
  double low = 0, high = 0, step = 1, start = 0;
};

struct Fit {
  std::vector<Parameter> parameters;
  std::vector<const Measured*> rows;
  std::function<void(Gpus&, const std::vector<double>&)> apply;  // writes the parameters where they belong
};

// Predicted over measured time.
double ratio(const Gpus& gpus, const Measured& row);

// The mean over GPUs of the mean |ln ratio| of their rows, products weighted by the square root of their
// time: a step's time is in its large products, and there are many small ones among the measurements.
double loss(const Gpus& gpus, const std::vector<const Measured*>& rows);

// Walks each parameter up and down in ever smaller strides while the loss falls; `gpus` has the result.
void fit(Gpus& gpus, const Fit& what);

struct Residuals {
  int rows = 0;
  double median = 0, p90 = 0;  // of |ratio - 1|
  double bias = 0;             // median of ratio - 1
};
Residuals residuals(const Gpus& gpus, const std::vector<const Measured*>& rows);
Residuals residuals(std::vector<double> signed_errors);  // at least one ratio - 1

}  // namespace stepsim
