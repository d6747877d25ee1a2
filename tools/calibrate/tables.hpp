// Which tables of which GPU are fitted to which measurements, and which are borrowed.
#pragma once

#include <string>
#include <vector>

#include "exchanges.hpp"
#include "fit.hpp"

namespace stepsim {

// Where a table of a GPU came from, for the comment beside it.
struct FitOrigin {
  std::string from;  // GPUs whose measurements it was fitted to; or, borrowed, from which and how
  bool borrowed = false;
  Residuals errors;  // of the fit; rows 0 when there are none
};
using Origins = std::map<std::string, std::map<std::string, FitOrigin>>;  // [gpu][table]

struct Measurements {
  std::vector<Measured> kernels;
  MeasuredMemory memory;
  std::vector<MeasuredCall> node_calls;
  std::vector<MeasuredExchange> exchanges;
};

// Fits and borrows every table. `gpus` has speed-of-light figures and power limits and gets the calibrated rates.
Origins calibrate(Gpus& gpus, const Measurements& measured);

}  // namespace stepsim
