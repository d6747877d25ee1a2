#include "sim/explore/expression.hpp"

#include <fmt/format.h>

#include <cctype>
#include <charconv>
#include <cmath>
#include <optional>

#include "sim/base/text_units.hpp"

namespace stepsim {
namespace {

bool starts_name(char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0 || c == '_'; }
bool continues_name(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }
bool digit(char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; }

std::optional<double> quantity(std::string_view text) {
  if (const auto v = bandwidth_from(text)) return v->value;
  if (const auto v = time_from(text)) return v->value;
  if (const auto v = size_from(text)) return v->value;
  if (const auto v = rate_from(text)) return v->value;
  return std::nullopt;
}

std::optional<double> number(std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || !std::isfinite(value)) return std::nullopt;
  return value;
}

class Rewriter {
 public:
  explicit Rewriter(const std::string& text) : text_(text) {}

  std::string sql() {
    while (at_ < text_.size()) {
      const char c = text_[at_];
      if (c == '"' || c == '\'') {
        quoted(c);
      } else if (c == '[') {
        copy_until(']');
      } else if (starts_name(c)) {
        name();
      } else if (digit(c)) {
        literal();
      } else if (c == '=' && at_ + 1 < text_.size() && text_[at_ + 1] == '=') {
        out_ += "==";
        at_ += 2;
      } else {
        out_ += c;
        ++at_;
      }
    }
    return out_;
  }

 private:
  void quoted(char quote) {
    const std::size_t end = text_.find(quote, at_ + 1);
    const std::string inside = text_.substr(at_ + 1, end == std::string::npos ? end : end - at_ - 1);
    out_ += '\'';
    for (const char c : inside) out_ += c == '\'' ? "''" : std::string(1, c);
    if (end != std::string::npos) out_ += '\'';
    at_ = end == std::string::npos ? text_.size() : end + 1;
  }

  void copy_until(char last) {
    const std::size_t end = text_.find(last, at_);
    const std::size_t stop = end == std::string::npos ? text_.size() : end + 1;
    out_ += text_.substr(at_, stop - at_);
    at_ = stop;
  }

  void name() {
    std::size_t end = at_;
    bool dotted = false;
    while (end < text_.size() && (continues_name(text_[end]) ||
                                  (text_[end] == '.' && end + 1 < text_.size() && starts_name(text_[end + 1])))) {
      dotted = dotted || text_[end] == '.';
      ++end;
    }
    const std::string word = text_.substr(at_, end - at_);
    out_ += dotted ? "[" + word + "]" : word;
    at_ = end;
  }

  void literal() {
    std::size_t end = at_;
    while (end < text_.size() && (continues_name(text_[end]) || text_[end] == '.' ||
                                  ((text_[end] == '+' || text_[end] == '-') && (text_[end - 1] == 'e' || text_[end - 1] == 'E') &&
                                   digit(text_[end - 2 >= at_ ? end - 2 : at_])))) {
      ++end;
    }
    const std::string word = text_.substr(at_, end - at_);
    const std::optional<double> value = number(word) ? std::nullopt : quantity(word);
    out_ += value ? fmt::format("{}", *value) : word;
    at_ = end;
  }

  const std::string& text_;
  std::size_t at_ = 0;
  std::string out_;
};

}  // namespace

std::string to_sql(const std::string& expression) { return Rewriter(expression).sql(); }

Cell cell_from(const std::string& value) {
  if (const auto v = number(value)) return *v;
  if (value == "true") return 1.0;
  if (value == "false") return 0.0;
  if (const auto v = quantity(value)) return *v;
  return value;
}

}  // namespace stepsim
