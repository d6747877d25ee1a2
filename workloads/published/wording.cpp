#include "workloads/published/wording.hpp"

#include <algorithm>
#include <cctype>
#include <charconv>

namespace stepsim {

Wording::Wording(std::string_view text) : text_(text) {
  std::transform(text_.begin(), text_.end(), text_.begin(), [](unsigned char c) { return std::tolower(c); });
}

bool Wording::empty() const {
  return std::all_of(text_.begin(), text_.end(), [](unsigned char c) { return std::isspace(c); });
}

bool Wording::take(std::string_view phrase) {
  const std::size_t at = text_.find(phrase);
  if (at == std::string::npos) return false;
  std::fill_n(text_.begin() + static_cast<std::ptrdiff_t>(at), phrase.size(), ' ');
  return true;
}

std::optional<double> Wording::take_number_after(std::string_view phrase) {
  const std::size_t at = text_.find(phrase);
  if (at == std::string::npos) return std::nullopt;
  const char* begin = text_.data() + at + phrase.size();
  double value = 0;
  const auto [end, error] = std::from_chars(begin, text_.data() + text_.size(), value);
  if (error != std::errc()) return std::nullopt;
  std::fill(text_.begin() + static_cast<std::ptrdiff_t>(at), text_.begin() + (end - text_.data()), ' ');
  return value;
}

std::string Wording::rest() const {
  std::string words, word;
  const auto flush = [&] {
    const auto letters = std::count_if(word.begin(), word.end(), [](unsigned char c) { return std::isalnum(c); });
    if (letters >= 2) words += (words.empty() ? "" : " ") + word;
    word.clear();
  };
  for (const char c : text_) {
    if (std::isspace(static_cast<unsigned char>(c))) {
      flush();
    } else {
      word += c;
    }
  }
  flush();
  return words;
}

}  // namespace stepsim
