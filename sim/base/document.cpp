// Opens a YAML file for strict reading: what the file's form alone can get wrong, and the overrides.
#include <fmt/format.h>
#include <yaml-cpp/eventhandler.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <utility>

#include "sim/base/fields.hpp"
#include "sim/base/read_files.hpp"

namespace stepsim {
namespace {

// Sees what a YAML::Node no longer shows: duplicate keys, aliases (which could make a document of any size or a
// cycle), and how deep it nests.
class FormCheck : public YAML::EventHandler {
 public:
  struct TooDeep {
    int line;
  };
  struct Stray {
    int line;
  };
  struct Finding {
    int line;
    std::string key, reason;
  };
  std::vector<Finding> findings;

  // A stray ',' or ']' between documents starts an empty one without being read, again and again.
  void OnDocumentStart(const YAML::Mark& mark) override {
    if (mark.pos == last_start_) throw Stray{mark.line + 1};
    last_start_ = mark.pos;
  }
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark& mark, YAML::anchor_t) override { value(mark, ""); }
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t) override {
    findings.push_back({mark.line + 1, path(), "is an alias (*name); write the value itself"});
    value(mark, "");
  }
  void OnScalar(const YAML::Mark& mark, const std::string&, YAML::anchor_t, const std::string& text) override {
    value(mark, text);
  }
  void OnSequenceStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t, YAML::EmitterStyle::value) override {
    open(mark, false);
  }
  void OnSequenceEnd() override { levels_.pop_back(); }
  void OnMapStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t, YAML::EmitterStyle::value) override {
    open(mark, true);
  }
  void OnMapEnd() override { levels_.pop_back(); }

 private:
  struct Level {
    bool is_map = false;
    bool key_is_next = true;
    std::string key;
    std::set<std::string> seen;
  };

  void open(const YAML::Mark& mark, bool is_map) {
    constexpr std::size_t kDeepest = 32;  // no input needs more than 4; the parser calls itself once a level
    if (levels_.size() == kDeepest) throw TooDeep{mark.line + 1};
    value(mark, "");
    levels_.push_back({is_map, true, "", {}});
  }
  void value(const YAML::Mark& mark, const std::string& text) {
    if (levels_.empty() || !levels_.back().is_map) return;
    Level& level = levels_.back();
    if (level.key_is_next) {
      level.key = text;
      if (!level.seen.insert(text).second) {
        findings.push_back({mark.line + 1, path(), "stands twice in its mapping; keep one"});
      }
    }
    level.key_is_next = !level.key_is_next;
  }
  std::string path() const {
    std::string text;
    for (const Level& level : levels_) {
      if (!level.key.empty()) text += (text.empty() ? "" : ".") + level.key;
    }
    return text;
  }

  std::vector<Level> levels_;
  int last_start_ = -1;
};

std::string joined(const std::string& prefix, const std::string& key) {
  return prefix.empty() || key.empty() ? prefix + key : prefix + "." + key;
}

// The parsed text, or nullopt after noting what is wrong with its form. `where` has line -1 for a file's own text.
std::optional<YAML::Node> parse(Reading& reading, const std::string& text, const Origin& where,
                                const std::string& prefix) {
  const std::string& file = where.file;
  const std::size_t before = reading.problems.size();
  const auto line = [&](int own) { return where.line < 0 ? own : where.line; };  // an override's own are not lines of a file
  try {
    std::istringstream stream(text);
    YAML::Parser parser(stream);
    FormCheck form;
    int documents = 0;
    while (parser.HandleNextDocument(form)) ++documents;
    for (FormCheck::Finding& found : form.findings) {
      reading.problems.push_back({file, line(found.line), joined(prefix, found.key), std::move(found.reason)});
    }
    if (documents > 1) {
      reading.problems.push_back({file, 0, prefix, fmt::format("holds {} YAML documents; one is due", documents)});
    }
    if (reading.problems.size() > before) return std::nullopt;
    return YAML::Load(text);
  } catch (const FormCheck::TooDeep& error) {
    reading.problems.push_back({file, line(error.line), prefix, "is nested too deeply to be meant"});
  } catch (const FormCheck::Stray& error) {
    reading.problems.push_back({file, line(error.line), prefix, "is not YAML: a stray , or ] or }"});
  } catch (const YAML::Exception& error) {
    reading.problems.push_back({file, line(error.mark.line + 1), prefix, fmt::format("is not YAML: {}", error.msg)});
  }
  return std::nullopt;
}

