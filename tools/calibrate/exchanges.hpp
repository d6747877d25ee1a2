// Which part of the wires' rate all-to-alls reach, from measured ones.
#pragma once

#include <string>
#include <vector>

#include "fit.hpp"

namespace stepsim {

struct MeasuredExchange {
  std::string machine;
  bool inside = false;  // all its GPUs on one node
  double reached = 0;   // measured over simulated bandwidth, where wires never idle
};
// All-to-alls, dispatches and combines (but no low-latency ones, which latency bounds) of measured/collectives.csv in the
// folder of clusters, each against the same call simulated on the shipped cluster. Throws InputError.
std::vector<MeasuredExchange> read_exchanges(const std::string& platforms);

struct AllToAllFit {
  AllToAllRates rates;
  Residuals errors;
};
// Of the machines: the medians, in steps of 0.005.
AllToAllFit fit_all_to_all(const std::vector<MeasuredExchange>& exchanges, const std::vector<std::string>& machines);

}  // namespace stepsim
