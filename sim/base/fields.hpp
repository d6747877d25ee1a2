// Strict reading of YAML: every problem is collected with file, line, key, what was found and what would be right;
// unknown keys and bare numbers where a dimension is due are problems; every value remembers where it came from.
#pragma once

#include <yaml-cpp/yaml.h>

#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/base/errors.hpp"
#include "sim/base/precision.hpp"
#include "sim/base/units.hpp"

namespace stepsim {

// Where a value stands.
struct Origin {
  std::string file = "--set";
  int line = 0;  // 0: not known; --set has none

  std::string text() const;    // "plan.yaml:12", "--set"
  std::string folder() const;  // to which a path there is relative: the file's; of --set the current one

  bool operator==(const Origin&) const = default;
};

// One value of a complete input, for `stepsim check --explain`.
struct Explained {
  std::string key;     // dotted path
  std::string value;   // as it will be used
  std::string origin;  // "plans/x.yaml:7", "--set", or "default: one sequence a microbatch"
  std::optional<Origin> where = {};  // of what is no default

  bool operator==(const Explained&) const = default;
};

// What a reader gathers on its way through one or several files.
struct Reading {
  std::vector<Problem> problems;
  std::vector<Explained> explained;
  std::vector<std::string> notes = {};  // what a reader of the result should know: an alias taken, something left out

  void throw_if_any() const;  // InputError with all problems
};

// "plan.schedule=1f1b": replaces or adds one key before the strict reading.
struct Override {
  std::string key;    // dotted path without the document's name: "schedule", "parallel.pipeline", "batch"
  std::string value;  // YAML: "1f1b", "8", "[norm, swiglu]", "{nvlink: nv*}"
  Origin from = {};   // an experiment's own setting has the line of its file
};

// Whether a key must be there; if not, why its default is what it is (one clause, shown by --explain).
struct Need {
  bool required = true;
  std::string_view why_default = "";
};
inline Need required() { return {true, ""}; }
inline Need or_default(std::string_view why) { return {false, why}; }

// One mapping of a document. Reading a key marks it as known; finish() reports the others, with the nearest known key
// as remedy. Each reader leaves `into` alone when the key is absent (that is how defaults are given) or wrong.
class Fields {
 public:
  // `line_when_empty` stands for the mapping's own line where it has none (an absent mapping has its parent's).
  Fields(Reading& reading, std::string file, YAML::Node mapping, std::string prefix, int line_when_empty = 0);
  Fields(const Fields&) = default;
  Fields& operator=(const Fields& other);  // YAML::Node's own assignment would change the document

  bool has(std::string_view key) const;
  Origin origin(std::string_view key) const;  // of the key; of the mapping when absent
  const std::string& file() const { return file_; }
  const std::string& prefix() const { return prefix_; }

  void integer(std::string_view key, int& into, Need need, int min = 0, int max = std::numeric_limits<int>::max());
  void integer64(std::string_view key, std::int64_t& into, Need need, std::int64_t min = 0);
  void number(std::string_view key, double& into, Need need, double min, double max);  // has no dimension
  void boolean(std::string_view key, bool& into, Need need);
  void text(std::string_view key, std::string& into, Need need);
  void choice(std::string_view key, std::string& into, const std::vector<std::string_view>& allowed, Need need);
  void precision(std::string_view key, Precision& into, Need need);
  void bandwidth(std::string_view key, BytesPerSecond& into, Need need);  // must be positive
  void time(std::string_view key, Seconds& into, Need need);              // not negative
  void size(std::string_view key, Bytes& into, Need need);                // not negative
  void rate(std::string_view key, FlopsPerSecond& into, Need need);       // must be positive
  void power(std::string_view key, Watts& into, Need need);               // must be positive
  void texts(std::string_view key, std::vector<std::string>& into, Need need);    // a list, or one text with commas
  void integers(std::string_view key, std::vector<int>& into, Need need, int min = 0);

  // Marks the key as known and hands out its node, for values of more than one form ("auto" or a list).
  std::optional<YAML::Node> node(std::string_view key, Need need);
  // A mapping below this one; when absent and not required, an empty one, so that its keys' defaults are explained too.
  Fields mapping(std::string_view key, Need need);
  std::vector<Fields> mappings(std::string_view key, Need need);  // a list of mappings

  void problem(std::string_view key, std::string reason);  // at the key's line
  std::size_t problems() const { return reading_->problems.size(); }  // so far, of the whole reading
  void explain(std::string_view key, std::string value, Need need);
  void finish();

  // For formats of others, which finish() would be too strict for: the keys that nothing has read (those of --set stay
  // problems), and a mapping without the keys whose value is null.
  std::vector<std::string> finish_leniently();
  Fields without_nulls() const;
  Fields in(Reading& reading) const;  // the same mapping, its problems told to another

 private:
  struct Entry {
    YAML::Node key, value;
  };
  std::optional<Entry> find(std::string_view key) const;
  std::optional<Entry> entry(std::string_view key, Need need, std::string_view wanted);
  std::optional<std::string> scalar(std::string_view key, Need need, std::string_view wanted);
  std::string full(std::string_view key) const;  // with the prefix
  struct Limits {  // of what is not zero
    double least;
    const char* least_text;
    double most;
    const char* most_text;
  };
  template <typename Quantity>
  void quantity(std::string_view key, Quantity& into, Need need, std::optional<Quantity> (*parse)(std::string_view),
                std::string_view wanted, bool zero_allowed, Limits limits);

  Reading* reading_;
  std::string file_;
  YAML::Node mapping_;
  std::string prefix_;
  int line_when_empty_ = 0;
  std::vector<std::string> known_;
};

// Parses the file and applies the overrides. Syntax errors, an empty file, a document that is no mapping, or an
// unreadable file are problems of `reading`, and the result is then an empty mapping marked by `std::nullopt`.
// A duplicate key in a mapping is a problem. `prefix` heads the keys in messages ("" for none).
std::optional<Fields> open_document(Reading& reading, const std::string& path, const std::vector<Override>& overrides,
                                    std::string prefix = "");

// Nodes that came from an override carry this tag with the override's origin behind it; their problems name that.
inline constexpr std::string_view kOverrideTag = "!set ";

// The candidate nearest to `text` by edit distance, or "" when none is near enough to be meant.
std::string nearest(std::string_view text, const std::vector<std::string>& candidates);

}  // namespace stepsim
