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
  // `stages`: times of one microbatch in each 1/ranks of the model's depth, in order, or a single one for all alike;
  // `communication`: a message between ranks; `pair`: an overlapped pair of passes of such a part, if there are any.
  PassTimes times;
  // The most activations a rank may hold, in activations of one microbatch in 1/ranks of the model: 1F1B needs `ranks`.
  double memory_cap = 0;
  double kept_for_weight = 1;  // part of an activation that the weight gradient still needs (schedule_times.hpp)
  int most_chunks = 4;         // a rank may hold
};

struct AutoSchedule {
  Schedule schedule;
  Seconds makespan;
  double memory = 0;       // activations held at most, in the unit of memory_cap
  std::string origin;      // "automatic", or the named schedule that nothing found was better than
  std::string best_named;  // the best schedule of the table that fits; "" when none does
  Seconds best_named_makespan;
};

// The shortest schedule found: never longer than any schedule of the table that fits and holds every stage once, and
// the same for the same request. Throws InputError when not even one microbatch fits, or a number is out of range.
//
// Tried are: the table's schedules as they are; their forward passes and input gradients in their order, and those of
// further V patterns of the memory at hand, with the weight gradients placed anew where ranks would wait; and orders
// written pass by pass as time goes on, under several rules of preference, with one chunk a rank and with two in a V.
AutoSchedule automatic_schedule(const AutoRequest& request);

// The model's times cut anew into `stages` equal parts: a part takes its share of each rank's share that it covers.
PassTimes cut_times(const PassTimes& times, int ranks, int stages);

}  // namespace stepsim
