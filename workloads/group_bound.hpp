// What a collective needs at least, in any of the groups that call it. Part of StepBound.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "sim/cluster/cluster.hpp"
#include "sim/collective/algorithm.hpp"
#include "workloads/replicas.hpp"

namespace stepsim {

struct GroupBound {
  double seconds_per_byte = 0;  // of payload: the busiest port of a rank, alone on it
  std::vector<double> port;     // [tier] the same, mean over the ports of that wire that the members have

  GroupBound least(const GroupBound& other) const;
};

// All groups of `size` ranks that stand `stride` apart: those of one digit of a grid of ranks.
RankLists strided(int world, int stride, int size);

// A lower bound whatever else is on the wires: only the ranks' own ports count, each as fast as the fastest link of its
// tier; no latencies, no shared links. It depends on which places of their nodes the members of a group have and not on
// which nodes these are (nodes are alike but for links' speeds), so that one group of each such form stands for all.
class GroupBounds {
 public:
  explicit GroupBounds(const ClusterSpec& cluster);

  // The least over all groups of two or more; zero when there are none. `key` names lists that are the same.
  const GroupBound& of(const std::string& key, const RankLists& groups, Operation operation, const std::string& algorithm,
                       const TokenRouting& routing);

  // What of() has found before; nullptr when nothing.
  const GroupBound* find(const std::string& key, Operation operation, const std::string& algorithm, const TokenRouting& routing) const;
  void forget() { known_.clear(); }

  // Seconds a byte of a message between these ranks, at least.
  double message(RankId from, RankId to) const;

 private:
  GroupBound of_pattern(const std::vector<RankId>& members, const Pattern& pattern) const;
  std::vector<std::string> names_of(const std::vector<RankId>& members, Operation operation,
                                    const std::string& algorithm, const TokenRouting& routing) const;

  const ClusterSpec& cluster_;
  std::vector<double> fastest_;                  // [tier] bytes/s of its fastest link
  std::vector<std::vector<int>> ports_;          // [rank][tier] its own links
  std::map<std::string, GroupBound> known_;
};

}  // namespace stepsim
