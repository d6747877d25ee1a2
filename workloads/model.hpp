// ModelSpec: a transformer language model, by its shapes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/base/fields.hpp"

namespace stepsim {

struct Attention {
  enum class Kind { gqa, mla };
  Kind kind = Kind::gqa;
  // Multi-head latent attention (DeepSeek-V2/V3): ranks of the compressed query (0: not compressed) and key/value, and
  // the parts of a head: rope_dim + nope_dim make the query/key head, v_dim the value head.
  int q_rank = 0, kv_rank = 0, rope_dim = 0, nope_dim = 0, v_dim = 0;

  bool qkv_bias = false;     // a bias on the queries', keys' and values' projections (MLA: on q_a and kv_a, as DeepSeek)
  bool output_bias = false;  // on the output's projection
  // A norm of queries and keys after their projections: one weight an element of a head, shared by the heads (Qwen3),
  // or of the whole width (OLMo 2). MLA norms its latents instead, always.
  enum class QkNorm { none, head, whole } qk_norm = QkNorm::none;
  bool sinks = false;  // a learned logit a head that takes part in the softmax (gpt-oss)
  // Sliding-window attention: a query of a windowed layer sees at most `window` keys, itself among them. 0: none does.
  int window = 0;
  std::vector<bool> windowed = {};  // the layers' pattern, repeated; empty: all layers are, when there is a window

  bool operator==(const Attention&) const = default;
};

struct Experts {
  int count = 0;         // routed experts a layer; 0: a dense model
  int top_k = 0;         // experts a token goes to
  int ffn = 0;           // width of a routed expert
  int shared = 0;        // shared experts
  int shared_ffn = 0;    // width of each
  int dense_layers = 0;  // the first layers are dense
  int every = 1;         // of the rest, each `every`-th layer has experts
  int groups = 1;        // routing groups (node-limited routing)
  std::vector<int> also_dense = {};  // further layers without experts, 0-based
  // A number an expert beside the router's matrix: a linear's bias, or that of auxiliary-loss-free balancing (DeepSeek-V3's
  // report, section 2.1.2). Not said: assumption that models with grouped routing have it and others do not.
  std::optional<bool> routing_bias = std::nullopt;
  bool bias = false;         // on the routed experts' matrices
  bool shared_gate = false;  // the shared experts' output is scaled by a linear of the token, one output (Qwen2-MoE)

  bool operator==(const Experts&) const = default;
  bool has_routing_bias() const { return routing_bias.value_or(groups > 1); }
};

struct ModelSpec {
  std::string name;
  int layers = 0;
  int hidden = 0;
  int vocabulary = 0;
  bool tied_embeddings = false;
  int heads = 0;
  int kv_heads = 0;
  int head_dim = 0;  // of queries and keys
  Attention attention;
  int ffn = 0;
  int ffn_matrices = 3;  // 3 gated (SwiGLU), 2 plain (GELU)
  bool ffn_bias = false;  // on the matrices of dense FFNs
  Experts experts;
  enum class Norm { rms, layer } norm = Norm::rms;  // a weight an element; layer norms have a bias too
  // Norms a layer: 1, attention and FFN side by side read the same one (Phi-2); 2, one before each; 4, another after
  // each, before the residual (Gemma 2).
  int norms = 2;
  double rotary = 1;          // part of a head's width that rotary embedding turns; 0: no rotary embedding
  int learned_positions = 0;  // rows of a learned position table (GPT-2); 0: none
  bool head_bias = false;
  int prediction_layers = 0;  // layers of multi-token prediction (DeepSeek-V3): counted apart, trained where the plan says so

  bool operator==(const ModelSpec&) const = default;

  int value_dim() const { return attention.kind == Attention::Kind::mla ? attention.v_dim : head_dim; }
  // Of 0-based layers.
  bool has_experts(int layer) const;
  bool has_window(int layer) const;
};

// Keys a query sees on average under a causal mask, in a windowed layer or not: (S + 1) / 2 without a window; the first
// W - 1 queries see fewer than W. Not causal: S, or W.
double average_keys(const ModelSpec& model, int sequence_length, bool windowed, bool causal = true);

// Parameters, whole model. Counted is what a checkpoint of the model holds: every matrix and bias, the norms' weights (two
// norms a layer, those of queries, keys and MLA's latents, the final one), the routing bias, a learned position table; that
// is the convention of DeepSeek-V3's 671,026,419,200. A tied head counts once. Layers of multi-token prediction are not
// part of the total.
struct ParameterCount {
  double embedding = 0, head = 0, positions = 0;
  double attention = 0, norms = 0, dense_ffn = 0, router = 0, routed_experts = 0, shared_experts = 0;  // all layers
  double routing_bias = 0;
  double biases = 0;  // of linears, and attention's sinks
  double total() const {
    return embedding + head + positions + attention + norms + dense_ffn + router + routing_bias + routed_experts +
           shared_experts + biases;
  }
  double active = 0;                    // used by one token, input embedding included
  double active_without_embedding = 0;  // the same without the input embedding (a tied matrix stays: it is the head)
  double prediction = 0;                // multi-token prediction: its layers, their projections and norms, no embedding
};
ParameterCount count_parameters(const ModelSpec& model);

// One weight matrix, [in, out].
struct Matrix {
  std::string_view name;  // a literal: "q_a"
  double in = 0, out = 0;
  bool replicated = false;  // whole on every tensor-parallel rank (MLA's down-projections, as Megatron-LM runs them)
  bool bias = false;        // `out` numbers more
  double size() const { return in * out; }

  bool operator==(const Matrix&) const = default;
};
// The projections of one attention module: qkv and o; or q_a, q_b (one "q" without a query rank), kv_a, kv_b and o.
std::vector<Matrix> attention_matrices(const ModelSpec& model);
double ffn_parameters(const ModelSpec& model, double width);  // matrices of one FFN or expert of that width
double ffn_biases(const ModelSpec& model, double width);      // of one that has them
double norm_parameters(const ModelSpec& model);               // of one layer
double norm_width(const ModelSpec& model, double width);      // parameters of one norm of that many elements

// Reads a model: YAML (keys as in workloads/models, all checked against each other: kv_heads divides heads, top_k <=
// count, ...) or a Hugging Face config.json (or the folder that holds it), told apart by their keys (families.hpp). Problems
// go to `reading`; the result is only meaningful when there are none.
ModelSpec read_model(Reading& reading, const std::string& path, const std::vector<Override>& overrides);

// The model's YAML: keys that have their default are left out. Reading it gives the model back.
std::string to_yaml(const ModelSpec& model);
// The file that is read for a model: the config.json of a checkpoint's folder, else what is named.
std::string model_file(const std::string& named);

}  // namespace stepsim
