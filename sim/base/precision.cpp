#include "sim/base/precision.hpp"

#include <array>
#include <cmath>

namespace stepsim {
namespace {

struct Row {
  Precision precision;
  std::string_view name;
  double bytes;
};

constexpr std::array<Row, 7> kTable{{{Precision::none, "none", 0},
                                     {Precision::fp4, "fp4", 0.5},
                                     {Precision::fp8, "fp8", 1},
                                     {Precision::bf16, "bf16", 2},
                                     {Precision::fp16, "fp16", 2},
                                     {Precision::tf32, "tf32", 4},
                                     {Precision::fp32, "fp32", 4}}};

}  // namespace

double bytes_per_element(Precision precision) {
  return kTable[static_cast<std::size_t>(precision)].bytes;
}

double activation_row_bytes(double width, Precision precision) {
  const double scales = precision == Precision::fp8 ? 4 * std::ceil(width / 128) : 0;
  return width * bytes_per_element(precision) + scales;
}

std::string_view to_text(Precision precision) {
  return kTable[static_cast<std::size_t>(precision)].name;
}

std::optional<Precision> precision_from(std::string_view text) {
  for (const Row& row : kTable) {
    if (row.name == text) return row.precision;
  }
  return std::nullopt;
}

}  // namespace stepsim
