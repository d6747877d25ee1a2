// What every engine does before and after a run.
#pragma once

#include "sim/engine/engine.hpp"

namespace stepsim {

// Throws GraphError with the graph's problems.
void require_sound(const StepGraph& graph);

// A timeline with room for the spans of all ranks, and where those of each begin.
Timeline blank_timeline(const StepGraph& graph);
std::vector<Span*> spans_of(Timeline& timeline);

}  // namespace stepsim
