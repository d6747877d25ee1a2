// What passes need at least: of a block, of a stage, and of a schedule's chain of passes. Part of StepBound.
#pragma once

#include <array>
#include <functional>
#include <vector>

#include "workloads/pass_index.hpp"
#include "workloads/plan.hpp"
#include "workloads/segments.hpp"

namespace stepsim {

// A pass through a block or a stage that has everything it needs at 0 and the GPU to itself, seconds. Its collectives
// take their bound; what an overlap policy lets run beside compute does.
struct PassBound {
  double lead = 0;     // until its first compute can start: collectives
  double busy = 0;     // from then to the end of its last compute
  double trail = 0;    // from there until its result is there: collectives
  double compute = 0;  // compute alone
  bool computes = false;
  std::vector<double> wires;    // [tier] through a port of a rank, mean
  std::array<double, 3> streams{};  // tensor, context, expert collectives, one after another

  // The pass goes on with the next block, whose first op waits for all of this one.
  void then(const PassBound& next);
};

// [pass kind], of a block or a stage.
using PassBounds = std::array<PassBound, 4>;

struct CallBound {
  double seconds = 0;
  std::vector<double> wires;
};

PassBound bound_of(const std::vector<Segment>& segments, const ParallelPlan& plan, double speed,
                   const std::function<CallBound(const CollectiveCall&)>& call);

// When each rank's last compute can end at the earliest, by the order of passes: each starts after the one before it on
// its rank and after the results that it needs have come. `paired`: overlapped pairs run interleaved (else one after the
// other). message(from, to): seconds between pipeline ranks.
std::vector<double> earliest_ends(const Schedule& schedule, const std::vector<PassBounds>& stages, bool paired,
                                  const std::function<double(int, int)>& message);

}  // namespace stepsim
