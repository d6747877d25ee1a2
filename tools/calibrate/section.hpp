// The section `calibrated` of a GPU's file.
#pragma once

#include <string>

#include "tables.hpp"

namespace stepsim {

// Its text, with what each table was fitted to or borrowed from, and how far the fit is from the measurements.
std::string section_of(const Gpu& gpu, const std::map<std::string, FitOrigin>& origins);

}  // namespace stepsim
