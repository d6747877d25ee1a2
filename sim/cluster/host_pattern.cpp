#include "sim/cluster/host_pattern.hpp"

#include <fmt/format.h>

#include <charconv>
#include <cstdint>

namespace stepsim {
namespace {

constexpr std::int64_t kMostHosts = std::int64_t{1} << 31;  // of any intermediate value: no overflow, and no host so far

// sum: product {+|- product}; product: factor {*|/|% factor}; factor: number, name, (sum).
class Expression {
 public:
  Expression(std::string_view text, const RankNumbers& numbers) : whole_(text), rest_(text), numbers_(numbers) {}

  std::int64_t value() {
    const std::int64_t result = sum();
    if (!rest_.empty()) fail(fmt::format("cannot read '{}'", rest_));
    if (result < 0) fail(fmt::format("is {} for rank {}", result, numbers_.rank));
    return result;
  }

 private:
  [[noreturn]] void fail(const std::string& why) const {
    throw PatternError(
        fmt::format("{{{}}}: {}; write for example {{rank}}, {{node}}, {{node*8+local}}, {{local/2}}", whole_, why));
  }

  void skip_blanks() {
    while (!rest_.empty() && rest_.front() == ' ') rest_.remove_prefix(1);
  }

  bool take(char c) {
    skip_blanks();
    if (rest_.empty() || rest_.front() != c) return false;
    rest_.remove_prefix(1);
    skip_blanks();
    return true;
  }

  std::int64_t bounded(std::int64_t value) const {
    if (value > kMostHosts || value < -kMostHosts) fail("is too large");
    return value;
  }

  std::int64_t sum() {
    std::int64_t value = product();
    for (;;) {
      if (take('+')) {
        value = bounded(value + product());
      } else if (take('-')) {
        value = bounded(value - product());
      } else {
        return value;
      }
    }
  }

  std::int64_t product() {
    std::int64_t value = factor();
    for (;;) {
      if (take('*')) {
        value = bounded(value * factor());
      } else if (take('/')) {
        value = divide(value, '/');
      } else if (take('%')) {
        value = divide(value, '%');
      } else {
        return value;
      }
    }
  }

  std::int64_t divide(std::int64_t value, char sign) {
    const std::int64_t divisor = factor();
    if (divisor <= 0 || value < 0) fail(fmt::format("divides {} by {}", value, divisor));
    return sign == '/' ? value / divisor : value % divisor;
  }

  std::int64_t factor() {
    skip_blanks();
    if (++depth_ > 100) fail("is too deep");
    if (take('(')) {
      const std::int64_t value = sum();
      if (!take(')')) fail("lacks a ')'");
      --depth_;
      return value;
    }
    --depth_;
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), value);
    if (error == std::errc() && rest_.front() != '-') {
      rest_.remove_prefix(static_cast<std::size_t>(end - rest_.data()));
      skip_blanks();
      return bounded(value);
    }
    return named();
  }

  std::int64_t named() {
    for (const auto& [name, value] : {std::pair<std::string_view, int>{"rank", numbers_.rank},
                                      {"node", numbers_.node},
                                      {"local", numbers_.local}}) {
      if (!rest_.starts_with(name)) continue;
      rest_.remove_prefix(name.size());
      skip_blanks();
      return value;
    }
    fail(rest_.empty() ? "ends too early" : fmt::format("cannot read '{}'", rest_));
  }

  std::string_view whole_;
  std::string_view rest_;
  const RankNumbers& numbers_;
  int depth_ = 0;
};

// ":02": two digits at least.
std::size_t width_of(std::string_view inside, std::string_view width) {
  std::size_t digits = 0;
  const auto [end, error] = std::from_chars(width.data(), width.data() + width.size(), digits);
  if (!width.starts_with('0') || error != std::errc() || end != width.data() + width.size() || digits > 20) {
    throw PatternError(fmt::format("{{{}}}: '{}' is not a width; write for example {{local:02}}", inside, width));
  }
  return digits;
}

}  // namespace

std::string host_name(std::string_view pattern, const RankNumbers& numbers) {
  std::string name;
  while (!pattern.empty()) {
    const std::size_t open = pattern.find_first_of("{}");
    name += pattern.substr(0, open);
    if (open == std::string_view::npos) break;
    const std::size_t close = pattern.find('}', open);
    if (pattern[open] == '}' || close == std::string_view::npos) {
      throw PatternError(fmt::format("'{}' has a brace without its partner", pattern));
    }
    const std::string_view inside = pattern.substr(open + 1, close - open - 1);
    const std::size_t colon = inside.find(':');
    const std::size_t width = colon == std::string_view::npos ? 0 : width_of(inside, inside.substr(colon + 1));
    name += fmt::format("{:0{}}", Expression(inside.substr(0, colon), numbers).value(), width);
    pattern.remove_prefix(close + 1);
  }
  return name;
}

}  // namespace stepsim
