// What passes need at least: of a block, of a stage, and of a schedule's chain of passes. Part of StepBound.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <utility>
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

// When a rank is busy with its passes, seconds from the start of the step, at the earliest.
struct RankEnds {
  double last_gradients = 0;  // the first of its chunks begins its last pass that makes gradients
  double end = 0;             // its last compute has ended
};

// The passes of a schedule in an order in which they can run, with what each of them needs.
class PassChain {
 public:
  explicit PassChain(const Schedule& schedule);

  // By the order of passes: each starts after the one before it on its rank and after the results that it needs have
  // come. `paired`: overlapped pairs run interleaved (else one after the other). message(from, to): seconds between
  // pipeline ranks.
  std::vector<RankEnds> ends(const std::vector<PassBounds>& stages, bool paired, const std::function<double(int, int)>& message) const;

  // How many passes of a kind a rank runs through a chunk.
  double count(int rank, std::size_t chunk, PassKind kind) const { return counts_[rank][chunk][static_cast<std::size_t>(kind)]; }
  std::size_t size() const { return steps_.size(); }

 private:
  struct Step {
    std::int32_t rank = 0;
    std::int16_t stage = 0;
    PassKind kind = PassKind::forward;
    bool paired_with_next = false, last_gradients = false;
    std::array<std::int32_t, 2> needs = {-1, -1};     // steps
    std::array<std::int32_t, 2> messages = {-1, -1};  // entries of pairs_; -1: of the same rank
  };

  std::vector<Step> steps_;
  std::vector<std::pair<int, int>> pairs_;  // ranks that send and receive
  std::vector<std::vector<std::array<double, 4>>> counts_;  // [rank][chunk][kind]
};

}  // namespace stepsim
