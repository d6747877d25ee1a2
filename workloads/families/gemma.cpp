// Gemma: wide heads, tied embeddings; Gemma 2: norms on both sides, a window in every other layer; Gemma 3: norms of
// queries and keys, a window in five of six.
#include "workloads/families/families.hpp"

namespace stepsim {
namespace {

// Heads are 256 wide in all of the family's classes where a config does not say.
void read_common(Config& c, ModelSpec& model, const ShapeDefaults& defaults = {.head_dim = 256}, int ffn = 0) {
  read_shape(c, model, defaults);
  read_tied(c, model, true);
  model.ffn = c.integer_unless_0("intermediate_size", ffn);
  Attention& a = model.attention;
  a.qkv_bias = a.output_bias = c.boolean_or("attention_bias", false, "no biases");
}

}  // namespace

void read_gemma(Config& c, ModelSpec& model) {
  read_common(c, model);
}

void read_gemma2(Config& c, ModelSpec& model) {
  read_common(c, model);
  model.norms = 4;
  read_window(c, model, {true, false});
}

// The defaults are those of the transformers library's Gemma3TextConfig.
void read_gemma3(Config& c, ModelSpec& model) {
  read_common(c, model,
              {.layers = 26, .hidden = 2304, .vocabulary = 262'208, .heads = 8, .kv_heads = 4, .head_dim = 256}, 9216);
  model.norms = 4;
  model.attention.qk_norm = Attention::QkNorm::head;
  const int period = c.integer_or(c.has("_sliding_window_pattern") ? "_sliding_window_pattern" : "sliding_window_pattern", 6,
                                  "the family's", 1);
  std::vector<bool> pattern(static_cast<std::size_t>(period), true);
  pattern.back() = false;
  read_window(c, model, std::move(pattern), 4096);
}

}  // namespace stepsim
