// Repeated building blocks in a V, between the least memory and plenty of it.
#pragma once

#include <vector>

#include "workloads/schedule.hpp"

namespace stepsim {

// V schedules of the kind of V-Min and V-Half (schedules/v_pattern.hpp): each has its own number of slots a stage for
// forward passes down and up the V and for gradients down and up. Of those that hold at most `memory_cap` activations
// of a chunk, the `most` that use the most of it; of equals, those that bring a microbatch through soonest.
std::vector<Schedule> v_pattern_schedules(const ScheduleShape& shape, double memory_cap, std::size_t most);

}  // namespace stepsim
