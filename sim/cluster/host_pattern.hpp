// Names of hosts by pattern: "nic{node*4+local/2}".
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

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

// Inside {...}: whole numbers, rank, node, local, + - * / % and parentheses; / rounds down. {local:02} pads with zeros
// to two digits. Read once, filled in for each rank.
class HostPattern {
 public:
  explicit HostPattern(std::string_view text);  // throws PatternError: what is wrong with it

  // With every {...} replaced by its value. Throws PatternError: a division by zero or a negative or too large result
  // for these numbers.
  std::string name(const RankNumbers& numbers) const;

 private:
  enum class Kind : std::uint8_t { number, rank, node, local, add, subtract, multiply, divide, remainder };
  struct Token {
    Kind kind;
    std::int64_t value = 0;
  };
  struct Piece {
    std::string before;         // text in front of the braces
    std::string inside;         // as written, for messages
    std::vector<Token> tokens;  // what stands in the braces, operators behind their operands
    std::size_t width = 0;
  };
  class Parser;
  static std::int64_t value_of(const Piece& piece, const RankNumbers& numbers);

  std::vector<Piece> pieces_;
  std::string rest_;  // behind the last braces
};

}  // namespace stepsim
