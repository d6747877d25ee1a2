// Steps one after another.
#pragma once

#include "sim/graph/step_graph.hpp"

namespace stepsim {

// The step so many times in a row. A stream goes on with the next step's ops when it has ended those of the one before;
// what is no pipeline message also waits for all else that its rank did in that step (parameters are whole again, and
// buffers free). Ranks wait for nothing more: one may be ahead of another by as much as the messages between them allow.
// The graph must be sound; nothing in it may change at a time.
StepGraph repeated(const StepGraph& graph, int times);

// Whether anything in the graph happens at a time, or at random: then no step is like the one before.
bool repeats(const StepGraph& graph);

}  // namespace stepsim
