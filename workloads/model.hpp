// ModelSpec: a transformer language model, by its shapes.
#pragma once

#include <cstdint>
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

  bool operator==(const Experts&) const = default;
  // A balancing bias an expert beside the router's matrix (auxiliary-loss-free balancing, DeepSeek-V3's report, section
  // 2.1.2). Assumption: models with grouped routing have it, others do not.
  bool has_routing_bias() const { return groups > 1; }
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
  Experts experts;

  bool operator==(const ModelSpec&) const = default;

  int value_dim() const { return attention.kind == Attention::Kind::mla ? attention.v_dim : head_dim; }
  bool has_experts(int layer) const {  // 0-based layer
    return experts.count > 0 && layer >= experts.dense_layers && (layer - experts.dense_layers) % experts.every == 0;
  }
};

// Parameters, whole model. Counted: every matrix, one weight an element of each norm (two norms a layer, those of MLA's
// latents, the final one) and the routing bias; that is the convention of DeepSeek-V3's 671,026,419,200. Not counted:
// biases of linears and norms, learned positions. A tied head counts once.
struct ParameterCount {
  double embedding = 0, head = 0;
  double attention = 0, norms = 0, dense_ffn = 0, router = 0, routed_experts = 0, shared_experts = 0;  // all layers
  double routing_bias = 0;
  double total() const {
    return embedding + head + attention + norms + dense_ffn + router + routing_bias + routed_experts + shared_experts;
  }
  double active = 0;                    // used by one token, input embedding included
  double active_without_embedding = 0;  // the same without the input embedding (a tied matrix stays: it is the head)
};
ParameterCount count_parameters(const ModelSpec& model);

// One weight matrix, [in, out].
struct Matrix {
  std::string_view name;  // a literal: "q_a"
  double in = 0, out = 0;
  bool replicated = false;  // whole on every tensor-parallel rank (MLA's down-projections, as Megatron-LM runs them)
  double size() const { return in * out; }

  bool operator==(const Matrix&) const = default;
};
// The projections of one attention module: qkv and o; or q_a, q_b (one "q" without a query rank), kv_a, kv_b and o.
std::vector<Matrix> attention_matrices(const ModelSpec& model);
double ffn_parameters(const ModelSpec& model, double width);  // of one FFN or expert of that width
double norm_parameters(const ModelSpec& model);               // of one layer

// Reads a model's YAML (keys as in workloads/models, all checked against each other: kv_heads divides heads, top_k <=
// count, ...). Problems go to `reading`; the result is only meaningful when there are none.
ModelSpec read_model(Reading& reading, const std::string& path, const std::vector<Override>& overrides);

}  // namespace stepsim
