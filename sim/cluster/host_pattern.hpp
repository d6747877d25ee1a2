// Names of hosts by pattern: "nic{node*4+local/2}".
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>

namespace stepsim {

// A rank's numbers, as patterns know them.
struct RankNumbers {
  int rank = 0;
  int node = 0;
  int local = 0;  // index in the node
};

struct PatternError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// The pattern with every {...} replaced by its value. Inside: whole numbers, rank, node, local, + - * / % and
// parentheses; / rounds down. {local:02} pads with zeros to two digits. Throws PatternError: what is wrong with the
// pattern, or a division by zero or negative result for these numbers.
std::string host_name(std::string_view pattern, const RankNumbers& numbers);

}  // namespace stepsim
