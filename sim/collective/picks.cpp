#include "sim/collective/picks.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace stepsim {
namespace {

double sum_of(std::span<const double> values) {
  return std::accumulate(values.begin(), values.end(), 0.0);
}

// The same whatever the order of the experts.
double sorted_sum(std::span<const double> values) {
  std::vector<double> sorted(values.begin(), values.end());
  std::sort(sorted.begin(), sorted.end());
  return sum_of(sorted);
}

constexpr double kCertain = 1 - 1e-9;  // a load from here on counts as 1
constexpr int kMostRounds = 20'000;
constexpr double kAgree = 1e-13;  // of the loads that the weights make

}  // namespace

std::vector<double> spread(double total, std::span<const double> weights, std::span<const double> least,
                           std::span<const double> most) {
  if (sum_of(least) >= total) return {least.begin(), least.end()};
  if (sum_of(most) <= total) return {most.begin(), most.end()};
  const auto pieces = [&](double c) {
    std::vector<double> cut;
    for (std::size_t i = 0; i < weights.size(); ++i) cut.push_back(std::clamp(c * weights[i], least[i], most[i]));
    return cut;
  };
  double low = 0, high = total / sum_of(weights);
  while (sum_of(pieces(high)) < total * (1 - 1e-15) && high < 1e300) high *= 2;
  for (int i = 0; i < 200 && low < high; ++i) {
    const double middle = low + (high - low) / 2;
    (sum_of(pieces(middle)) < total ? low : high) = middle;
  }
  // What is at no bound shares the rest: without the rounding of the search.
  double rest = total, free = 0;
  std::vector<double> cut = pieces(high);
  for (std::size_t i = 0; i < cut.size(); ++i) {
    const bool bound = high * weights[i] <= least[i] || high * weights[i] >= most[i];
    (bound ? rest : free) += bound ? -cut[i] : weights[i];
  }
  return free > 0 ? pieces(rest / free) : cut;
}

Picks::Picks(std::span<const double> loads) : loads_(loads.begin(), loads.end()) {
  std::vector<double> open;
  for (const double load : loads_) {
    certain_.push_back(load >= kCertain);
    if (!certain_.back()) open.push_back(load);
  }
  const double picks = sorted_sum(open);
  low_ = static_cast<std::size_t>(std::floor(picks + 1e-9));
  more_ = std::max(0.0, picks - static_cast<double>(low_));
  if (more_ < 1e-9) more_ = 0;
  solve();
}

std::vector<Picks::Real> Picks::sets(std::span<const Real> weights) const {
  std::vector<Real> sums(low_ + 2, 0);
  sums[0] = 1;
  for (const Real w : weights) {
    for (std::size_t k = sums.size() - 1; k > 0; --k) sums[k] += w * sums[k - 1];
  }
  return sums;
}

// Works on the different loads, in order, so that equal loads get equal weights wherever their experts stand.
void Picks::solve() {
  std::vector<double> order;
  for (std::size_t e = 0; e < loads_.size(); ++e) {
    if (!certain_[e]) order.push_back(loads_[e]);
  }
  std::sort(order.begin(), order.end());
  std::vector<Real> w;
  for (const double load : order) w.push_back(load / (1 - Real(load)));
  const std::size_t n = order.size(), sizes = low_ + 2;
  std::vector<Real> before, after;  // [expert][size] sets of the experts before it, from it on
  for (int round = 0; round < kMostRounds && n > 0; ++round) {
    before.assign((n + 1) * sizes, 0);
    after.assign((n + 1) * sizes, 0);
    before[0] = after[n * sizes] = 1;
    for (std::size_t i = 0; i < n; ++i) {
      const std::size_t j = n - 1 - i;
      for (std::size_t k = 0; k < sizes; ++k) {
        before[(i + 1) * sizes + k] = before[i * sizes + k] + (k > 0 ? w[i] * before[i * sizes + k - 1] : 0);
        after[j * sizes + k] = after[(j + 1) * sizes + k] + (k > 0 ? w[j] * after[(j + 1) * sizes + k - 1] : 0);
      }
    }
    const Real* all = &after[0];
    const auto without = [&](std::size_t i, std::size_t size) {
      Real sum = 0;
      for (std::size_t k = 0; k <= size; ++k) sum += before[i * sizes + k] * after[(i + 1) * sizes + size - k];
      return sum;
    };
    Real worst = 0, factor = 1;
    for (std::size_t i = 0; i < n; ++i) {
      if (order[i] == 0) continue;
      if (i == 0 || order[i] != order[i - 1]) {
        Real made = low_ > 0 ? (1 - more_) * w[i] * without(i, low_ - 1) / all[low_] : 0;
        if (more_ > 0) made += more_ * w[i] * without(i, low_) / all[low_ + 1];
        factor = order[i] / made;
        worst = std::max(worst, std::abs(factor - 1));
      }
      w[i] *= factor;
    }
    if (worst < kAgree) break;
  }
  for (std::size_t e = 0; e < loads_.size(); ++e) {
    const auto at = std::lower_bound(order.begin(), order.end(), loads_[e]);
    weights_.push_back(certain_[e] ? 0 : w[at - order.begin()]);
  }
}

