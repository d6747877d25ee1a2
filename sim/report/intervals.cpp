#include "sim/report/intervals.hpp"

#include <algorithm>
#include <cstddef>
#include <utility>

namespace stepsim {

void append(Intervals& set, double begin, double end) {
  if (!(begin < end)) return;
  if (!set.empty() && begin <= set.back().end) {
    set.back().end = std::max(set.back().end, end);
  } else {
    set.push_back({begin, end});
  }
}

Intervals unite(const Intervals& a, const Intervals& b) {
  Intervals result;
  result.reserve(a.size() + b.size());
  std::size_t i = 0, j = 0;
  while (i < a.size() || j < b.size()) {
    const bool from_a = j == b.size() || (i < a.size() && a[i].begin <= b[j].begin);
    const Interval& next = from_a ? a[i++] : b[j++];
    append(result, next.begin, next.end);
  }
  return result;
}

// Pairwise, as a tournament, so that k sets of n intervals together cost O(n log k).
Intervals unite_all(std::vector<Intervals> sets) {
  if (sets.empty()) return {};
  for (std::size_t step = 1; step < sets.size(); step *= 2) {
    for (std::size_t i = 0; i + step < sets.size(); i += 2 * step) {
      if (sets[i + step].empty()) continue;
      sets[i] = sets[i].empty() ? std::move(sets[i + step]) : unite(sets[i], sets[i + step]);
    }
  }
  return std::move(sets.front());
}

Intervals intersect(const Intervals& a, const Intervals& b) {
  Intervals result;
  std::size_t i = 0, j = 0;
  while (i < a.size() && j < b.size()) {
    append(result, std::max(a[i].begin, b[j].begin), std::min(a[i].end, b[j].end));
    (a[i].end < b[j].end) ? ++i : ++j;
  }
  return result;
}

Intervals subtract(const Intervals& a, const Intervals& b) {
  Intervals result;
  std::size_t j = 0;
  for (const Interval& piece : a) {
    double begin = piece.begin;
    while (j < b.size() && b[j].end <= begin) ++j;
    // An interval of b that reaches past this piece may cut the next one too: look ahead without consuming it.
    for (std::size_t k = j; k < b.size() && b[k].begin < piece.end; ++k) {
      append(result, begin, b[k].begin);
      begin = std::max(begin, b[k].end);
    }
    append(result, begin, piece.end);
    while (j < b.size() && b[j].end <= piece.end) ++j;
  }
  return result;
}

double length(const Intervals& set) {
  double sum = 0;
  for (const Interval& interval : set) sum += interval.end - interval.begin;
  return sum;
}

Coverage::Coverage(Intervals set) : set_(std::move(set)), sum_(set_.size() + 1, 0) {
  for (std::size_t i = 0; i < set_.size(); ++i) sum_[i + 1] = sum_[i] + (set_[i].end - set_[i].begin);
}

double Coverage::before(double time) const {
  const auto starts_before = [&](std::size_t i) { return i < set_.size() && set_[i].begin < time; };
  constexpr int kSteps = 4;
  std::size_t next = near_;  // the first that does not start before `time`
  if (next == 0 || starts_before(next - 1)) {
    for (int i = 0; i < kSteps && starts_before(next); ++i) ++next;
  }
  if (starts_before(next) || (next > 0 && !starts_before(next - 1))) {
    const auto found = std::lower_bound(set_.begin(), set_.end(), time,
                                        [](const Interval& interval, double t) { return interval.begin < t; });
    next = static_cast<std::size_t>(found - set_.begin());
  }
  near_ = next;
  if (next == 0) return 0;
  return sum_[next - 1] + std::min(time, set_[next - 1].end) - set_[next - 1].begin;
}

double Coverage::within(double begin, double end) const {
  return begin < end ? std::clamp(before(end) - before(begin), 0.0, end - begin) : 0;
}

}  // namespace stepsim
