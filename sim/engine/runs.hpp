// What every engine does before and after a run.
#pragma once

#include "sim/engine/engine.hpp"

namespace stepsim {

// Throws GraphError with the graph's problems.
void require_sound(const StepGraph& graph);

// Spans of all ranks, one after the other, as a Timeline.
Timeline cut_timeline(const StepGraph& graph, const Span* spans, double end);

}  // namespace stepsim
