// Looks for a good order of passes, given how long passes and messages take and how much memory there is: the question
// of the zero-bubble papers' automatic schedules.
#pragma once

#include <string>
#include <vector>

#include "workloads/schedule_times.hpp"

namespace stepsim {

struct AutoRequest {
  int ranks = 1;
  int microbatches = 1;
  // Times of one microbatch in each rank's share of the model (`stages`: one for each rank, or a single one for all),
  // of a message between ranks, and of an overlapped pair of whole-rank passes if pairs may be used.
  PassTimes times;
  // The most activations a rank may hold, in activations of one microbatch in a rank's share of the model: 1F1B needs
  // `ranks`. Below 1 nothing fits.
  double memory_cap = 0;
  double kept_for_weight = 1;  // part of an activation that the weight gradient still needs (schedule_times.hpp)
};

struct AutoSchedule {
  Schedule schedule;
  Seconds makespan;
  double memory = 0;       // activations held at most, in the unit of memory_cap
  std::string origin;      // "automatic", or the named schedule that nothing found was better than
  std::string best_named;  // the best schedule of the table that fits; "" when none does
  Seconds best_named_makespan;
};

// The shortest schedule found: never longer than any schedule of the table that holds a stage once and fits, and the
// same for the same request. Throws InputError when the cap is below one microbatch.
//
// Candidates: the table's schedules; schedules written pass by pass as time goes on, under many rules of preference,
// with one chunk a rank or two in a V; then weight gradients and neighbouring passes of the best are exchanged as long
// as that shortens it.
AutoSchedule automatic_schedule(const AutoRequest& request);

// The model's times cut anew into `stages` equal parts: a part takes its share of each rank's share that it covers.
PassTimes cut_times(const PassTimes& times, int ranks, int stages);

}  // namespace stepsim
