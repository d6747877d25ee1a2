#include "sim/cost/gemm.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

namespace stepsim {
namespace {

// Tiles of cuBLAS, CUTLASS and DeepGEMM kernels: rows, columns.
struct Tile {
  double rows, columns;
};
constexpr std::array<Tile, 8> kTiles{
    {{256, 128}, {128, 256}, {128, 128}, {256, 64}, {64, 256}, {128, 64}, {64, 128}, {64, 64}}};

// Quotients of whole numbers that fit: std::ceil would be a call.
double pieces(double whole, double piece) {
  const double quotient = whole / piece;
  const auto floor = static_cast<double>(static_cast<std::int64_t>(quotient));
  return floor < quotient ? floor + 1 : floor;
}

}  // namespace

Seconds gemm_computing(const Kernel& kernel, const GemmRates& rates, FlopsPerSecond peak, int gpu_sms, int sms) {
  const double groups = kernel.groups;
  const double m = kernel.groups_in_k ? kernel.m : kernel.m / groups;
  const double k = kernel.groups_in_k ? kernel.k / groups : kernel.k;
  const double of_one_sm =
      rates.peak_fraction * (kernel.groups_in_k ? rates.weight_gradient : 1) * peak.value / gpu_sms;
  double best = std::numeric_limits<double>::infinity();  // FLOPs one SM has to do
  for (const Tile& tile : kTiles) {
    const double tiles = groups * pieces(m, tile.rows) * pieces(kernel.n, tile.columns);
    const double slowness = 2 * tile.rows * tile.columns * (1 + rates.edge * (1 / tile.rows + 1 / tile.columns));
    double splits = 1;
    do {
      best = std::min(best, pieces(tiles * splits, sms) * slowness * (k / splits + rates.fill));
      splits *= 2;
    } while (tiles * splits <= 2 * sms && k / splits >= 256);
  }
  return Seconds(best / of_one_sm);
}

}  // namespace stepsim
