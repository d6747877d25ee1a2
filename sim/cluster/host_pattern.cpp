#include "sim/cluster/host_pattern.hpp"

#include <boost/container/small_vector.hpp>
#include <charconv>
#include <utility>

#include <fmt/format.h>

namespace stepsim {
namespace {

constexpr std::int64_t kMostHosts = std::int64_t{1} << 31;  // of any intermediate value: no overflow, and no host so far

[[noreturn]] void fail(std::string_view inside, const std::string& why) {
  throw PatternError(
      fmt::format("{{{}}}: {}; write for example {{rank}}, {{node}}, {{node*8+local}}, {{local/2}}", inside, why));
}

std::int64_t bounded(std::string_view inside, std::int64_t value) {
  if (value > kMostHosts || value < -kMostHosts) fail(inside, "is too large");
  return value;
}

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

// sum: product {+|- product}; product: factor {*|/|% factor}; factor: number, name, (sum).
class HostPattern::Parser {
 public:
  explicit Parser(std::string_view text) : whole_(text), rest_(text) {}

  std::vector<Token> read() {
    sum();
    if (!rest_.empty()) fail(whole_, fmt::format("cannot read '{}'", rest_));
    return std::move(tokens_);
  }

 private:
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

  void sum() {
    product();
    for (;;) {
      const Kind kind = take('+') ? Kind::add : take('-') ? Kind::subtract : Kind::number;
      if (kind == Kind::number) return;
      product();
      tokens_.push_back({kind});
    }
  }

  void product() {
    factor();
    for (;;) {
      const Kind kind = take('*') ? Kind::multiply : take('/') ? Kind::divide : take('%') ? Kind::remainder : Kind::number;
      if (kind == Kind::number) return;
      factor();
      tokens_.push_back({kind});
    }
  }

  void factor() {
    skip_blanks();
    if (++depth_ > 100) fail(whole_, "is too deep");
    if (take('(')) {
      sum();
      if (!take(')')) fail(whole_, "lacks a ')'");
      --depth_;
      return;
    }
    --depth_;
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), value);
    if (error == std::errc() && rest_.front() != '-') {
      rest_.remove_prefix(static_cast<std::size_t>(end - rest_.data()));
      skip_blanks();
      tokens_.push_back({Kind::number, bounded(whole_, value)});
      return;
    }
    named();
  }

  void named() {
    for (const auto& [name, kind] : {std::pair<std::string_view, Kind>{"rank", Kind::rank},
                                     {"node", Kind::node},
                                     {"local", Kind::local}}) {
      if (!rest_.starts_with(name)) continue;
      rest_.remove_prefix(name.size());
      skip_blanks();
      tokens_.push_back({kind});
      return;
    }
    fail(whole_, rest_.empty() ? "ends too early" : fmt::format("cannot read '{}'", rest_));
  }

  std::string_view whole_;
  std::string_view rest_;
  std::vector<Token> tokens_;
  int depth_ = 0;
};

HostPattern::HostPattern(std::string_view text) {
  while (!text.empty()) {
    const std::size_t open = text.find_first_of("{}");
    rest_ += text.substr(0, open);
    if (open == std::string_view::npos) break;
    const std::size_t close = text.find('}', open);
    if (text[open] == '}' || close == std::string_view::npos) {
      throw PatternError(fmt::format("'{}' has a brace without its partner", text));
    }
    const std::string_view inside = text.substr(open + 1, close - open - 1);
    const std::size_t colon = inside.find(':');
    Piece& piece = pieces_.emplace_back();
    piece.before = std::exchange(rest_, "");
    piece.inside = inside.substr(0, colon);
    if (colon != std::string_view::npos) piece.width = width_of(inside, inside.substr(colon + 1));
    piece.tokens = Parser(piece.inside).read();
    text.remove_prefix(close + 1);
  }
}

std::int64_t HostPattern::value_of(const Piece& piece, const RankNumbers& numbers) {
  boost::container::small_vector<std::int64_t, 8> stack;
  for (const Token& token : piece.tokens) {
    switch (token.kind) {
      case Kind::number: stack.push_back(token.value); continue;
      case Kind::rank: stack.push_back(numbers.rank); continue;
      case Kind::node: stack.push_back(numbers.node); continue;
      case Kind::local: stack.push_back(numbers.local); continue;
      default: break;
    }
    const std::int64_t right = stack.back();
    stack.pop_back();
    std::int64_t& value = stack.back();
    const bool divides = token.kind == Kind::divide || token.kind == Kind::remainder;
    if (divides && (right <= 0 || value < 0)) fail(piece.inside, fmt::format("divides {} by {}", value, right));
    switch (token.kind) {
      case Kind::add: value += right; break;
      case Kind::subtract: value -= right; break;
      case Kind::multiply: value *= right; break;
      case Kind::divide: value /= right; break;
      default: value %= right; break;
    }
    bounded(piece.inside, value);
  }
  if (stack.back() < 0) fail(piece.inside, fmt::format("is {} for rank {}", stack.back(), numbers.rank));
  return stack.back();
}

std::string HostPattern::name(const RankNumbers& numbers) const {
  std::string name;
  for (const Piece& piece : pieces_) {
    name += piece.before;
    const fmt::format_int digits(value_of(piece, numbers));
    if (digits.size() < piece.width) name.append(piece.width - digits.size(), '0');
    name.append(digits.data(), digits.size());
  }
  return name += rest_;
}

}  // namespace stepsim
