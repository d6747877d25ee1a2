// Far above any model, and small enough that every product of shapes stays exact in a double or an int64.
#pragma once

namespace stepsim {

inline constexpr int kMostLayers = 10'000;
inline constexpr int kMostHeads = 1'000'000;
inline constexpr int kMostWidth = 100'000'000;

}  // namespace stepsim
