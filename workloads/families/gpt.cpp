// GPT-2 and GPT-NeoX: layer norms, plain FFNs, biases everywhere.
#include <fmt/format.h>

#include "workloads/families/families.hpp"

namespace stepsim {
namespace {

void read_plain(ModelSpec& model) {
  model.ffn_matrices = 2;
  model.norm = ModelSpec::Norm::layer;
  model.attention.qkv_bias = model.attention.output_bias = model.ffn_bias = true;
}

}  // namespace

void read_gpt2(Config& c, ModelSpec& model) {
  model.layers = c.integer(c.named({"n_layer", "num_hidden_layers"}));
  model.hidden = c.integer(c.named({"n_embd", "hidden_size"}));
  model.heads = model.kv_heads = c.integer(c.named({"n_head", "num_attention_heads"}));
  model.vocabulary = c.integer("vocab_size");
  model.learned_positions = c.integer(c.named({"n_positions", "max_position_embeddings"}));
  c.skip("n_ctx");
  model.rotary = 0;
  model.ffn = c.integer_or("n_inner", 4 * model.hidden, "4 n_embd", 1);
  read_tied(c, model, true);
  read_plain(model);
  if (model.heads == 0) return;
  if (model.hidden % model.heads != 0) c.problem("n_head", fmt::format("{} does not divide n_embd {}", model.heads, model.hidden));
  model.head_dim = model.hidden / model.heads;
}

void read_gpt_neox(Config& c, ModelSpec& model) {
  read_shape(c, model);
  read_tied(c, model, false);
  model.ffn = c.integer("intermediate_size");
  model.rotary = c.number_or("rotary_pct", 0.25, "the family's", 1);
  read_plain(model);
  model.attention.qkv_bias = model.attention.output_bias = c.boolean_or("attention_bias", true, "the family's");
  if (c.boolean_or("use_parallel_residual", true, "the family's")) {
    c.note("attention and FFN stand side by side in this model; they are simulated one after the other, which costs one "
           "more pass over the residual stream");
  }
}

}  // namespace stepsim
