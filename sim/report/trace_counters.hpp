// Values over time for a trace's counters.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "sim/graph/step_graph.hpp"
#include "sim/graph/timeline.hpp"

namespace stepsim {

// A sum of contributions, each from one time to another.
class StepFunction {
 public:
  void add(double begin, double end, double value);
  // From each time on the value, in order of time; only where it changes. Rounding of sums leaves no residue: where no
  // contribution lasts, the value is 0.
  std::vector<std::pair<double, double>> points() const;

 private:
  struct Edge {
    double time, change;
    int lasting;  // +1 a contribution begins, -1 it ends
  };
  std::vector<Edge> edges_;
};

struct LinkRate {
  std::size_t rank = 0;  // of the graph, whose own port it is
  std::string name;
  std::vector<std::pair<double, double>> points;  // s, bytes/s
};

// Of the own links of the chosen ranks: each call's bytes over a link spread evenly over the call, by the routing
// that holds when it starts.
std::vector<LinkRate> link_rates(const StepGraph& graph, const Timeline& timeline,
                                 const std::vector<std::size_t>& ranks);

// SMs of a rank that compute and that communicate. Empty where the graph does not share SMs.
struct SmsInUse {
  std::vector<std::pair<double, double>> compute, communication;
};
SmsInUse sms_in_use(const StepGraph& graph, const Timeline& timeline, std::size_t rank);

}  // namespace stepsim
