// Wording shared by the readers of single values and of lists. Internal to Fields.
#pragma once

#include <fmt/format.h>
#include <yaml-cpp/yaml.h>

#include <charconv>
#include <optional>
#include <string>
#include <string_view>

namespace stepsim {

inline std::string_view form_of(const YAML::Node& node) {
  switch (node.Type()) {
    case YAML::NodeType::Map:
      return "a mapping";
    case YAML::NodeType::Sequence:
      return "a list";
    case YAML::NodeType::Scalar:
      return "a single value";
    default:
      return "nothing";
  }
}

// Long values are cut in messages.
inline std::string in_quotes(std::string_view text) {
  constexpr std::size_t kMost = 60;
  return fmt::format("\"{}{}\"", text.substr(0, kMost), text.size() > kMost ? "..." : "");
}

// nullopt when `text` is a whole number from min to max, which is then in `into`; else what is wrong with it.
template <typename Integer>
std::optional<std::string> parse_integer(std::string_view text, Integer& into, Integer min, Integer max) {
  Integer value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error == std::errc::invalid_argument || end != text.data() + text.size()) {
    return fmt::format("{} is not a whole number", in_quotes(text));
  }
  if (error == std::errc::result_out_of_range) return fmt::format("{} is out of range", in_quotes(text));
  if (value < min) return fmt::format("{} is too small; at least {}", value, min);
  if (value > max) return fmt::format("{} is too large; at most {}", value, max);
  into = value;
  return std::nullopt;
}

}  // namespace stepsim
