// Where the verdict flips: how fast a wire, how many tokens, which precision make a step communication-bound, or free it.
#pragma once

#include <string>
#include <vector>

#include "sim/simulate.hpp"

namespace stepsim {

// The verdict under one change.
struct Judged {
  std::string text;    // "gather in fp8"
  std::string refused;  // why it cannot run, else ""
  std::string bound;    // "compute" or "communication"
  std::string resource;
  double step_time_s = 0;
};

struct Crossover {
  std::string what;      // "infiniband", "tokens", "precision"
  std::string bound_now, resource_now;  // the verdict as it is
  double value_now = 0;  // bytes/s a GPU, FLOP/s, s, tokens a GPU and microbatch; 0 where there is none (precision)
  std::string unit;      // "B/s", "FLOP/s", "s", "tokens", ""
  // Of what has values: the nearest one at which the verdict is the other, and the factor to it. 0: none within the range.
  double factor = 0, value = 0;
  double searched_low = 0, searched_high = 0;  // factors
  std::vector<Judged> choices;                 // of what has none: every choice
};

// `what`: compute, hbm, latency, a wire of the cluster (cluster.nvlink and cluster.nic are its first and last), tokens or
// precision; anything else is an InputError. Values are found to 0.1 %, by the verdict of simulations: communication is
// bound when the elasticities of wires and latency together outweigh those of compute and HBM.
Crossover find_crossover(const Inputs& inputs, const Options& options, const std::string& what);

std::string to_text(const std::vector<Crossover>& crossovers, const Inputs& inputs);
std::string to_json(const std::vector<Crossover>& crossovers, const Inputs& inputs);

}  // namespace stepsim
