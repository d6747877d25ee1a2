// Qwen 2 (and 2.5): biases on queries, keys and values. Qwen 3: norms of queries and keys instead. Both also with experts.
#include <algorithm>

#include "workloads/families/families.hpp"

namespace stepsim {
namespace {

// The layers from max_window_layers on, and only when use_sliding_window says so.
void read_qwen_window(Config& c, ModelSpec& model) {
  const bool used = c.boolean_or("use_sliding_window", false, "all keys are seen");
  const int from = c.integer_or("max_window_layers", 28, "the family's");
  if (!used) {
    c.skip("sliding_window");
    c.skip("layer_types");
    return;
  }
  std::vector<bool> pattern;
  for (int layer = 0; layer < model.layers; ++layer) pattern.push_back(layer >= from);
  read_window(c, model, std::move(pattern));
}

void read_dense(Config& c, ModelSpec& model) {
  read_shape(c, model);
  read_tied(c, model, false);
  read_qwen_window(c, model);
}

// Layers whose number, from 1, decoder_sparse_step divides have experts, but those that mlp_only_layers names (from 0).
void read_sparse(Config& c, ModelSpec& model) {
  read_experts(c, model, c.named({"num_experts", "num_routed_experts"}), "moe_intermediate_size");
  Experts& e = model.experts;
  e.every = c.integer_or("decoder_sparse_step", 1, "every layer has experts", 1);
  e.dense_layers = e.every - 1;
  e.also_dense = c.integers("mlp_only_layers");
  std::erase_if(e.also_dense, [&](int layer) { return layer >= model.layers || (layer + 1) % e.every != 0; });
  bool dense = false, sparse = false;
  for (int layer = 0; layer < model.layers; ++layer) (model.has_experts(layer) ? sparse : dense) = true;
  if (!sparse && e.count > 0) c.problem("decoder_sparse_step", "with mlp_only_layers leaves no layer with experts");
  if (dense) model.ffn = c.integer("intermediate_size");
  if (!dense) c.skip("intermediate_size");
}

}  // namespace

void read_qwen2(Config& c, ModelSpec& model) {
  read_dense(c, model);
  model.ffn = c.integer("intermediate_size");
  model.attention.qkv_bias = true;
}

void read_qwen2_moe(Config& c, ModelSpec& model) {
  read_dense(c, model);
  read_sparse(c, model);
  model.attention.qkv_bias = c.boolean_or("qkv_bias", true, "the family's");
  model.experts.shared_ffn = c.integer("shared_expert_intermediate_size");
  model.experts.shared = 1;
  model.experts.shared_gate = true;
}

void read_qwen3(Config& c, ModelSpec& model) {
  read_dense(c, model);
  model.ffn = c.integer("intermediate_size");
  Attention& a = model.attention;
  a.qkv_bias = a.output_bias = c.boolean_or("attention_bias", false, "no biases");
  a.qk_norm = Attention::QkNorm::head;
}

void read_qwen3_moe(Config& c, ModelSpec& model) {
  read_dense(c, model);
  read_sparse(c, model);
  Attention& a = model.attention;
  a.qkv_bias = a.output_bias = c.boolean_or("attention_bias", false, "no biases");
  a.qk_norm = Attention::QkNorm::head;
}

}  // namespace stepsim
