// Phi 1 and 2: attention and FFN side by side behind one layer norm, biases everywhere. Phi 3 (and 4): as Llama.
#include "workloads/families/families.hpp"

namespace stepsim {

void read_phi(Config& c, ModelSpec& model) {
  read_shape(c, model);
  read_tied(c, model, false);
  read_rotary(c, model, 0.5);
  model.ffn = c.integer("intermediate_size");
  model.ffn_matrices = 2;
  model.attention.qkv_bias = model.attention.output_bias = model.ffn_bias = model.head_bias = true;
  model.norm = ModelSpec::Norm::layer;
  model.norms = 1;
  if (c.boolean_or("qk_layernorm", false, "none")) model.attention.qk_norm = Attention::QkNorm::head;
}

void read_phi3(Config& c, ModelSpec& model) {
  read_shape(c, model);
  read_tied(c, model, false);
  read_rotary(c, model, 1);
  model.ffn = c.integer("intermediate_size");
  read_window(c, model);
}

}  // namespace stepsim
