#include "workloads/stages.hpp"

#include <algorithm>
#include <limits>

namespace stepsim {
namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();
constexpr double kSame = 1e-9;  // times that differ by no more are the same

std::vector<std::vector<int>> by_lengths(const std::vector<int>& lengths) {
  std::vector<std::vector<int>> stages;
  int next = 0;
  for (const int length : lengths) {
    auto& stage = stages.emplace_back();
    for (int i = 0; i < length; ++i) stage.push_back(next++);
  }
  return stages;
}

// cost[k][i]: the best over splits of the first i blocks into k stages; `worse` combines a rest and a last stage.
template <class Combine>
std::vector<std::vector<double>> best_splits(int stages, const std::vector<double>& prefix, const Combine& combine) {
  const int n = static_cast<int>(prefix.size()) - 1;
  std::vector<std::vector<double>> best(stages + 1, std::vector<double>(n + 1, kNever));
  best[0][0] = 0;
  for (int k = 1; k <= stages; ++k) {
    for (int i = k; i <= n; ++i) {
      for (int j = k - 1; j < i; ++j) {
        best[k][i] = std::min(best[k][i], combine(best[k - 1][j], prefix[i] - prefix[j]));
      }
    }
  }
  return best;
}

}  // namespace

std::vector<std::vector<int>> split_into_stages(const ParallelPlan& plan, int stages,
                                                const std::vector<double>& block_seconds) {
  if (!plan.stage_layers.empty()) {
    std::vector<int> lengths = plan.stage_layers;
    ++lengths.front();
    ++lengths.back();
    return by_lengths(lengths);
  }
  const int n = static_cast<int>(block_seconds.size());
  std::vector<double> prefix = {0};
  for (const double s : block_seconds) prefix.push_back(prefix.back() + s);
  const double slowest =
      best_splits(stages, prefix, [](double rest, double last) { return std::max(rest, last); })[stages][n];
  const auto even = [&](double rest, double last) { return last > slowest * (1 + kSame) ? kNever : rest + last * last; };
  const auto best = best_splits(stages, prefix, even);
  std::vector<int> lengths(stages);
  int i = n;
  for (int k = stages; k >= 1; --k) {
    int j = k - 1;
    // Of splits that are as even the one with the longest later stages, whatever rounding makes of their sums.
    while (!(even(best[k - 1][j], prefix[i] - prefix[j]) <= best[k][i] * (1 + kSame))) ++j;
    lengths[k - 1] = i - j;
    i = j;
  }
  return by_lengths(lengths);
}

}  // namespace stepsim
