#include "sim/base/fields.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <filesystem>

#include "sim/base/fields_text.hpp"

namespace stepsim {
namespace {

bool from_override(const YAML::Node& node) {
  return node.Tag().starts_with(kOverrideTag);
}

// "x.yaml:12", as Origin::text writes it.
Origin origin_of_override(const YAML::Node& node) {
  Origin origin{node.Tag().substr(kOverrideTag.size()), 0};
  const std::size_t colon = origin.file.rfind(':');
  if (colon == std::string::npos) return origin;
  std::from_chars(origin.file.data() + colon + 1, origin.file.data() + origin.file.size(), origin.line);
  origin.file.resize(colon);
  return origin;
}

}  // namespace

std::string Origin::text() const { return line > 0 ? fmt::format("{}:{}", file, line) : file; }

std::string Origin::folder() const {
  return file == Origin{}.file ? "." : std::filesystem::path(file).parent_path().string();
}

void Reading::throw_if_any() const {
  if (!problems.empty()) throw InputError(problems);
}

Fields::Fields(Reading& reading, std::string file, YAML::Node mapping, std::string prefix, int line_when_empty)
    : reading_(&reading),
      file_(std::move(file)),
      mapping_(std::move(mapping)),
      prefix_(std::move(prefix)),
      line_when_empty_(line_when_empty) {}

Fields& Fields::operator=(const Fields& other) {
  reading_ = other.reading_;
  file_ = other.file_;
  mapping_.reset(other.mapping_);
  prefix_ = other.prefix_;
  line_when_empty_ = other.line_when_empty_;
  known_ = other.known_;
  return *this;
}

std::optional<Fields::Entry> Fields::find(std::string_view key) const {
  for (const auto& pair : mapping_) {
    if (pair.first.IsScalar() && pair.first.Scalar() == key) return Entry{pair.first, pair.second};
  }
  return std::nullopt;
}

std::string Fields::full(std::string_view key) const {
  if (prefix_.empty() || key.empty()) return prefix_ + std::string(key);
  return fmt::format("{}.{}", prefix_, key);
}

bool Fields::has(std::string_view key) const {
  return find(key).has_value();
}

Origin Fields::origin(std::string_view key) const {
  const std::optional<Entry> found = find(key);
  const YAML::Node& node = found ? found->value : mapping_;
  if (from_override(node)) return origin_of_override(node);
  const int own = found ? found->key.Mark().line + 1 : mapping_.Mark().line + 1;
  return {file_, own > 0 ? own : line_when_empty_};
}

void Fields::problem(std::string_view key, std::string reason) {
  const Origin where = origin(key);
  reading_->problems.push_back({where.file, where.line, full(key), std::move(reason)});
}

void Fields::explain(std::string_view key, std::string value, Need need) {
  std::optional<Origin> where;
  if (has(key)) where = origin(key);
  reading_->explained.push_back({full(key), std::move(value), where ? where->text() : fmt::format("default: {}", need.why_default), where});
}

// Marks the key as known; a missing required key and a key without a value are problems.
std::optional<Fields::Entry> Fields::entry(std::string_view key, Need need, std::string_view wanted) {
  if (std::find(known_.begin(), known_.end(), key) == known_.end()) known_.emplace_back(key);
  std::optional<Entry> found = find(key);
  if (!found) {
    if (need.required) problem(key, fmt::format("missing; write {}", wanted));
    return std::nullopt;
  }
  if (found->value.IsNull()) {
    problem(key, fmt::format("has no value; write {}", wanted));
    return std::nullopt;
  }
  return found;
}

std::optional<std::string> Fields::scalar(std::string_view key, Need need, std::string_view wanted) {
  const std::optional<Entry> found = entry(key, need, wanted);
  if (!found) return std::nullopt;
  if (!found->value.IsScalar()) {
    problem(key, fmt::format("found {} where {} is due", form_of(found->value), wanted));
    return std::nullopt;
  }
  if (found->value.Scalar().empty()) {
    problem(key, fmt::format("has no value; write {}", wanted));
    return std::nullopt;
  }
  return found->value.Scalar();
}

std::optional<YAML::Node> Fields::node(std::string_view key, Need need) {
  const std::optional<Entry> found = entry(key, need, "a value");
  if (!found) return std::nullopt;
  return found->value;
}

Fields Fields::mapping(std::string_view key, Need need) {
  const std::optional<Entry> found = entry(key, need, "a mapping");
  if (found && found->value.IsMap()) return {*reading_, file_, found->value, full(key), origin(key).line};
  if (found) problem(key, fmt::format("found {} where a mapping is due", form_of(found->value)));
  return {*reading_, file_, YAML::Node(YAML::NodeType::Map), full(key), origin(key).line};
}

std::vector<Fields> Fields::mappings(std::string_view key, Need need) {
  std::vector<Fields> result;
  const std::optional<Entry> found = entry(key, need, "a list of mappings");
  if (!found) return result;
  if (!found->value.IsSequence()) {
    problem(key, fmt::format("found {} where a list of mappings is due", form_of(found->value)));
    return result;
  }
  for (std::size_t i = 0; i < found->value.size(); ++i) {
    const YAML::Node item = found->value[i];
    if (item.IsMap()) {
      result.emplace_back(*reading_, file_, item, fmt::format("{}[{}]", full(key), i), origin(key).line);
    } else {
      problem(key, fmt::format("item {} is {} where a mapping is due", i, form_of(item)));
    }
  }
  return result;
}

void Fields::finish() {
  constexpr std::size_t kMostUnknown = 50;  // more tell nothing new
  std::size_t unknown = 0;
  for (const auto& pair : mapping_) {
    if (!pair.first.IsScalar()) {
      problem("", fmt::format("found {} as a key; a key is a name", form_of(pair.first)));
      continue;
    }
    const std::string& key = pair.first.Scalar();
    if (std::find(known_.begin(), known_.end(), key) != known_.end()) continue;
    if (++unknown > kMostUnknown) continue;
    const std::string near = nearest(key, known_);
    problem(key, near.empty() ? fmt::format("unknown key; the keys here are {}", fmt::join(known_, ", "))
                              : fmt::format("unknown key; did you mean {}?", near));
  }
}

std::vector<std::string> Fields::finish_leniently() {
  std::vector<std::string> unread;
  for (const auto& pair : mapping_) {
    if (!pair.first.IsScalar()) continue;
    const std::string& key = pair.first.Scalar();
    if (std::find(known_.begin(), known_.end(), key) != known_.end()) continue;
    if (!from_override(pair.second)) {
      unread.push_back(key);
      continue;
    }
    const std::string near = nearest(key, known_);
    problem(key, near.empty() ? "is no key that is read from this file" : fmt::format("unknown key; did you mean {}?", near));
  }
  return unread;
}

Fields Fields::without_nulls() const {
  YAML::Node kept(YAML::NodeType::Map);
  if (from_override(mapping_)) kept.SetTag(mapping_.Tag());
  for (const auto& pair : mapping_) {
    if (!pair.second.IsNull()) kept.force_insert(pair.first, pair.second);
  }
  return {*reading_, file_, kept, prefix_, origin("").line};
}

Fields Fields::in(Reading& reading) const {
  return {reading, file_, mapping_, prefix_, line_when_empty_};
}

}  // namespace stepsim
