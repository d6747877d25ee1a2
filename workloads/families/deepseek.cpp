// DeepSeek V2 and V3, and Kimi K2, which is built like V3: latent attention, dense layers first, then experts of which some
// are shared. V3's router has a balancing bias.
#include <fmt/format.h>

#include "workloads/families/families.hpp"

namespace stepsim {
namespace {

void read_latent_attention(Config& c, ModelSpec& model) {
  model.layers = c.integer("num_hidden_layers");
  model.hidden = c.integer("hidden_size");
  model.vocabulary = c.integer("vocab_size");
  model.heads = model.kv_heads = c.integer("num_attention_heads");
  c.skip("num_key_value_heads");  // latent attention has a key and a value for each head
  c.skip("head_dim");
  Attention& a = model.attention;
  a.kind = Attention::Kind::mla;
  a.q_rank = c.integer_or("q_lora_rank", 0, "the query is not compressed");
  a.kv_rank = c.integer("kv_lora_rank");
  a.nope_dim = c.integer("qk_nope_head_dim");
  a.rope_dim = c.integer("qk_rope_head_dim");
  a.v_dim = c.integer("v_head_dim");
  model.head_dim = a.nope_dim + a.rope_dim;
  a.qkv_bias = a.output_bias = c.boolean_or("attention_bias", false, "no biases");
}

// A layer has experts from first_k_dense_replace on, where moe_layer_freq divides its number (from 0).
void read_sparse(Config& c, ModelSpec& model) {
  read_experts(c, model, c.named({"n_routed_experts", "num_routed_experts"}), "moe_intermediate_size");
  Experts& e = model.experts;
  e.shared = c.integer_or(c.named({"n_shared_experts", "num_shared_experts"}), 0, "no shared expert");
  e.shared_ffn = e.shared > 0 ? e.ffn : 0;
  e.every = c.integer_or("moe_layer_freq", 1, "no dense layers between", 1);
  const int first = c.integer_or("first_k_dense_replace", 0, "every layer may have experts");
  e.dense_layers = (first + e.every - 1) / e.every * e.every;
  if (model.layers > 0 && e.dense_layers >= model.layers) {
    c.problem("first_k_dense_replace", fmt::format("{} leaves none of {} layers with experts", first, model.layers));
  }
  e.groups = c.integer_or("n_group", 1, "one routing group", 1);
  if (e.count % e.groups != 0) c.problem("n_group", fmt::format("{} does not divide {} experts", e.groups, e.count));
  if (e.dense_layers > 0 || e.every > 1) model.ffn = c.integer("intermediate_size");
  c.skip("intermediate_size");
}

}  // namespace

void read_deepseek_v2(Config& c, ModelSpec& model) {
  read_latent_attention(c, model);
  read_tied(c, model, false);
  read_sparse(c, model);
  // One group is chosen from, whatever n_group says, when the choice is greedy.
  if (c.text_or("topk_method", "greedy", "the family's") == "greedy") model.experts.groups = 1;
  model.experts.routing_bias = false;
}

void read_deepseek_v3(Config& c, ModelSpec& model) {
  read_latent_attention(c, model);
  read_tied(c, model, false);
  read_sparse(c, model);
  model.experts.routing_bias = c.text_or("topk_method", "noaux_tc", "the family's") == "noaux_tc";
  model.prediction_layers = c.integer_or("num_nextn_predict_layers", 0, "no multi-token prediction");
}

}  // namespace stepsim
