// Strict reading: what is wrong is said with file, line and key; nothing is skipped.
#include "sim/base/fields.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <filesystem>
#include <fstream>

namespace stepsim::fields_test {

// A file that goes away with the test.
class TextFile {
 public:
  explicit TextFile(const std::string& content) {
    path_ = (std::filesystem::temp_directory_path() / fmt::format("stepsim-fields-{}.yaml", ::getpid())).string();
    std::ofstream(path_, std::ios::binary) << content;
  }
  ~TextFile() { std::filesystem::remove(path_); }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

struct Small {
  int tensor = 1;
  std::int64_t sequences = 0;
  double speed = 1;
  bool sequence = false;
  std::string name = "none";
  std::string method = "ring";
  Precision precision = Precision::bf16;
  BytesPerSecond bandwidth{1e9};
  Seconds latency;
  Bytes memory;
  FlopsPerSecond rate{1e12};
  std::vector<std::string> links;
  std::vector<int> layers;
};

Small read_small(Reading& reading, const std::string& path, const std::vector<Override>& overrides = {}) {
  Small s;
  std::optional<Fields> fields = open_document(reading, path, overrides);
  if (!fields) return s;
  fields->integer("tensor", s.tensor, or_default("one GPU"), 1);
  fields->integer64("sequences", s.sequences, or_default("none"));
  fields->number("speed", s.speed, or_default("full speed"), 0, 1);
  fields->boolean("sequence", s.sequence, or_default("off"));
  fields->text("name", s.name, or_default("no name"));
  fields->choice("method", s.method, {"ring", "all_to_all"}, or_default("ring"));
  fields->precision("precision", s.precision, or_default("bf16"));
  fields->bandwidth("bandwidth", s.bandwidth, or_default("assumed"));
  fields->time("latency", s.latency, or_default("none"));
  fields->size("memory", s.memory, or_default("none"));
  fields->rate("rate", s.rate, or_default("assumed"));
  fields->texts("links", s.links, or_default("none"));
  fields->integers("layers", s.layers, or_default("auto"), 1);
  Fields below = fields->mapping("below", or_default("empty"));
  int depth = 2;
  below.integer("depth", depth, or_default("two"));
  below.finish();
  for (Fields& item : fields->mappings("items", or_default("none"))) {
    int rank = 0;
    item.integer("rank", rank, required());
    item.finish();
  }
  fields->finish();
  return s;
}

// All problems of a text, "LINE KEY: REASON" each.
std::vector<std::string> problems(const std::string& text, const std::vector<Override>& overrides = {}) {
  const TextFile file(text);
  Reading reading;
  read_small(reading, file.path(), overrides);
  std::vector<std::string> result;
  for (const Problem& p : reading.problems) {
    EXPECT_EQ(p.file, p.line == 0 && p.file == "--set" ? "--set" : file.path());
    result.push_back(fmt::format("{}{} {}: {}", p.file == "--set" ? "set " : "", p.line, p.key, p.reason));
  }
  return result;
}

using Texts = std::vector<std::string>;

TEST(Fields, ReadsEveryKindOfValue) {
  const TextFile file(
      "tensor: 8\nsequences: 15360\nspeed: 0.8\nsequence: true\nname: a b\nmethod: all_to_all\nprecision: fp8\n"
      "bandwidth: 50GBps\nlatency: 2us\nmemory: 80GiB\nrate: 758Tf\nlinks: nic*, leaf*\nlayers: [3, 4]\n"
      "below: {depth: 5}\nitems: [{rank: 1}, {rank: 2}]\n");
  Reading reading;
  const Small s = read_small(reading, file.path());
  EXPECT_TRUE(reading.problems.empty());
  EXPECT_NO_THROW(reading.throw_if_any());
  EXPECT_EQ(s.tensor, 8);
  EXPECT_EQ(s.sequences, 15360);
  EXPECT_EQ(s.speed, 0.8);
  EXPECT_TRUE(s.sequence);
  EXPECT_EQ(s.name, "a b");
  EXPECT_EQ(s.method, "all_to_all");
  EXPECT_EQ(s.precision, Precision::fp8);
  EXPECT_EQ(s.bandwidth, BytesPerSecond(50e9));
  EXPECT_EQ(s.latency, Seconds(2e-6));
  EXPECT_EQ(s.memory, Bytes(80.0 * (1 << 30)));
  EXPECT_EQ(s.rate, FlopsPerSecond(758e12));
  EXPECT_EQ(s.links, (Texts{"nic*", "leaf*"}));
  EXPECT_EQ(s.layers, (std::vector<int>{3, 4}));
}

TEST(Fields, RemembersWhereEachValueCameFrom) {
  const TextFile file("# plan\ntensor: 8\n");
  Reading reading;
  read_small(reading, file.path(), {{"speed", "0.5"}});
  const auto find = [&](const std::string& key) {
    for (const Explained& e : reading.explained) {
      if (e.key == key) return e;
    }
    return Explained{};
  };
  EXPECT_EQ(find("tensor"), (Explained{"tensor", "8", file.path() + ":2", Origin{file.path(), 2}}));
  EXPECT_EQ(find("speed"), (Explained{"speed", "0.5", "--set", Origin{"--set", 0}}));
  EXPECT_EQ(find("method"), (Explained{"method", "ring", "default: ring"}));
  EXPECT_EQ(find("bandwidth"), (Explained{"bandwidth", "1 GB/s", "default: assumed"}));
  EXPECT_EQ(find("below.depth"), (Explained{"below.depth", "2", "default: two"}));
}

TEST(Fields, FormOfTheFile) {
  EXPECT_EQ(problems(""), (Texts{"0 : is empty; a mapping of keys is due"}));
  EXPECT_EQ(problems("# only a comment\n"), (Texts{"0 : is empty; a mapping of keys is due"}));
  EXPECT_EQ(problems("- 1\n- 2\n"), (Texts{"0 : is not a mapping; \"key: value\" lines are due"}));
  EXPECT_EQ(problems("just words\n"), (Texts{"0 : is not a mapping; \"key: value\" lines are due"}));
  const Texts syntax = problems("tensor: 1\nlinks: [a, b\nname: x\n");
  ASSERT_EQ(syntax.size(), 1u);
  EXPECT_TRUE(syntax[0].find("is not YAML") != std::string::npos) << syntax[0];
  EXPECT_EQ(problems("tensor: 1\n---\ntensor: 2\n"), (Texts{"0 : holds 2 YAML documents; one is due"}));
  EXPECT_EQ(problems(std::string("tensor: 1\0", 10)), (Texts{"0 : holds zero bytes; a YAML text is due"}));
  EXPECT_EQ(problems(std::string(100000, '[')), (Texts{"1 : is nested too deeply to be meant"}));
  EXPECT_EQ(problems("a: " + std::string(100000, '{')), (Texts{"1 : is nested too deeply to be meant"}));
  EXPECT_EQ(problems(", x"), (Texts{"1 : is not YAML: a stray , or ] or }"}));
  EXPECT_EQ(problems("tensor: 1\n]\n").size(), 1u);
  EXPECT_EQ(problems("tensor: 1\n...\n}\n").size(), 1u);
  EXPECT_EQ(problems("tensor: 1\ntensor: 2\n"), (Texts{"2 tensor: stands twice in its mapping; keep one"}));
  EXPECT_EQ(problems("below:\n  depth: 1\n  depth: 1\n"),
            (Texts{"3 below.depth: stands twice in its mapping; keep one"}));
  EXPECT_EQ(problems("below: &b {depth: *b}\n"), (Texts{"1 below.depth: is an alias (*name); write the value itself"}));
}

TEST(Fields, FilesThatCannotBeRead) {
  Reading reading;
  EXPECT_FALSE(open_document(reading, "/no/such/file.yaml", {}));
  EXPECT_FALSE(open_document(reading, "/tmp", {}));
  ASSERT_EQ(reading.problems.size(), 2u);
  EXPECT_EQ(to_text(reading.problems[0]), "/no/such/file.yaml: there is no such file");
  EXPECT_EQ(to_text(reading.problems[1]), "/tmp: is a folder; a YAML file is due");
  EXPECT_THROW(reading.throw_if_any(), InputError);
}

TEST(Fields, UnknownKeysGetTheNearestAsRemedy) {
  EXPECT_EQ(problems("tensor: 1\ntensro: 2\n"), (Texts{"2 tensro: unknown key; did you mean tensor?"}));
  EXPECT_EQ(problems("below: {deptth: 1}\n"), (Texts{"1 below.deptth: unknown key; did you mean depth?"}));
  EXPECT_EQ(problems("below: {x: 1}\n"), (Texts{"1 below.x: unknown key; the keys here are depth"}));
  EXPECT_EQ(problems("[a, b]: 1\n"), (Texts{"1 : found a list as a key; a key is a name"}));
}

TEST(Fields, WrongForms) {
  EXPECT_EQ(
      problems("tensor: [1]\nbelow: 3\nlinks: {a: 1}\nlayers: 4\nitems: {rank: 1}\nname: {}\nspeed:\n"),
      (Texts{"1 tensor: found a list where a whole number is due", "7 speed: has no value; write a number",
             "6 name: found a mapping where a text is due", "3 links: found a mapping where a list of names is due",
             "4 layers: found a single value where a list of whole numbers is due",
             "2 below: found a single value where a mapping is due",
             "5 items: found a mapping where a list of mappings is due"}));
  EXPECT_EQ(problems("items: [{rank: 1}, 7, {}]\n"), (Texts{"1 items: item 1 is a single value where a mapping is due",
                                                            "1 items[2].rank: missing; write a whole number"}));
}

TEST(Fields, WrongNumbers) {
  EXPECT_EQ(problems("tensor: 0\n"), (Texts{"1 tensor: 0 is too small; at least 1"}));
  EXPECT_EQ(problems("tensor: 1.5\n"), (Texts{"1 tensor: \"1.5\" is not a whole number"}));
  EXPECT_EQ(problems("tensor: 99999999999999999999\n"), (Texts{"1 tensor: \"99999999999999999999\" is out of range"}));
  EXPECT_EQ(problems("sequences: 9007199254740993\n"),
            (Texts{"1 sequences: 9007199254740993 is too large; at most 9007199254740992"}));
  EXPECT_EQ(problems("speed: .nan\n"), (Texts{"1 speed: \".nan\" is not a number"}));
  EXPECT_EQ(problems("speed: nan\n"), (Texts{"1 speed: \"nan\" is not a number"}));
  EXPECT_EQ(problems("speed: 1e999\n"), (Texts{"1 speed: \"1e999\" is not a number"}));
  EXPECT_EQ(problems("speed: 1.5\n"), (Texts{"1 speed: 1.5 is not between 0 and 1"}));
  EXPECT_EQ(problems("sequence: yes\n"), (Texts{"1 sequence: \"yes\" is neither true nor false"}));
  EXPECT_EQ(problems("layers: [1, x]\n"), (Texts{"1 layers: \"x\" is not a whole number"}));
}

TEST(Fields, AQuantityNeedsItsUnit) {
  EXPECT_EQ(problems("bandwidth: 50\n"), (Texts{"1 bandwidth: 50 has no unit; write a bandwidth such as 50GBps"}));
  EXPECT_EQ(problems("bandwidth: -50GBps\n"), (Texts{"1 bandwidth: -50GBps is negative"}));
  EXPECT_EQ(problems("bandwidth: 0GBps\n"), (Texts{"1 bandwidth: 0GBps must be more than zero"}));
  EXPECT_EQ(problems("bandwidth: 50GB\n"), (Texts{"1 bandwidth: \"50GB\" is not a bandwidth such as 50GBps"}));
  EXPECT_EQ(problems("latency: 1e-6\n"), (Texts{"1 latency: 1e-6 has no unit; write a time such as 2us"}));
  EXPECT_EQ(problems("memory: 80\n"), (Texts{"1 memory: 80 has no unit; write a size such as 80GiB"}));
  EXPECT_EQ(problems("rate: 758\n"), (Texts{"1 rate: 758 has no unit; write a rate such as 758Tf"}));
  EXPECT_EQ(problems("latency: 0s\n"), Texts{});
}

TEST(Fields, WrongChoices) {
  EXPECT_EQ(problems("method: rign\n"),
            (Texts{"1 method: \"rign\" is not one of ring, all_to_all; did you mean ring?"}));
  EXPECT_EQ(problems("precision: bf61\n"),
            (Texts{"1 precision: \"bf61\" is not one of none, fp4, fp8, bf16, fp16, tf32, fp32; did you mean bf16?"}));
}

TEST(Fields, AllProblemsAtOnce) {
  EXPECT_EQ(problems("tensor: x\nspeed: 7\nbandwidth: 1\nnmae: y\n").size(), 4u);
}

TEST(Fields, OverridesReplaceAndAdd) {
  const TextFile file("tensor: 8\nbelow: {depth: 5}\n");
  Reading reading;
  const Small s = read_small(reading, file.path(), {{"tensor", "4"}, {"links", "[a, b]"}, {"below.depth", "6"}});
  EXPECT_TRUE(reading.problems.empty());
  EXPECT_EQ(s.tensor, 4);
  EXPECT_EQ(s.links, (Texts{"a", "b"}));
}

TEST(Fields, WrongOverridesBlameTheCommandLine) {
  const std::string text = "tensor: 8\n";
  EXPECT_EQ(problems(text, {{"tensor", "x"}}), (Texts{"set 0 tensor: \"x\" is not a whole number"}));
  EXPECT_EQ(problems(text, {{"tensor.deep", "1"}}),
            (Texts{"set 0 tensor.deep: tensor is not a mapping and has no keys below it"}));
  EXPECT_EQ(problems(text, {{"below.depht", "1"}}), (Texts{"set 0 below.depht: unknown key; did you mean depth?"}));
  EXPECT_EQ(problems(text, {{"below", "{depht: 1}"}}), (Texts{"set 0 below.depht: unknown key; did you mean depth?"}));
  EXPECT_EQ(problems(text, {{"tensor", ""}}), (Texts{"set 0 tensor: has no value; write key=value"}));
  EXPECT_EQ(problems(text, {{"", "1"}}), (Texts{"set 0 : is no key; write names with dots between them"}));
  EXPECT_EQ(problems(text, {{"a..b", "1"}})[0], "set 0 a..b: is no key; write names with dots between them");
}

TEST(Fields, Nearest) {
  EXPECT_EQ(nearest("schedul", {"batch", "schedule"}), "schedule");
  EXPECT_EQ(nearest("1f1p", {"dualpipe", "1f1b", "gpipe"}), "1f1b");
  EXPECT_EQ(nearest("Tensor", {"tensor"}), "tensor");
  EXPECT_EQ(nearest("zzz", {"tensor", "batch"}), "");
  EXPECT_EQ(nearest("x", {}), "");
  EXPECT_EQ(nearest("x", {"y"}), "");
}

TEST(Fields, AnyTextIsReadOrRefused) {
  rc::check("never crashes", [](const std::string& noise) {
    problems(noise);
    problems("tensor: " + noise + "\nbelow: {" + noise + "}\n");
    problems("tensor: 1\n", {{noise, noise}});
  });
}

}  // namespace stepsim::fields_test
