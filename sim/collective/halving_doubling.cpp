// Recursive halving (reduce-scatter) and doubling (all-gather): log2 n steps; in step s of a reduce-scatter a member
// exchanges V/2^(s + 1) with the one 2^s places away, so that the largest shares stay inside the node, and those that
// leave it go between GPUs of equal place. An all-gather takes the same steps backwards. Thakur, Rabenseifner, Gropp,
// "Optimization of collective communication operations in MPICH", IJHPCA 19(1), 2005.
#include <algorithm>
#include <cmath>

#include "sim/collective/algorithms.hpp"
#include "sim/collective/flow.hpp"
#include "sim/collective/legs.hpp"

namespace stepsim {
namespace {

// Distances in the order of the steps.
std::vector<std::size_t> distances(std::size_t n, bool scatter, bool gather) {
  std::vector<std::size_t> steps;
  for (std::size_t d = 1; scatter && d < n; d *= 2) steps.push_back(d);
  for (std::size_t d = n / 2; gather && d > 0; d /= 2) steps.push_back(d);
  return steps;
}

}  // namespace

std::vector<Part> halving_traffic(const GroupCall& call, bool scatter, bool gather) {
  std::vector<Part> parts;
  for (const std::size_t distance : distances(call.members.size(), scatter, gather)) {
    Legs legs(call.cluster);
    for (std::size_t i = 0; i < call.members.size(); ++i) legs.add(call.members[i], call.members[i ^ distance]);
    parts.push_back(make_part(legs, 1 / (2.0 * static_cast<double>(distance)), 1));
    if (parts.size() > 1) parts.back().after = {static_cast<std::int32_t>(parts.size()) - 2};
  }
  return parts;
}

std::vector<Part> halving_messages(const GroupCall& call, bool scatter, bool gather) {
  const std::size_t n = call.members.size();
  Flow flow(call.cluster);
  std::vector<std::vector<MessageId>> here(n);  // what the member has received, and sent, in the step before
  for (const std::size_t distance : distances(n, scatter, gather)) {
    std::vector<std::vector<MessageId>> next(n);
    for (std::size_t i = 0; i < n; ++i) {
      const MessageId sent =
          flow.send(call.members[i], call.members[i ^ distance], 1 / (2.0 * static_cast<double>(distance)), here[i]);
      next[i].push_back(sent);
      next[i ^ distance].push_back(sent);
    }
    here = std::move(next);
  }
  return flow.take();
}

std::vector<Term> halving_time(const GroupShape& shape, const Wires& wires, int rounds) {
  const double n = shape.size, g = shape.per_node;
  const double near = (g - 1) / g / wires.inside.bandwidth.value, near_steps = std::max(0.0, std::log2(g));
  Term term{"inside", 0, 0};
  if (g > 1) term = {"inside", rounds * near_steps * wires.inside.latency.value, rounds * near};
  if (shape.nodes > 1) {
    const double far = (1 / g - 1 / n) / wires.between.bandwidth.value;
    if (far > near || g == 1) term.wire = "between";
    term.alpha += rounds * std::log2(n / g) * wires.between.latency.value;
    term.beta += rounds * far;
  }
  return {term};
}

}  // namespace stepsim
