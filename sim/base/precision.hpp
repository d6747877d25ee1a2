// Number formats of operands, states and wires.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace stepsim {

enum class Precision : std::uint8_t { none, fp4, fp8, bf16, fp16, tf32, fp32 };

// Bytes one element takes in memory or on a wire, scales not counted; 0 for none.
double bytes_per_element(Precision precision);

// Bytes of one row of `width` activations: an FP8 row carries one FP32 scale for each 128 elements (DeepSeek-V3's
// report, section 3.3: 1 x 128 tiles), so 7168 elements take 7168 + 56 x 4 = 7392 bytes. Other formats carry none.
double activation_row_bytes(double width, Precision precision);

std::string_view to_text(Precision precision);
std::optional<Precision> precision_from(std::string_view text);

}  // namespace stepsim
