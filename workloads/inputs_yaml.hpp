// Models and plans written as the YAML that read_model() and read_plan() read: the way back.
#pragma once

#include <string>

#include "workloads/model.hpp"
#include "workloads/plan.hpp"

namespace stepsim {

// Every key whose value is not the default.
std::string to_yaml(const ModelSpec& model);
// As above; a plan whose passes or routing counts come from a file names that file. The rates are written always.
std::string to_yaml(const ParallelPlan& plan);

}  // namespace stepsim
