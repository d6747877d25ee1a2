// Parameters and FLOPs a token, from a model's shapes alone.
#include "workloads/layers.hpp"
#include "workloads/model.hpp"

namespace stepsim {
namespace {

int expert_layers(const ModelSpec& model) {
  int count = 0;
  for (int layer = 0; layer < model.layers; ++layer) count += model.has_experts(layer) ? 1 : 0;
  return count;
}

double attention_parameters(const ModelSpec& model) {
  double sum = 0;
  for (const Matrix& matrix : attention_matrices(model)) sum += matrix.size();
  return sum;
}

double query_key_width(const ModelSpec& model) {
  const bool latent = model.attention.kind == Attention::Kind::mla;
  return latent ? model.attention.rope_dim + model.attention.nope_dim : model.head_dim;
}

std::vector<Matrix> latent_matrices(const ModelSpec& model) {
  const Attention& a = model.attention;
  const double h = model.hidden, heads = model.heads, query = heads * query_key_width(model);
  std::vector<Matrix> matrices;
  if (a.q_rank > 0) {
    matrices.push_back({.name = "q_a", .in = h, .out = static_cast<double>(a.q_rank), .replicated = true});
    matrices.push_back({.name = "q_b", .in = static_cast<double>(a.q_rank), .out = query});
  } else {
    matrices.push_back({.name = "q", .in = h, .out = query});
  }
  const double rank = a.kv_rank;
  matrices.push_back({.name = "kv_a", .in = h, .out = rank + a.rope_dim, .replicated = true});
  matrices.push_back({.name = "kv_b", .in = rank, .out = heads * (a.nope_dim + a.v_dim)});
  matrices.push_back({.name = "o", .in = heads * a.v_dim, .out = h});
  return matrices;
}

}  // namespace

std::vector<Matrix> attention_matrices(const ModelSpec& model) {
  if (model.attention.kind == Attention::Kind::mla) return latent_matrices(model);
  const double h = model.hidden, head = model.head_dim;
  return {{.name = "qkv", .in = h, .out = (model.heads + 2.0 * model.kv_heads) * head},
          {.name = "o", .in = model.heads * head, .out = h}};
}

double ffn_parameters(const ModelSpec& model, double width) {
  return model.ffn_matrices * (model.hidden * width);
}

double norm_parameters(const ModelSpec& model) {
  const Attention& a = model.attention;
  return 2.0 * model.hidden + (a.kind == Attention::Kind::mla ? a.q_rank + a.kv_rank : 0);
}

ParameterCount count_parameters(const ModelSpec& model) {
  const Experts& e = model.experts;
  const double h = model.hidden, routed = expert_layers(model), dense = model.layers - routed;
  ParameterCount count;
  count.embedding = model.vocabulary * h;
  count.head = model.tied_embeddings ? 0 : count.embedding;
  count.attention = model.layers * attention_parameters(model);
  count.norms = model.layers * norm_parameters(model) + h;
  count.dense_ffn = dense * ffn_parameters(model, model.ffn);
  count.router = routed * (e.count * h);
  count.routing_bias = e.has_routing_bias() ? routed * e.count : 0;
  count.routed_experts = routed * e.count * ffn_parameters(model, e.ffn);
  count.shared_experts = routed * e.shared * ffn_parameters(model, e.shared_ffn);
  const double idle = routed * (e.count - e.top_k) * ffn_parameters(model, e.ffn);  // experts a token does not visit
  count.active = count.total() - idle;
  count.active_without_embedding = count.active - (model.tied_embeddings ? 0 : count.embedding);
  return count;
}

double forward_flops_per_token(const ModelSpec& model, int sequence_length, bool causal) {
  const ParameterCount count = count_parameters(model);
  const double head = static_cast<double>(model.vocabulary) * model.hidden;
  const double matrices = count.active - count.embedding - count.head - count.norms - count.routing_bias + head;
  const double keys = causal ? (sequence_length + 1.0) / 2 : sequence_length;
  const double widths = query_key_width(model) + model.value_dim();
  return 2 * matrices + 2.0 * model.layers * model.heads * widths * keys;
}

}  // namespace stepsim
