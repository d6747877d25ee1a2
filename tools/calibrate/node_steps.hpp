// What steps of collectives on one node cost, from measured all-reduces.
#pragma once

#include <string>
#include <vector>

#include "fit.hpp"

namespace stepsim {

struct NodeStepsFit {
  NodeSteps steps;
  Residuals errors;
};
// Of the machines' sweeps, each as important as any other. A call takes both rounds' steps and its bytes at the bus
// bandwidth of the sweep's largest buffer.
NodeStepsFit fit_node_steps(const std::vector<MeasuredCall>& calls, const std::vector<std::string>& machines);

}  // namespace stepsim