double Picks::reach(std::size_t first, std::size_t count) {
  std::vector<double> key(loads_.begin() + static_cast<std::ptrdiff_t>(first),
                          loads_.begin() + static_cast<std::ptrdiff_t>(first + count));
  std::sort(key.begin(), key.end());
  const auto [it, fresh] = known_.try_emplace(std::move(key), 1.0);
  if (!fresh) return it->second;
  for (std::size_t e = first; e < first + count; ++e) {
    if (certain_[e]) return it->second;
  }
  std::vector<Real> others(weights_.begin(), weights_.begin() + static_cast<std::ptrdiff_t>(first));
  others.insert(others.end(), weights_.begin() + static_cast<std::ptrdiff_t>(first + count), weights_.end());
  const std::vector<Real> left = sets(others), all = sets(weights_);
  Real none = (1 - more_) * left[low_] / all[low_];
  if (more_ > 0) none += more_ * left[low_ + 1] / all[low_ + 1];
  return it->second = static_cast<double>(1 - none);
}

namespace {

// A token goes to so many nodes; to node n with a probability in proportion to the load of its experts, but at least
// that of its busiest expert, and at most as often as any of them is chosen.
std::vector<double> node_reach(double reached, std::span<const double> loads, std::size_t nodes) {
  const std::size_t experts = loads.size() / nodes;
  std::vector<double> weights, least, most;
  for (std::size_t n = 0; n < nodes; ++n) {
    const auto own = loads.subspan(n * experts, experts);
    weights.push_back(sorted_sum(own));
    least.push_back(*std::max_element(own.begin(), own.end()));
    most.push_back(std::min(1.0, weights.back()));
  }
  return spread(reached, weights, least, most);
}

}  // namespace

TokenRouting unequal_routing(TokenRouting routing, std::span<const double> loads, int size, int nodes) {
  const auto experts = loads.size() / static_cast<std::size_t>(size);  // of a member
  Picks anywhere(loads);
  routing.to_member.clear();
  for (int m = 0; m < size; ++m) {
    const auto own = loads.subspan(static_cast<std::size_t>(m) * experts, experts);
    routing.to_member.push_back(routing.every_copy ? sorted_sum(own) : anywhere.reach(m * experts, experts));
  }
  routing.to_node = {1};
  routing.in_node = routing.to_member;
  if (nodes == 1 || size % nodes != 0) return routing;
  const std::size_t of_node = loads.size() / static_cast<std::size_t>(nodes);
  routing.to_node.clear();
  for (int n = 0; n < nodes; ++n) routing.to_node.push_back(anywhere.reach(n * of_node, of_node));
  if (routing.max_nodes <= 0 || routing.max_nodes >= sum_of(routing.to_node)) return routing;  // no limit that binds
  routing.to_node =
      node_reach(std::min<double>(routing.max_nodes, routing.top_k), loads, static_cast<std::size_t>(nodes));
  routing.in_node.clear();
  for (int n = 0; n < nodes; ++n) {
    const double reach = routing.to_node[n];
    std::vector<double> own(loads.begin() + static_cast<std::ptrdiff_t>(n * of_node),
                            loads.begin() + static_cast<std::ptrdiff_t>((n + 1) * of_node));
    for (double& load : own) load = reach > 0 ? std::min(1.0, load / reach) : 0;
    Picks here(own);
    for (std::size_t e = 0; e < of_node; e += experts) routing.in_node.push_back(reach * here.reach(e, experts));
  }
  return routing;
}

}  // namespace stepsim
