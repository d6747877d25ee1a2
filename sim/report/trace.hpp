// Chrome trace-event JSON, as Perfetto reads it: a process a rank, a thread a stream, a complete event ("X") an op,
// flow arrows from the sender of a message to its receiver, counters. Format: "Trace Event Format", Google, the
// document that https://ui.perfetto.dev and chrome://tracing follow.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "sim/graph/step_graph.hpp"
#include "sim/graph/timeline.hpp"

namespace stepsim {

struct MemoryLine {
  int rank = 0;                                   // real rank, the lowest of its kind
  std::vector<std::pair<double, double>> points;  // s, bytes from then on
};

struct TraceOptions {
  std::vector<std::size_t> ranks = {};  // of the graph, in order; empty: all, or in a graph of more events than
                                        // `most_events` the first of each program and speed ("otherData" says so)
  std::string note = {};                // of the choice, for "otherData"; empty: made from what is shown
  std::uint64_t most_events = 500'000;
  std::vector<MemoryLine> memory = {};
};

// Times in us. Counters of a rank: memory (of options.memory), SMs in use where transfers share them with compute, and
// what its own links carry, in GB/s: each call's bytes spread evenly over the time from its start to its end.
std::string to_trace(const StepGraph& graph, const Timeline& timeline, const TraceOptions& options = {});

}  // namespace stepsim
