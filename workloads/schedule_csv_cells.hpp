// The cells of a pipeline-schedule CSV (schedule_csv.hpp has the format).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "workloads/schedule.hpp"

namespace stepsim {

inline constexpr std::string_view overlap_action = "OVERLAP_F_B";

// One pass as a file names it.
struct Action {
  int stage = 0, direction = 0, microbatch = 0;
  PassKind kind = PassKind::forward;
  bool paired_with_next = false;
};

std::string_view trimmed(std::string_view text);  // without spaces, quotes and carriage returns at its ends
std::vector<std::string_view> split(std::string_view text, char at);

// Adds what a cell says (nothing, a pass, the two of a pair); "" or what is wrong with the cell.
std::string read_cell(std::string_view cell, std::vector<Action>& actions);

}  // namespace stepsim
