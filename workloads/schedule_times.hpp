// When each pass of a schedule runs, given how long passes take: no network, no contention. For tests against published
// formulas, for printing, and for looking for better schedules.
#pragma once

#include <optional>
#include <vector>

#include "sim/base/units.hpp"
#include "workloads/schedule.hpp"

namespace stepsim {

// How long the passes of a stage take. A full backward pass takes input_gradient + weight_gradient.
struct StageTimes {
  Seconds forward, input_gradient, weight_gradient;

  bool operator==(const StageTimes&) const = default;
};

struct PassTimes {
  std::vector<StageTimes> stages;  // one for each stage, or a single one for all
  Seconds communication;           // from the end of a pass to the start of one that needs it on another rank
  std::optional<Seconds> pair;     // an overlapped pair; none: the sum of its two passes

  const StageTimes& of(int stage) const { return stages.size() == 1 ? stages[0] : stages[stage]; }
};

struct PassSpan {
  Seconds start, end;  // both passes of an overlapped pair have the pair's

  bool operator==(const PassSpan&) const = default;
};

struct ScheduleTimes {
  std::vector<std::vector<PassSpan>> spans;  // [pipeline rank][index in its order]
  std::vector<Seconds> busy;                 // [pipeline rank]
  Seconds makespan;                          // from 0 to the end of the last pass

  Seconds bubble(int rank) const { return makespan - busy[rank]; }
  // Idle between the rank's own first and last pass: what is left of the bubble when ranks need not start and end
  // together (the zero-bubble papers' measure).
  Seconds stall(int rank) const;
};

// Every pass starts when the one before it on its rank and all that it needs have ended. The schedule must have no
// problems (schedule.hpp: problems_of).
ScheduleTimes times_of(const Schedule& schedule, const PassTimes& times);

Seconds duration(const PassTimes& times, PassKind kind, int stage);

// The most activations that each rank holds at once, in activations of one microbatch in one chunk. A forward pass adds
// one; a full backward frees it; of a split one, the input gradient frees all but `kept_for_weight` of it, the weight
// gradient the rest. While a pass runs both what it makes and what it will free are held.
std::vector<double> peak_in_flight(const Schedule& schedule, double kept_for_weight = 1);

}  // namespace stepsim
