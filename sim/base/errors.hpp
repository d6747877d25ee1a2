// What is wrong with an input. Loaders and checks collect every problem; one InputError carries them all.
#pragma once

#include <exception>
#include <string>
#include <vector>

namespace stepsim {

// One reason why an input cannot be used.
struct Problem {
  std::string file;    // as the user named it; "--set" for an override; empty when no file is to blame
  int line = 0;        // 1-based; 0 when unknown
  std::string key;     // dotted path, "parallel.tensor"; empty when the whole file is meant
  std::string reason;  // what was found and what would be right

  bool operator==(const Problem&) const = default;
};

// "plans/x.yaml:7: parallel.tensor: 6 does not divide 64 heads (1, 2, 4, 8, ...)"
std::string to_text(const Problem& problem);

// Thrown by loaders, after they have collected every problem they could see. main() prints them and exits with 2.
class InputError : public std::exception {
 public:
  explicit InputError(std::vector<Problem> problems);
  const std::vector<Problem>& problems() const { return problems_; }
  const char* what() const noexcept override { return text_.c_str(); }

 private:
  std::vector<Problem> problems_;
  std::string text_;
};

}  // namespace stepsim
