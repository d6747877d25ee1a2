// When the passes of a rank compute.
#pragma once

#include <array>
#include <limits>
#include <vector>

#include "sim/graph/step_graph.hpp"
#include "sim/graph/timeline.hpp"
#include "workloads/schedule.hpp"

namespace stepsim {

// From the start of the first kernel to the end of the last; empty (end < begin) where there is none.
struct Window {
  double begin = std::numeric_limits<double>::infinity(), end = 0;
  bool empty() const { return end < begin; }
  void take(const Window& other);
};

class PassWindows {
 public:
  PassWindows(const Program& program, const std::vector<Span>& spans);
  Window of(const Pass& pass) const;

 private:
  enum Part : std::size_t { forward, input, weight, none };
  static Part part_of(Phase phase);

  std::vector<std::vector<std::array<Window, 3>>> parts_;  // [chunk][microbatch]
};

}  // namespace stepsim
