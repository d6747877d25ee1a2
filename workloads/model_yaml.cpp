// A model as the YAML that stepsim reads.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <string>
#include <vector>

#include "workloads/model.hpp"

namespace stepsim {
namespace {

// "key: value" items of a mapping, in the order in which readers explain them.
class Items {
 public:
  template <typename Value>
  void add(std::string_view key, const Value& value) {
    items_.push_back(fmt::format("{}: {}", key, value));
  }
  template <typename Value>
  void add_unless(const Value& usual, std::string_view key, const Value& value) {
    if (value != usual) add(key, value);
  }
  std::string in_braces() const { return fmt::format("{{{}}}", fmt::join(items_, ", ")); }
  std::string lines() const { return fmt::format("{}\n", fmt::join(items_, "\n")); }

 private:
  std::vector<std::string> items_;
};

// Quoted where YAML could take it for something else.
std::string yaml_word(const std::string& text) {
  const bool plain = text.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-") == std::string::npos;
  if (plain && text.find_first_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ") == 0) return text;
  std::string result = "'";
  for (const char c : text) result += c == '\'' ? "''" : std::string(1, c);
  return result + "'";
}

std::string window_layers(const std::vector<bool>& windowed) {
  std::vector<std::string> words;
  for (const bool window : windowed) words.emplace_back(window ? "window" : "full");
  return fmt::format("[{}]", fmt::join(words, ", "));
}

std::string attention_text(const Attention& a) {
  Items items;
  items.add("kind", a.kind == Attention::Kind::mla ? "mla" : "gqa");
  if (a.kind == Attention::Kind::mla) {
    items.add_unless(0, "q_rank", a.q_rank);
    items.add("kv_rank", a.kv_rank);
    items.add("rope_dim", a.rope_dim);
    items.add("nope_dim", a.nope_dim);
    items.add("v_dim", a.v_dim);
  }
  items.add_unless(false, "qkv_bias", a.qkv_bias);
  items.add_unless(false, "output_bias", a.output_bias);
  if (a.qk_norm != Attention::QkNorm::none) items.add("qk_norm", a.qk_norm == Attention::QkNorm::head ? "head" : "whole");
  items.add_unless(false, "sinks", a.sinks);
  items.add_unless(0, "window", a.window);
  if (!a.windowed.empty()) items.add("window_layers", window_layers(a.windowed));
  return items.in_braces();
}

std::string experts_text(const Experts& e) {
  Items items;
  items.add("count", e.count);
  items.add("top_k", e.top_k);
  items.add("ffn", e.ffn);
  items.add_unless(0, "shared", e.shared);
  if (e.shared > 0) items.add_unless(e.ffn, "shared_ffn", e.shared_ffn);
  items.add_unless(0, "dense_layers", e.dense_layers);
  items.add_unless(1, "every", e.every);
  if (!e.also_dense.empty()) items.add("also_dense", fmt::format("[{}]", fmt::join(e.also_dense, ", ")));
  items.add_unless(1, "groups", e.groups);
  if (e.routing_bias) items.add("routing_bias", *e.routing_bias);
  items.add_unless(false, "bias", e.bias);
  items.add_unless(false, "shared_gate", e.shared_gate);
  return items.in_braces();
}

}  // namespace

std::string to_yaml(const ModelSpec& model) {
  Items items;
  items.add("name", yaml_word(model.name));
  items.add("layers", model.layers);
  items.add("hidden", model.hidden);
  items.add("vocabulary", model.vocabulary);
  items.add("tied_embeddings", model.tied_embeddings);
  items.add_unless(false, "head_bias", model.head_bias);
  items.add("heads", model.heads);
  items.add("kv_heads", model.kv_heads);
  items.add("head_dim", model.head_dim);
  items.add("attention", attention_text(model.attention));
  items.add_unless(0, "ffn", model.ffn);
  items.add("ffn_matrices", model.ffn_matrices);
  items.add_unless(false, "ffn_bias", model.ffn_bias);
  if (model.experts.count > 0) items.add("experts", experts_text(model.experts));
  if (model.norm == ModelSpec::Norm::layer) items.add("norm", "layer");
  items.add_unless(2, "norms", model.norms);
  items.add_unless(0, "learned_positions", model.learned_positions);
  items.add_unless(model.learned_positions > 0 ? 0.0 : 1.0, "rotary", model.rotary);
  items.add_unless(0, "prediction_layers", model.prediction_layers);
  return items.lines();
}

}  // namespace stepsim
