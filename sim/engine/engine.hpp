// The one abstract class: an engine runs a StepGraph.
#pragma once

#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "sim/graph/step_graph.hpp"
#include "sim/graph/timeline.hpp"

namespace stepsim {

// The graph cannot run to its end; the text names the events that never ran. This is a bug of whoever built the graph.
class GraphError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// Calls wait for links that are down and stay so: the step can never finish. The text names the calls, their groups
// and links. This is a fault of the scenario, not of the graph.
class StuckError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

class Engine {
 public:
  virtual ~Engine() = default;
  // Runs every op once and returns its times. Deterministic: the same graph gives the same times to the last bit.
  // Throws GraphError when problems_of(graph) is not empty or when events remain that can never start, StuckError when
  // bytes remain on links that are down for good.
  virtual Timeline run(const StepGraph& graph) = 0;
};

// No contention: every transfer has its links to itself. The reference.
std::unique_ptr<Engine> make_ideal_engine();

// Links are shared by max-min fairness (SimGrid). Each run takes place in a forked child, so that runs may follow each
// other in one process; call it before any thread is started.
std::unique_ptr<Engine> make_simgrid_engine();

// By name, or nullptr: the table of engines.
std::unique_ptr<Engine> make_engine(std::string_view name);
std::vector<std::string> engine_names();

}  // namespace stepsim
