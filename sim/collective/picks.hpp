// Which experts a token goes to when some are wanted more than others.
#pragma once

#include <map>
#include <span>
#include <vector>

#include "sim/collective/algorithm.hpp"

namespace stepsim {

// `total` cut in proportion to `weights`, each piece between its `least` and its `most`: clamp(c weight, least, most)
// with the c that makes the sum. When the bounds allow no such sum, all pieces are at that bound.
std::vector<double> spread(double total, std::span<const double> weights, std::span<const double> least,
                           std::span<const double> most);

// The choice of different experts by a token in which expert e is chosen with probability loads[e], and nothing else is
// known: of all such choices the one of greatest entropy, a set S having a probability in proportion to the product of
// its experts' weights (conditional Poisson sampling; weights by the fixed point of Chen, Dempster and Liu, "Weighted
// finite population sampling to maximize entropy", Biometrika 81, 1994). Equal loads make all sets alike, as
// expected_gpus() has it. The loads' sum is the number of picks; where it is not whole, a token makes the next lower or
// the next higher number of them.
class Picks {
 public:
  explicit Picks(std::span<const double> loads);  // each 0 to 1

  // Probability that at least one of the experts first ... first + count - 1 is chosen. The same for experts of the
  // same loads, to the last bit.
  double reach(std::size_t first, std::size_t count);

 private:
  using Real = long double;  // weights of nearly certain experts, multiplied

  void solve();
  std::vector<Real> sets(std::span<const Real> weights) const;  // [size] sum over sets of the products

  std::vector<double> loads_;
  std::vector<Real> weights_;  // [expert]; certain experts are left out
  std::vector<bool> certain_;  // [expert]
  std::size_t low_ = 0;        // picks among the others: low_, or low_ + 1 with probability more_
  Real more_ = 0;
  std::map<std::vector<double>, double> known_;
};

}  // namespace stepsim
