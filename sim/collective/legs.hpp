// Counts the legs of a lockstep transfer on every link they cross.
#pragma once

#include <span>
#include <vector>

#include "sim/cluster/cluster.hpp"
#include "sim/graph/step_graph.hpp"

namespace stepsim {

class Legs {
 public:
  explicit Legs(const ClusterSpec& cluster) : cluster_(cluster) {}

  // `times` messages from one rank to another; none for a message to itself.
  void add(RankId from, RankId to, double times = 1);

  bool empty() const { return loads_.empty(); }
  double latency() const { return latency_; }  // of the slowest route, s
  std::vector<Load> take();                    // sorted by link, one entry a link

 private:
  const ClusterSpec& cluster_;
  std::vector<Load> loads_;
  double latency_ = 0;
};

// Members by node, in the order of the members.
std::vector<std::vector<RankId>> by_node(const ClusterSpec& cluster, std::span<const RankId> members);

// A part that takes `steps` route latencies and then moves bytes_per_payload along each leg.
Part make_part(Legs& legs, double bytes_per_payload, double steps);

}  // namespace stepsim
