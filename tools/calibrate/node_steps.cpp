#include "node_steps.hpp"

#include <algorithm>
#include <cmath>
#include <map>

namespace stepsim {
namespace {

struct Sweep {
  std::vector<const MeasuredCall*> calls;
  double rate = 0;  // bus bandwidth of the largest, bytes/s
};

double bus_bytes(const MeasuredCall& call) { return 2 * (call.gpus - 1) / call.gpus * call.bytes; }

std::vector<Sweep> sweeps_of(const std::vector<MeasuredCall>& calls, const std::vector<std::string>& machines) {
  std::map<std::pair<std::string, std::string>, Sweep> sweeps;
  for (const MeasuredCall& call : calls) {
    if (std::find(machines.begin(), machines.end(), call.machine) == machines.end()) continue;
    sweeps[{call.machine, call.series}].calls.push_back(&call);
  }
  std::vector<Sweep> some;
  for (auto& [of, sweep] : sweeps) {
    if (sweep.calls.size() < 5) continue;  // no sweep, but a figure
    const auto largest = std::max_element(sweep.calls.begin(), sweep.calls.end(),
                                          [](const MeasuredCall* a, const MeasuredCall* b) { return a->bytes < b->bytes; });
    sweep.rate = bus_bytes(**largest) / (*largest)->seconds;
    some.push_back(std::move(sweep));
  }
  return some;
}

double ratio(const NodeSteps& steps, const Sweep& sweep, const MeasuredCall& call) {
  return (2 * (call.gpus - 1) * steps.of_step(call.gpus, call.bytes) + bus_bytes(call) / sweep.rate) / call.seconds;
}

double loss(const NodeSteps& steps, const std::vector<Sweep>& sweeps) {
  double sum = 0;
  for (const Sweep& sweep : sweeps) {
    double of_sweep = 0;
    for (const MeasuredCall* call : sweep.calls) of_sweep += std::abs(std::log(ratio(steps, sweep, *call)));
    sum += of_sweep / static_cast<double>(sweep.calls.size());
  }
  return sum / static_cast<double>(sweeps.size());
}

}  // namespace

NodeStepsFit fit_node_steps(const std::vector<MeasuredCall>& calls, const std::vector<std::string>& machines) {
  const std::vector<Sweep> sweeps = sweeps_of(calls, machines);
  NodeStepsFit best;
  double least = 1e99;
  for (int step = 5; step <= 80; ++step) {
    for (int fill = 0; fill <= 150; ++fill) {
      for (int half = 0; half <= 10; ++half) {
        const NodeSteps steps{Seconds(step * 1e-7), Seconds(fill * 1e-6), Bytes(std::ldexp(1, 18 + half))};
        const double now = loss(steps, sweeps);
        if (now < least) best.steps = steps;
        least = std::min(least, now);
      }
    }
  }
  std::vector<double> errors;
  for (const Sweep& sweep : sweeps) {
    for (const MeasuredCall* call : sweep.calls) errors.push_back(ratio(best.steps, sweep, *call) - 1);
  }
  best.errors = residuals(std::move(errors));
  return best;
}

}  // namespace stepsim
