// Llama 1 to 3 and what copies it; Mistral 7B differs in its window.
#include "workloads/families/families.hpp"

namespace stepsim {

void read_llama(Config& c, ModelSpec& model) {
  read_shape(c, model);
  read_tied(c, model, false);
  model.ffn = c.integer("intermediate_size");
  Attention& a = model.attention;
  a.qkv_bias = a.output_bias = c.boolean_or("attention_bias", false, "no biases");
  model.ffn_bias = c.boolean_or("mlp_bias", false, "no biases");
}

void read_mistral(Config& c, ModelSpec& model) {
  read_shape(c, model);
  read_tied(c, model, false);
  model.ffn = c.integer("intermediate_size");
  read_window(c, model);
}

}  // namespace stepsim
