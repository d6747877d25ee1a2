// The roofline study's method: what each resource would need alone, at its speed of light.
#include <algorithm>

#include "sim/report/report.hpp"

namespace stepsim {

Roofline roofline_of(const std::vector<RankRow>& ranks, const std::vector<std::string>& tiers) {
  Roofline worst;
  double slowest = -1;
  for (const RankRow& row : ranks) {
    Roofline mine{.rank = row.rank,
                  .compute_s = row.compute_roofline_s,
                  .hbm_s = row.hbm_roofline_s,
                  .wire_s = row.wire_roofline_s,
                  .bound = "compute"};
    double most = mine.compute_s;
    const auto consider = [&](double seconds, const std::string& resource) {
      if (seconds > most) {
        most = seconds;
        mine.bound = resource;
      }
    };
    consider(mine.hbm_s, "hbm");
    for (std::size_t t = 0; t < std::min(tiers.size(), mine.wire_s.size()); ++t) consider(mine.wire_s[t], tiers[t]);
    if (most > slowest) {
      slowest = most;
      worst = std::move(mine);
    }
  }
  return worst;
}

}  // namespace stepsim
