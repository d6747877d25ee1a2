// A step under many drawn scenarios: how much of a plan's advantage survives a bad day.
#pragma once

#include <string>
#include <vector>

#include "sim/simulate.hpp"
#include "sim/stress_spec.hpp"

namespace stepsim {

// One draw, simulated.
struct Stressed {
  Draw draw;
  bool ends = true;          // false: a dead link leaves collectives that can never finish
  std::string failure;       // then: which
  double step_time_s = 0;
  int waiting_ranks = 0;     // ranks that wait for others longer than without the scenario, by more than 0.1 % of the step
  int for_rank = -1;         // the rank that most of that is waited for, as it comes last; -1: none
};

struct StressResult {
  std::string experiment;
  double nominal_s = 0;          // the step without any scenario
  double tokens_per_s_per_gpu = 0;
  std::vector<Stressed> runs;    // in the order of the draws

  // Step time of that share of the runs that end, by linear interpolation between ranks; a run that never ends is
  // longer than any. Infinite when the percentile falls on such runs. 0 <= p <= 1.
  double percentile(double p) const;
  double mean_s() const;  // of the runs that end
  int never_end() const;
  const Stressed* worst() const;  // nullptr without runs
};

// The same draws for each experiment (of one cluster: names of links and ranks must mean the same).
StressResult stress(const Inputs& inputs, const Options& options, const std::vector<Draw>& draws);

std::string to_text(const std::vector<StressResult>& results, const StressSpec& spec);
std::string to_json(const std::vector<StressResult>& results, const StressSpec& spec);
std::string to_html(const std::vector<StressResult>& results, const StressSpec& spec);
std::string to_csv(const std::vector<StressResult>& results, const StressSpec& spec);  // a row a run

}  // namespace stepsim
