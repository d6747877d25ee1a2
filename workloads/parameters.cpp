// Parameters and FLOPs a token, from a model's shapes alone.
#include <algorithm>

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

// Of the attention of one layer; sinks included.
double attention_biases(const ModelSpec& model) {
  double sum = model.attention.sinks ? model.heads : 0;
  for (const Matrix& matrix : attention_matrices(model)) sum += matrix.bias ? matrix.out : 0;
  return sum;
}

double query_key_width(const ModelSpec& model) {
  const bool latent = model.attention.kind == Attention::Kind::mla;
  return latent ? model.attention.rope_dim + model.attention.nope_dim : model.head_dim;
}

ModelSpec one_like_the_last(const ModelSpec& model) {
  ModelSpec layer = model;
  layer.layers = 1;
  layer.prediction_layers = layer.experts.dense_layers = 0;
  layer.experts.also_dense.clear();
  if (!model.has_experts(model.layers - 1)) layer.experts = {};
  return layer;
}

// A layer as the last one, the projection of two hidden states to one, and three norms (DeepSeek-V3's report, section 2.2;
// embedding and head are the model's own).
double prediction_parameters(const ModelSpec& model) {
  if (model.prediction_layers == 0) return 0;
  const ParameterCount count = count_parameters(one_like_the_last(model));
  const double h = model.hidden, ends = count.embedding + count.head + count.positions + norm_width(model, h);
  const double head_bias = model.head_bias ? model.vocabulary : 0;
  return model.prediction_layers * (count.total() - ends - head_bias + 2 * h * h + 3 * norm_width(model, h));
}

std::vector<Matrix> latent_matrices(const ModelSpec& model) {
  const Attention& a = model.attention;
  const double h = model.hidden, heads = model.heads, query = heads * query_key_width(model);
  std::vector<Matrix> matrices;
  if (a.q_rank > 0) {
    matrices.push_back({.name = "q_a", .in = h, .out = static_cast<double>(a.q_rank), .replicated = true,
                        .bias = a.qkv_bias});
    matrices.push_back({.name = "q_b", .in = static_cast<double>(a.q_rank), .out = query});
  } else {
    matrices.push_back({.name = "q", .in = h, .out = query});
  }
  const double rank = a.kv_rank;
  matrices.push_back(
      {.name = "kv_a", .in = h, .out = rank + a.rope_dim, .replicated = true, .bias = a.qkv_bias});
  matrices.push_back({.name = "kv_b", .in = rank, .out = heads * (a.nope_dim + a.v_dim)});
  matrices.push_back({.name = "o", .in = heads * a.v_dim, .out = h, .bias = a.output_bias});
  return matrices;
}

}  // namespace

std::vector<Matrix> attention_matrices(const ModelSpec& model) {
  if (model.attention.kind == Attention::Kind::mla) return latent_matrices(model);
  const double h = model.hidden, head = model.head_dim;
  return {{.name = "qkv", .in = h, .out = (model.heads + 2.0 * model.kv_heads) * head,
           .bias = model.attention.qkv_bias},
          {.name = "o", .in = model.heads * head, .out = h, .bias = model.attention.output_bias}};
}

double ffn_parameters(const ModelSpec& model, double width) {
  return model.ffn_matrices * (model.hidden * width);
}

double ffn_biases(const ModelSpec& model, double width) {
  return (model.ffn_matrices - 1) * width + model.hidden;
}

double norm_width(const ModelSpec& model, double width) {
  return model.norm == ModelSpec::Norm::layer ? 2 * width : width;
}

double norm_parameters(const ModelSpec& model) {
  const Attention& a = model.attention;
  double width = static_cast<double>(model.norms) * model.hidden;
  if (a.kind == Attention::Kind::mla) width += a.q_rank + a.kv_rank;
  if (a.qk_norm == Attention::QkNorm::head) width += 2.0 * model.head_dim;
  if (a.qk_norm == Attention::QkNorm::whole) width += (model.heads + model.kv_heads) * static_cast<double>(model.head_dim);
  return norm_width(model, width);
}

ParameterCount count_parameters(const ModelSpec& model) {
  const Experts& e = model.experts;
  const double h = model.hidden, routed = expert_layers(model), dense = model.layers - routed;
  ParameterCount count;
  count.embedding = model.vocabulary * h;
  count.head = model.tied_embeddings ? 0 : count.embedding;
  count.positions = model.learned_positions * h;
  count.attention = model.layers * attention_parameters(model);
  count.norms = model.layers * norm_parameters(model) + norm_width(model, h);
  count.dense_ffn = dense * ffn_parameters(model, model.ffn);
  count.router = routed * (e.count * h);
  count.routing_bias = e.has_routing_bias() ? routed * e.count : 0;
  count.routed_experts = routed * e.count * ffn_parameters(model, e.ffn);
  count.shared_experts = routed * (e.shared * ffn_parameters(model, e.shared_ffn) + (e.shared_gate ? h : 0));
  const double expert_bias = e.bias ? ffn_biases(model, e.ffn) : 0;
  count.biases = model.layers * attention_biases(model) + (model.ffn_bias ? dense * ffn_biases(model, model.ffn) : 0) +
                 routed * e.count * expert_bias + (model.head_bias ? model.vocabulary : 0);
  const double idle = routed * (e.count - e.top_k) * (ffn_parameters(model, e.ffn) + expert_bias);  // not visited by a token
  count.active = count.total() - idle;
  count.active_without_embedding = count.active - count.positions - (model.tied_embeddings ? 0 : count.embedding);
  count.prediction = prediction_parameters(model);
  return count;
}

double forward_flops_per_token(const ModelSpec& model, int sequence_length, bool causal) {
  const double widths = query_key_width(model) + model.value_dim();
  double keys = 0;
  for (int layer = 0; layer < model.layers; ++layer) {
    keys += average_keys(model, sequence_length, model.has_window(layer), causal);
  }
  const ParameterCount count = count_parameters(model);
  const Experts& e = model.experts;
  const double visited = e.count > 0 ? count.routed_experts * e.top_k / e.count : 0;
  const double head = static_cast<double>(model.vocabulary) * model.hidden;
  const double matrices = count.attention + count.dense_ffn + count.router + visited + count.shared_experts + head;
  return 2 * matrices + 2.0 * model.heads * widths * keys;
}

double prediction_flops_per_token(const ModelSpec& model, int sequence_length, bool causal) {
  if (model.prediction_layers == 0) return 0;
  const int last = model.layers - 1;
  ModelSpec layer = one_like_the_last(model);
  layer.attention.windowed = {model.has_window(last)};
  const double h = model.hidden;
  return model.prediction_layers * (forward_flops_per_token(layer, sequence_length, causal) + 2 * 2 * h * h);
}

double average_keys(const ModelSpec& model, int sequence_length, bool windowed, bool causal) {
  const double length = sequence_length;
  const double window = windowed ? std::min<double>(model.attention.window, length) : length;
  return causal ? window - window * (window - 1) / (2 * length) : window;
}

bool ModelSpec::has_experts(int layer) const {
  if (experts.count == 0 || layer < experts.dense_layers || (layer - experts.dense_layers) % experts.every != 0) return false;
  return std::find(experts.also_dense.begin(), experts.also_dense.end(), layer) == experts.also_dense.end();
}

bool ModelSpec::has_window(int layer) const {
  if (attention.window == 0) return false;
  return attention.windowed.empty() || attention.windowed[static_cast<std::size_t>(layer) % attention.windowed.size()];
}

}  // namespace stepsim
