// Readers of single values.
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "sim/base/fields.hpp"
#include "sim/base/fields_text.hpp"
#include "sim/base/text_units.hpp"

namespace stepsim {

void Fields::integer(std::string_view key, int& into, Need need, int min, int max) {
  const bool given = has(key);
  const std::optional<std::string> text = scalar(key, need, "a whole number");
  if (given && !text) return;
  if (text) {
    if (auto wrong = parse_integer<int>(*text, into, min, max)) return problem(key, *wrong);
  }
  if (given || !need.required) explain(key, fmt::format("{}", into), need);
}

void Fields::integer64(std::string_view key, std::int64_t& into, Need need, std::int64_t min) {
  const bool given = has(key);
  const std::optional<std::string> text = scalar(key, need, "a whole number");
  if (given && !text) return;
  if (text) {
    constexpr std::int64_t kMost = std::int64_t{1} << 53;  // exact as a double
    if (auto wrong = parse_integer<std::int64_t>(*text, into, min, kMost)) return problem(key, *wrong);
  }
  if (given || !need.required) explain(key, fmt::format("{}", into), need);
}

void Fields::number(std::string_view key, double& into, Need need, double min, double max) {
  const bool given = has(key);
  const std::optional<std::string> text = scalar(key, need, "a number");
  if (given && !text) return;
  if (text) {
    double value = 0;
    const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), value);
    if (error != std::errc() || end != text->data() + text->size() || !std::isfinite(value)) {
      return problem(key, fmt::format("{} is not a number", in_quotes(*text)));
    }
    if (value < min || value > max) return problem(key, fmt::format("{} is not between {} and {}", value, min, max));
    into = value;
  }
  if (given || !need.required) explain(key, fmt::format("{}", into), need);
}

void Fields::boolean(std::string_view key, bool& into, Need need) {
  const bool given = has(key);
  const std::optional<std::string> text = scalar(key, need, "true or false");
  if (given && !text) return;
  if (text) {
    if (*text != "true" && *text != "false") {
      return problem(key, fmt::format("{} is neither true nor false", in_quotes(*text)));
    }
    into = *text == "true";
  }
  if (given || !need.required) explain(key, into ? "true" : "false", need);
}

void Fields::text(std::string_view key, std::string& into, Need need) {
  const bool given = has(key);
  const std::optional<std::string> text = scalar(key, need, "a text");
  if (given && !text) return;
  if (text) into = *text;
  if (given || !need.required) explain(key, into, need);
}

void Fields::choice(std::string_view key, std::string& into, const std::vector<std::string_view>& allowed, Need need) {
  const bool given = has(key);
  const std::optional<std::string> text = scalar(key, need, fmt::format("one of {}", fmt::join(allowed, ", ")));
  if (given && !text) return;
  if (text) {
    if (std::find(allowed.begin(), allowed.end(), *text) == allowed.end()) {
      const std::string near = nearest(*text, {allowed.begin(), allowed.end()});
      return problem(key, fmt::format("{} is not one of {}{}", in_quotes(*text), fmt::join(allowed, ", "),
                                      near.empty() ? "" : fmt::format("; did you mean {}?", near)));
    }
    into = *text;
  }
  if (given || !need.required) explain(key, into, need);
}

void Fields::precision(std::string_view key, Precision& into, Need need) {
  static const std::vector<std::string_view> kNames{"none", "fp4", "fp8", "bf16", "fp16", "tf32", "fp32"};
  std::string name(to_text(into));
  choice(key, name, kNames, need);
  if (const std::optional<Precision> parsed = precision_from(name)) into = *parsed;
}

template <typename Quantity>
void Fields::quantity(std::string_view key, Quantity& into, Need need,
                      std::optional<Quantity> (*parse)(std::string_view), std::string_view wanted, bool zero_allowed, Limits limits) {
  const bool given = has(key);
  const std::optional<std::string> written = scalar(key, need, wanted);
  if (given && !written) return;
  if (written) {
    const std::optional<Quantity> value = parse(*written);
    double bare = 0;
    const auto [end, error] = std::from_chars(written->data(), written->data() + written->size(), bare);
    if (!value && error == std::errc() && end == written->data() + written->size()) {
      return problem(key, fmt::format("{} has no unit; write {}", *written, wanted));
    }
    if (!value) return problem(key, fmt::format("{} is not {}", in_quotes(*written), wanted));
    if (value->value < 0) return problem(key, fmt::format("{} is negative", *written));
    if (value->value == 0 && !zero_allowed) return problem(key, fmt::format("{} must be more than zero", *written));
    if (value->value > limits.most) return problem(key, fmt::format("{} is more than {}", *written, limits.most_text));
    if (value->value > 0 && value->value < limits.least) return problem(key, fmt::format("{} is less than {}", *written, limits.least_text));
    into = *value;
  }
  if (given || !need.required) explain(key, written ? *written : to_text(into), need);
}

void Fields::bandwidth(std::string_view key, BytesPerSecond& into, Need need) {
  quantity(key, into, need, &bandwidth_from, "a bandwidth such as 50GBps", false, {1, "1Bps", 1e18, "1EBps"});
}
void Fields::time(std::string_view key, Seconds& into, Need need) {
  quantity(key, into, need, &time_from, "a time such as 2us", true, {0, "", 1e9, "1000000000s"});
}
void Fields::size(std::string_view key, Bytes& into, Need need) {
  quantity(key, into, need, &size_from, "a size such as 80GiB", true, {0, "", 1e18, "1EB"});
}
void Fields::rate(std::string_view key, FlopsPerSecond& into, Need need) {
  quantity(key, into, need, &rate_from, "a rate such as 758Tf", false, {1, "1f", 1e24, "1000000Ef"});
}
void Fields::power(std::string_view key, Watts& into, Need need) {
  quantity(key, into, need, &power_from, "a power such as 700W", false, {0, "", 1e9, "1GW"});
}

}  // namespace stepsim
