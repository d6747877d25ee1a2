// Sets of time: sorted lists of disjoint intervals, combined in linear time.
#pragma once

#include <cmath>
#include <vector>

namespace stepsim {

struct Interval {
  double begin = 0;
  double end = 0;

  bool operator==(const Interval&) const = default;
};

// Sorted, disjoint, not touching, none empty.
using Intervals = std::vector<Interval>;

// Adds [begin, end) to the set. Calls come in order of `begin`: ops of one stream do. An empty interval adds nothing.
void append(Intervals& set, double begin, double end);

Intervals unite(const Intervals& a, const Intervals& b);
Intervals unite_all(std::vector<Intervals> sets);
Intervals intersect(const Intervals& a, const Intervals& b);
Intervals subtract(const Intervals& a, const Intervals& b);  // a without b
double length(const Intervals& set);

// Answers how much of a span a set covers, in O(log n) a question; at once where questions come in order of time.
class Coverage {
 public:
  explicit Coverage(Intervals set);
  double within(double begin, double end) const;

 private:
  double before(double time) const;  // length of the set before `time`

  Intervals set_;
  std::vector<double> sum_;  // [i] length of the first i intervals
  mutable std::size_t near_ = 0;  // where the last question ended
};

// A time that is told of a step of that length: what rounding leaves (less than 1e-10 of the step) is nothing.
inline double told(double seconds, double step_time) { return std::abs(seconds) < 1e-10 * step_time ? 0 : seconds; }

}  // namespace stepsim
