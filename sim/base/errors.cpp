#include "sim/base/errors.hpp"

#include <fmt/format.h>

#include <utility>

namespace stepsim {

std::string to_text(const Problem& p) {
  std::string text = p.file;
  if (p.line > 0) text += fmt::format(":{}", p.line);
  if (!text.empty()) text += ": ";
  if (!p.key.empty()) text += p.key + ": ";
  return text + p.reason;
}

InputError::InputError(std::vector<Problem> problems) : problems_(std::move(problems)) {
  for (const Problem& p : problems_) {
    if (!text_.empty()) text_ += "\n";
    text_ += to_text(p);
  }
}

}  // namespace stepsim
