#include "sim/cluster/xml.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "sim/base/fields.hpp"
#include "sim/base/read_files.hpp"
#include "sim/base/text_units.hpp"

namespace stepsim {

std::string name_of(pugi::xml_node element) {
  const std::string_view id = element.attribute("id").value();
  if (!id.empty()) return fmt::format("{} {}", element.name(), id);
  const std::string_view src = element.attribute("src").value();
  return src.empty() ? element.name()
                     : fmt::format("{} {} > {}", element.name(), src, element.attribute("dst").value());
}

pugi::xml_node XmlFile::load(std::string_view root_name) {
  std::error_code ignored;
  if (std::filesystem::is_directory(path_, ignored)) fail(0, "is a folder; an XML file is due");
  note_read(path_);
  std::ifstream stream(path_, std::ios::binary);
  if (!stream) fail(0, std::filesystem::exists(path_, ignored) ? "cannot be read" : "there is no such file");
  const std::string text{std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
  if (stream.bad()) fail(0, "cannot be read");
  for (std::size_t at = text.find('\n'); at != std::string::npos; at = text.find('\n', at + 1)) {
    line_ends_.push_back(static_cast<std::ptrdiff_t>(at));
  }
  const pugi::xml_parse_result result =
      document_.load_buffer(text.data(), text.size(), pugi::parse_default, pugi::encoding_utf8);
  if (!result) fail(line_of(result.offset), fmt::format("is not XML: {}", result.description()));
  const pugi::xml_node root = document_.document_element();
  if (root.name() != root_name) {
    fail(line_of(root.offset_debug()), fmt::format("found <{}> where <{}> is due", root.name(), root_name));
  }
  for (pugi::xml_node other = root.next_sibling(); other; other = other.next_sibling()) {
    if (other.type() == pugi::node_element) problem(other, "", fmt::format("a second element beside <{}>", root_name));
  }
  return root;
}

int XmlFile::line_of(std::ptrdiff_t offset) const {
  if (offset < 0) return 0;
  return static_cast<int>(std::lower_bound(line_ends_.begin(), line_ends_.end(), offset) - line_ends_.begin()) + 1;
}

void XmlFile::fail(int line, std::string reason) const {
  throw InputError({{path_, line, "", std::move(reason)}});
}

void XmlFile::problem(pugi::xml_node element, std::string_view attribute, std::string reason) {
  std::string key = name_of(element);
  if (!attribute.empty()) key += fmt::format(": {}", attribute);
  problems_.push_back({path_, line_of(element.offset_debug()), std::move(key), std::move(reason)});
}

void XmlFile::check_attributes(pugi::xml_node element, std::initializer_list<Rule> rules) {
  std::vector<std::string> names;
  for (const Rule& rule : rules) {
    if (rule.kind != Rule::Kind::refused) names.emplace_back(rule.name);
    const bool there = !element.attribute(rule.name.data()).empty();
    const bool filled = text(element, rule.name.data()).has_value();
    if (rule.kind == Rule::Kind::required && !filled) problem(element, rule.name, there ? "is empty" : "missing");
    if (rule.kind == Rule::Kind::may_be_empty && !there) problem(element, rule.name, "missing");
    if (rule.kind == Rule::Kind::refused && filled) {
      problem(element, rule.name, fmt::format("not read: {}", rule.why_refused));
    }
  }
  std::vector<std::string_view> seen;
  for (const pugi::xml_attribute attribute : element.attributes()) {
    const std::string_view name = attribute.name();
    if (std::find(seen.begin(), seen.end(), name) != seen.end()) problem(element, name, "stands twice; keep one");
    seen.push_back(name);
    if (std::any_of(rules.begin(), rules.end(), [&](const Rule& rule) { return rule.name == name; })) continue;
    const std::string near = nearest(name, names);
    problem(element, name,
            near.empty()
                ? fmt::format("unknown attribute; those of <{}> are {}", element.name(), fmt::join(names, ", "))
                : fmt::format("unknown attribute; did you mean {}?", near));
  }
}

std::optional<std::string_view> XmlFile::text(pugi::xml_node element, const char* attribute) {
  const std::string_view value = element.attribute(attribute).value();
  if (value.empty()) return std::nullopt;
  return value;
}

std::optional<BytesPerSecond> XmlFile::bandwidth(pugi::xml_node element, const char* attribute) {
  const auto value = text(element, attribute);
  if (!value) return std::nullopt;
  const auto parsed = bandwidth_from(*value);
  if (parsed && parsed->value > 0) return parsed;
  problem(element, attribute,
          fmt::format("'{}' is not a positive bandwidth; write a number and its unit, as in 50GBps", *value));
  return std::nullopt;
}

std::optional<Seconds> XmlFile::time(pugi::xml_node element, const char* attribute) {
  const auto value = text(element, attribute);
  if (!value) return std::nullopt;
  if (*value == "0") return Seconds(0);  // the one number that SimGrid lets stand without a unit
  const auto parsed = time_from(*value);
  if (parsed && parsed->value >= 0) return parsed;
  problem(element, attribute, fmt::format("'{}' is not a time; write a number and its unit, as in 2us", *value));
  return std::nullopt;
}

std::string XmlFile::choice(pugi::xml_node element, const char* attribute,
                            std::initializer_list<std::string_view> allowed, std::string_view absent) {
  const auto value = text(element, attribute);
  if (!value) return std::string(absent);
  if (std::find(allowed.begin(), allowed.end(), *value) != allowed.end()) return std::string(*value);
  problem(element, attribute, fmt::format("'{}' is not one of {}", *value, fmt::join(allowed, ", ")));
  return std::string(absent);
}

}  // namespace stepsim
