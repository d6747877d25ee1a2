// CSV as the program writes it (RFC 4180).
#pragma once

#include <string>

namespace stepsim {

// A cell: quoted where a comma, a quote or a line break makes it necessary ("a" -> a, "b,c" -> "b,c" in quotes).
std::string csv_cell(const std::string& text);

}  // namespace stepsim
