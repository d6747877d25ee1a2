// A plan written as the YAML that read_plan() reads: the way back.
#pragma once

#include <string>

#include "workloads/plan.hpp"

namespace stepsim {

// Every key, whether its value is the default or not. Passes and routing counts that come from a file are named by it.
std::string to_yaml(const ParallelPlan& plan);

}  // namespace stepsim
