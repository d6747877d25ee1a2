// gpt-oss: experts in every layer, biases everywhere, a sink a head, a window in every other layer.
#include "workloads/families/families.hpp"

namespace stepsim {

void read_gpt_oss(Config& c, ModelSpec& model) {
  read_shape(c, model);
  read_tied(c, model, false);
  read_experts(c, model, "num_local_experts", "intermediate_size");
  c.skip("experts_per_token");  // num_experts_per_tok once more
  read_window(c, model, {true, false});
  Attention& a = model.attention;
  a.qkv_bias = a.output_bias = c.boolean_or("attention_bias", true, "the family's");
  a.sinks = true;
  model.experts.bias = true;
  model.experts.routing_bias = true;
}

}  // namespace stepsim
