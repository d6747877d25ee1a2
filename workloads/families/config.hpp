// A Hugging Face config.json, read for the sizes it gives a model. JSON is YAML, so that every message has its line.
#pragma once

#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/base/fields.hpp"
#include "workloads/model.hpp"

namespace stepsim {

// Unlike a file of stepsim's own it holds many keys that change no shape: a key whose value is null counts as absent, and
// keys that nothing reads are gathered rather than refused.
class Config {
 public:
  Config(Reading& reading, Fields fields) : reading_(&reading), fields_(std::move(fields)) {}

  bool has(std::string_view key) const { return fields_.has(key); }
  // A key that must be there, from `least` on (0 when it is not, or wrong).
  int integer(std::string_view key, int least = 1);
  // One that need not be: `fallback` is what the family's class in the transformers library takes.
  int integer_or(std::string_view key, int fallback, std::string_view why, int least = 0);
  int integer_unless_0(std::string_view key, int fallback);  // must be there unless there is a fallback
  bool boolean_or(std::string_view key, bool fallback, std::string_view why);
  double number_or(std::string_view key, double fallback, std::string_view why, double most);
  std::vector<int> integers(std::string_view key);
  std::vector<std::string> texts(std::string_view key);
  std::string text_or(std::string_view key, std::string fallback, std::string_view why);
  std::optional<Config> part(std::string_view key);  // a mapping below this one, when there is one

  // The first of these names that is there (the others are names other tools gave the key; taking one is noted), else
  // the first.
  std::string_view named(std::initializer_list<std::string_view> names);
  void skip(std::string_view key) { fields_.node(key, or_default("")); }  // known, without effect
  void note(std::string text) { reading_->notes.push_back(std::move(text)); }
  void problem(std::string_view key, std::string reason) { fields_.problem(key, std::move(reason)); }
  std::size_t problems() const { return fields_.problems(); }
  std::vector<std::string> unread() { return fields_.finish_leniently(); }

 private:
  Reading* reading_;
  Fields fields_;
};

// --- what families share ---

// What the family's class takes where a config does not say (parts of a multimodal config leave out what their class
// takes anyway). 0: the key must be there; key/value heads: as many as heads; head_dim: hidden_size / heads.
struct ShapeDefaults {
  int layers = 0, hidden = 0, vocabulary = 0, heads = 0, kv_heads = 0, head_dim = 0;
};
// num_hidden_layers, hidden_size, vocab_size, num_attention_heads, num_key_value_heads, head_dim.
void read_shape(Config& c, ModelSpec& model, const ShapeDefaults& defaults = {});
void read_tied(Config& c, ModelSpec& model, bool fallback);  // tie_word_embeddings, whose default is the class's
// sliding_window over the layers that `layer_types` names, or else over those of the pattern (empty: all).
void read_window(Config& c, ModelSpec& model, std::vector<bool> pattern = {}, int fallback = 0);
// num_experts or whatever `count` is, num_experts_per_tok, and the width of an expert.
void read_experts(Config& c, ModelSpec& model, std::string_view count, std::string_view width);
// partial_rotary_factor, here or in rope_parameters.
void read_rotary(Config& c, ModelSpec& model, double fallback);

}  // namespace stepsim
