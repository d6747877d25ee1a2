// Readers of lists of values.
#include <fmt/ranges.h>

#include "sim/base/fields.hpp"
#include "sim/base/fields_text.hpp"

namespace stepsim {

void Fields::texts(std::string_view key, std::vector<std::string>& into, Need need) {
  const std::optional<Entry> found = entry(key, need, "a list of names");
  std::vector<std::string> values;
  if (found && found->value.IsSequence()) {
    for (const YAML::Node& item : found->value) {
      if (!item.IsScalar() || item.Scalar().empty()) {
        return problem(key, fmt::format("the list holds {} where a text is due", form_of(item)));
      }
      values.push_back(item.Scalar());
    }
  } else if (found && found->value.IsScalar()) {
    std::string_view rest = found->value.Scalar();
    while (true) {
      const std::size_t comma = rest.find(',');
      std::string_view part = rest.substr(0, comma);
      while (part.starts_with(' ')) part.remove_prefix(1);
      while (part.ends_with(' ')) part.remove_suffix(1);
      if (part.empty()) return problem(key, fmt::format("{} has an empty item", in_quotes(found->value.Scalar())));
      values.emplace_back(part);
      if (comma == std::string_view::npos) break;
      rest.remove_prefix(comma + 1);
    }
  } else if (found) {
    return problem(key, fmt::format("found {} where a list of names is due", form_of(found->value)));
  }
  if (has(key) && !found) return;
  if (found) into = std::move(values);
  if (found || !need.required) explain(key, fmt::format("[{}]", fmt::join(into, ", ")), need);
}

void Fields::integers(std::string_view key, std::vector<int>& into, Need need, int min) {
  const std::optional<Entry> found = entry(key, need, "a list of whole numbers");
  if (has(key) && !found) return;
  if (found) {
    if (!found->value.IsSequence()) {
      return problem(key, fmt::format("found {} where a list of whole numbers is due", form_of(found->value)));
    }
    std::vector<int> values;
    for (const YAML::Node& item : found->value) {
      int value = 0;
      if (!item.IsScalar()) {
        return problem(key, fmt::format("the list holds {} where a whole number is due", form_of(item)));
      }
      if (auto wrong = parse_integer<int>(item.Scalar(), value, min, std::numeric_limits<int>::max())) {
        return problem(key, *wrong);
      }
      values.push_back(value);
    }
    into = std::move(values);
  }
  if (found || !need.required) explain(key, fmt::format("[{}]", fmt::join(into, ", ")), need);
}

}  // namespace stepsim
