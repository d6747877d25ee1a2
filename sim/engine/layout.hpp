// A program as engines walk it: the ops of each stream, what each waits for, and which run one after the other by
// themselves.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/graph/step_graph.hpp"

namespace stepsim {

// Calls that nothing can disturb: of a group with one endpoint, over links that only calls of the same stream of the same
// rank use and whose capacity stays, in a graph where routes stay and events do not vary. How long they take is known
// when they start.
class SoloCalls {
 public:
  SoloCalls(const StepGraph& graph, bool contended);  // as of a RouteTable

  // Whether anything is: compute ops of ranks whose speed stays, and delays, too.
  bool anything() const { return foretellable_; }
  bool alone(GroupId group, std::int32_t pattern) const { return !times_.empty() && times_[group][pattern].solo; }
  // When a call of so many bytes ends that starts at `start`.
  double end(GroupId group, std::int32_t pattern, double payload_bytes, double start) const;

 private:
  struct PartTime {
    double alpha, beta, bytes_per_payload, rate;  // rate: bytes/s along a leg; 0: no bytes move
  };
  struct Times {
    bool solo = false;
    std::vector<PartTime> parts;
  };

  bool foretellable_;
  std::vector<std::vector<Times>> times_;  // [group][pattern]
};

struct Layout {
  struct Wait {
    std::int16_t stream;  // has to have ended ...
    std::int32_t until;   // ... so many ops
  };
  // What is asked of an op again and again, in the order in which it is asked.
  struct Step {
    double seconds;  // of compute and delays
    std::int32_t op;
    std::int32_t first_wait, last_wait;
    std::int32_t first_link, last_link;  // into `chained`: the ops after this one that make a chain with it
    std::int16_t slot, sms;
    OpKind kind;
  };
  std::vector<std::vector<Step>> streams;  // in order
  std::vector<Wait> waits;
  // Chains: ops of whatever streams that follow each other at once and whose lengths are known, in which nothing else
  // waits for any but the last.
  std::vector<std::int32_t> chained;  // ops
};

// One for each program, set of its calls that are alone, and whether its rank keeps its speed.
class Layouts {
 public:
  Layouts(const StepGraph& graph, const SoloCalls& solo);
  const Layout& of(RankId rank) const { return layouts_[of_rank_[rank]]; }

 private:
  std::vector<Layout> layouts_;
  std::vector<std::size_t> of_rank_;
};

}  // namespace stepsim
