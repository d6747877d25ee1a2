// Numbers as words for people: SI units with three or four significant digits.
#pragma once

#include <string>
#include <string_view>

namespace stepsim {

std::string seconds_text(double seconds);  // "26.7 s", "0 s"
std::string bytes_text(double bytes);      // "1.34 TB"
std::string bandwidth_text(double bytes_per_second);
std::string percent_text(double share);                // 0.4123 -> "41.2 %"
std::string factor_text(double factor);                // "5.1", "12"
std::string number_text(double number);                // "1,234", "12.3"
std::string quantity_text(double number);              // "2.04e+20", for FLOPs without unit
std::string resource_text(std::string_view resource);  // "hbm" -> "HBM"

// Breaks at spaces so that no line is longer than `width`; every line but the first starts with `indent` spaces.
std::string wrap(std::string_view text, std::size_t width, std::size_t indent = 0);

}  // namespace stepsim
