// GLM 4.5 and later with experts: grouped-query attention, else routed like DeepSeek V3.
#include <fmt/format.h>

#include "workloads/families/families.hpp"

namespace stepsim {

void read_glm4_moe(Config& c, ModelSpec& model) {
  read_shape(c, model);
  read_tied(c, model, false);
  read_rotary(c, model, 0.5);
  model.attention.qkv_bias = c.boolean_or("attention_bias", false, "no biases");  // the output's projection has none
  if (c.boolean_or("use_qk_norm", false, "none")) model.attention.qk_norm = Attention::QkNorm::head;
  read_experts(c, model, "n_routed_experts", "moe_intermediate_size");
  Experts& e = model.experts;
  e.shared = c.integer_or("n_shared_experts", 1, "the family's");
  e.shared_ffn = e.shared > 0 ? e.ffn : 0;
  e.dense_layers = c.integer_or("first_k_dense_replace", 1, "the family's");
  if (model.layers > 0 && e.dense_layers >= model.layers) {
    c.problem("first_k_dense_replace", fmt::format("{} leaves none of {} layers with experts", e.dense_layers, model.layers));
  }
  e.groups = c.integer_or("n_group", 1, "one routing group", 1);
  if (e.count % e.groups != 0) c.problem("n_group", fmt::format("{} does not divide {} experts", e.groups, e.count));
  e.routing_bias = true;
  if (e.dense_layers > 0) model.ffn = c.integer("intermediate_size");
  c.skip("intermediate_size");
  model.prediction_layers = c.integer_or("num_nextn_predict_layers", 0, "no multi-token prediction");
}

}  // namespace stepsim
