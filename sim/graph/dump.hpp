// The graph for eyes and for programs.
#pragma once

#include <string>

#include "sim/graph/step_graph.hpp"

namespace stepsim {

// A line an event, by rank and stream; then groups with their patterns; then links that are used.
std::string dump_text(const StepGraph& graph);

// {"schema": "stepsim.graph/1", "programs", "ranks", "groups", "links", "tiers"}: everything that engines see.
std::string dump_json(const StepGraph& graph);

}  // namespace stepsim
