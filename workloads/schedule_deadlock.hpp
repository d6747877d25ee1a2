// Whether the ranks of a schedule, each in its own order, ever wait for each other in a circle.
#pragma once

#include <string>
#include <vector>

#include "workloads/schedule.hpp"

namespace stepsim {

// The circle, pass by pass, or nothing. Every pass must be there, once, and in its place.
std::vector<std::string> order_problems(const Schedule& schedule);

}  // namespace stepsim
