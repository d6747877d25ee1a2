// Who wins, by what factor, and why the others lose.
#pragma once

#include <string>
#include <vector>

#include "sim/report/report.hpp"

namespace stepsim {

struct Comparison {
  std::vector<std::string> names;        // of the experiments, else of the plans
  std::vector<std::string> short_names;  // without the words that all begin with
  int winner = -1;                       // index; -1 without a report that trains anything
  std::vector<double> slower;            // GPU time per token over the winner's; 0 without a winner
  std::string sentence;
};

// The winner is the plan of least GPU time per token among those that fit in memory; among all when none fits.
Comparison compare(const std::vector<Report>& reports);

}  // namespace stepsim
