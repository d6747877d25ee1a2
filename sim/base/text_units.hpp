// Quantities as text, in SimGrid's spelling: "50GBps", "400Gbps", "2us", "80GiB", "758Tf". A number without a unit is
// not a quantity. Prefixes: k, M, G, T, P, E (powers of 1000) and Ki, Mi, Gi, Ti, Pi, Ei (powers of 1024).
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "sim/base/units.hpp"

namespace stepsim {

std::optional<BytesPerSecond> bandwidth_from(std::string_view text);  // Bps (bytes) or bps (bits), any prefix
std::optional<Seconds> time_from(std::string_view text);              // ps ns us ms s m h d w
std::optional<Bytes> size_from(std::string_view text);                // B (bytes) or b (bits), any prefix
std::optional<FlopsPerSecond> rate_from(std::string_view text);       // f (FLOP/s), any prefix
std::optional<Watts> power_from(std::string_view text);               // W, any prefix

// For people, three significant digits: "26.7 s", "1.34 TB", "160 GB/s", "758 TFLOP/s", "250 GFLOP".
std::string to_text(Seconds time);
std::string to_text(Bytes size);
std::string to_text(BytesPerSecond bandwidth);
std::string to_text(FlopsPerSecond rate);
std::string to_text(Flops work);
std::string to_text(Watts power);

}  // namespace stepsim