std::optional<std::string> content_of(Reading& reading, const std::string& path) {
  constexpr std::size_t kMost = std::size_t{16} << 20;
  const auto refuse = [&](std::string reason) {
    reading.problems.push_back({path, 0, "", std::move(reason)});
    return std::nullopt;
  };
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored)) return refuse("is a folder; a YAML file is due");
  note_read(path);
  std::ifstream stream(path, std::ios::binary);
  if (!stream) return refuse(std::filesystem::exists(path, ignored) ? "cannot be read" : "there is no such file");
  std::string text;
  std::array<char, 64 << 10> piece;
  while (text.size() <= kMost && (stream.read(piece.data(), piece.size()), stream.gcount() > 0)) {
    text.append(piece.data(), static_cast<std::size_t>(stream.gcount()));
  }
  if (text.size() > kMost) return refuse("is larger than 16 MiB; this is no input of stepsim");
  if (text.find('\0') != std::string::npos) return refuse("holds zero bytes; a YAML text is due");
  return text;
}

void mark_as_override(YAML::Node node, const std::string& tag) {
  if (node.IsMap()) {
    for (auto pair : node) mark_as_override(pair.second, tag);
  } else if (node.IsSequence()) {
    for (auto item : node) mark_as_override(item, tag);
  }
  node.SetTag(tag);
}

// Walks down `key` from `document`, making mappings on the way, and puts the value there.
void apply(Reading& reading, YAML::Node document, const Override& change, const std::string& prefix) {
  const auto refuse = [&](std::string reason) {
    reading.problems.push_back({change.from.file, change.from.line, joined(prefix, change.key), std::move(reason)});
  };
  const std::string tag = std::string(kOverrideTag) + change.from.text();
  const std::optional<YAML::Node> value = parse(reading, change.value, change.from, joined(prefix, change.key));
  if (!value) return;
  if (value->IsNull()) return refuse("has no value; write key=value");
  mark_as_override(*value, tag);

  YAML::Node at = document;
  std::string_view rest = change.key;
  while (true) {
    const std::size_t dot = rest.find('.');
    const std::string part(rest.substr(0, dot));
    if (part.empty()) return refuse("is no key; write names with dots between them");
    if (dot == std::string_view::npos) {
      at[part] = *value;
      return;
    }
    const YAML::Node below = std::as_const(at)[part];
    if (!below.IsDefined() || below.IsNull()) {
      YAML::Node made(YAML::NodeType::Map);
      mark_as_override(made, tag);
      at[part] = made;
    } else if (!below.IsMap()) {
      return refuse(fmt::format("{} is not a mapping and has no keys below it", part));
    }
    at.reset(at[part]);
    rest.remove_prefix(dot + 1);
  }
}

}  // namespace

std::optional<Fields> open_document(Reading& reading, const std::string& path, const std::vector<Override>& overrides,
                                    std::string prefix) {
  const std::optional<std::string> text = content_of(reading, path);
  if (!text) return std::nullopt;
  const std::optional<YAML::Node> document = parse(reading, *text, {path, -1}, prefix);
  if (!document) return std::nullopt;
  if (!document->IsMap()) {
    const bool empty = !document->IsDefined() || document->IsNull();
    reading.problems.push_back(
        {path, 0, prefix,
         empty ? "is empty; a mapping of keys is due" : "is not a mapping; \"key: value\" lines are due"});
    return std::nullopt;
  }
  for (const Override& change : overrides) apply(reading, *document, change, prefix);
  return Fields(reading, path, *document, std::move(prefix), 1);
}

}  // namespace stepsim
