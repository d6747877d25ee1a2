#include "sim/graph/changes.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace stepsim {
namespace {

// splitmix64 (Steele, Lea, Flood: Fast Splittable Pseudorandom Number Generators, OOPSLA 2014).
std::uint64_t mixed(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15ULL;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
  return x ^ (x >> 31);
}

// In (0, 1].
double uniform(std::uint64_t x) { return static_cast<double>((x >> 11) + 1) * 0x1.0p-53; }

}  // namespace

double value_at(double start, const std::vector<Change>& changes, double time) {
  const auto later = std::upper_bound(changes.begin(), changes.end(), time,
                                      [](double t, const Change& change) { return t < change.time; });
  return later == changes.begin() ? start : std::prev(later)->value;
}

double mean_value(double start, const std::vector<Change>& changes, double end) {
  if (changes.empty() || !(end > 0)) return start;
  double sum = 0, since = 0, value = start;
  for (const Change& change : changes) {
    if (change.time >= end) break;
    sum += value * (change.time - since);
    since = change.time;
    value = change.value;
  }
  return (sum + value * (end - since)) / end;
}

std::int32_t routing_at(const StepGraph& graph, double time) {
  std::int32_t routing = 0;
  for (const Rerouting& rerouting : graph.reroutings) {
    if (rerouting.time <= time) routing = rerouting.routing;
  }
  return routing;
}

double jitter_factor(double sigma, std::uint64_t seed, std::uint64_t which, std::uint64_t index) {
  if (sigma == 0) return 1;
  const std::uint64_t drawn = mixed(mixed(mixed(seed) ^ which) ^ index);
  // Box and Muller.
  const double z = std::sqrt(-2 * std::log(uniform(drawn))) * std::cos(2 * std::numbers::pi * uniform(mixed(drawn)));
  return std::exp(sigma * z - sigma * sigma / 2);
}

}  // namespace stepsim
