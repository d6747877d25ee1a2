#include "sim/collective/idle_wires.hpp"

#include <algorithm>
#include <numeric>

namespace stepsim {

void add_idle_wires(const ClusterSpec& cluster, std::vector<Part>& parts) {
  for (Part& part : parts) {
    double slowest = 0;
    bool inside = true;
    for (const Load& load : part.loads) {
      const double bandwidth = cluster.bandwidth[load.link].value;
      if (bandwidth <= 0 || load.legs / bandwidth <= slowest) continue;
      slowest = load.legs / bandwidth;
      inside = cluster.link_tier[load.link] == 0;
    }
    const AllToAllRates rates = cluster.gpu.all_to_all();
    part.beta += part.bytes_per_payload * slowest * (1 / (inside ? rates.inside : rates.between) - 1);
  }
}

void add_idle_end(const ClusterSpec& cluster, std::vector<Part> aggregate, std::vector<Part>& messages) {
  if (messages.empty()) return;
  add_idle_wires(cluster, aggregate);
  Part idle;
  for (const Part& part : aggregate) idle.beta = std::max(idle.beta, part.beta);
  idle.after.resize(messages.size());
  std::iota(idle.after.begin(), idle.after.end(), 0);
  messages.push_back(std::move(idle));
}

void add_idle_wires(std::vector<Term>& terms, const AllToAllRates& rates) {
  for (Term& term : terms) term.beta /= term.wire == "inside" ? rates.inside : rates.between;
}

}  // namespace stepsim
