// What folding found, for people.
#pragma once

#include <string>

#include "sim/graph/fold.hpp"

namespace stepsim {

// Counts, and a row for each kind of rank with what makes it differ from its program's largest kind. Fits 100 columns.
std::string folding_text(const FoldingReasons& reasons);

}  // namespace stepsim
