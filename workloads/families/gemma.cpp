// Gemma: wide heads, tied embeddings; Gemma 2: norms on both sides, a window in every other layer; Gemma 3: norms of
// queries and keys, a window in five of six.
#include "workloads/families/families.hpp"

namespace stepsim {
namespace {

void read_common(Config& c, ModelSpec& model) {
  read_shape(c, model);
  read_tied(c, model, true);
  model.ffn = c.integer("intermediate_size");
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

void read_gemma3(Config& c, ModelSpec& model) {
  read_common(c, model);
  model.norms = 4;
  model.attention.qk_norm = Attention::QkNorm::head;
  const int period = c.integer_or(c.has("_sliding_window_pattern") ? "_sliding_window_pattern" : "sliding_window_pattern", 6,
                                  "the family's", 1);
  std::vector<bool> pattern(static_cast<std::size_t>(period), true);
  pattern.back() = false;
  read_window(c, model, std::move(pattern));
}

}  // namespace stepsim
