#include "workloads/layers.hpp"

#include <map>
#include <utility>

#include "workloads/chunks.hpp"
#include "workloads/layer_parts.hpp"
#include "workloads/shards.hpp"

namespace stepsim {
namespace {

// The router works on a slice of the tokens with and without sequence parallelism.
double partial_parameters(const LayerShape& s, bool experts) {
  if (s.plan.parallel.tensor == 1) return 0;
  double sum = experts ? s.model.experts.count * static_cast<double>(s.model.hidden) : 0;
  if (!s.sequence_parallel()) return sum;
  sum += norm_parameters(s.model);
  for (const Matrix& matrix : attention_matrices(s.model)) {
    if (matrix.replicated) sum += matrix.size();
    if (matrix.bias && (matrix.replicated || matrix.name == "o")) sum += matrix.out;
  }
  if (experts) return sum + (s.model.experts.shared_gate ? s.model.hidden : 0);
  return sum + (s.model.ffn_bias ? s.model.hidden : 0);
}

BlockParameters layer_parameters(const LayerShape& s, bool experts) {
  const ModelSpec& model = s.model;
  const Experts& e = model.experts;
  const Parallel& p = s.plan.parallel;
  BlockParameters parameters;
  for (const Matrix& matrix : attention_matrices(model)) {
    // Key/value heads repeat where there are more tensor ranks than heads.
    const double out = matrix.name == "qkv" ? (s.heads + 2 * s.kv_heads) * s.qk_dim * p.tensor : matrix.out;
    parameters.dense += matrix.in * out / (matrix.replicated ? 1 : p.tensor);
    // A row-parallel linear adds its bias after the reduction: every rank has all of it.
    const bool whole_bias = matrix.replicated || matrix.name == "o";
    if (matrix.bias) parameters.dense += whole_bias ? out : out / p.tensor;
  }
  if (model.attention.sinks) parameters.dense += s.heads;
  parameters.dense += norm_parameters(model);
  parameters.partial = partial_parameters(s, experts);
  if (!experts) {
    parameters.dense += ffn_parameters(model, model.ffn) / p.tensor;
    if (model.ffn_bias) parameters.dense += (model.ffn_matrices - 1.0) * model.ffn / p.tensor + model.hidden;
    return parameters;
  }
  parameters.dense += e.count * (model.hidden + (e.has_routing_bias() ? 1.0 : 0.0));
  parameters.dense += e.shared * ffn_parameters(model, e.shared_ffn) / p.tensor + (e.shared_gate ? model.hidden : 0);
  parameters.expert = s.local_experts * ffn_parameters(model, e.ffn) / p.expert_tensor;
  if (e.bias) {
    const double width = static_cast<double>(e.ffn) / p.expert_tensor;
    parameters.expert += s.local_experts * ((model.ffn_matrices - 1.0) * width + model.hidden);
  }
  return parameters;
}

Block layer_block(const LayerShape& s, bool experts) {
  BlockWriter w(s);
  attention_forward(w);
  (experts ? experts_forward : dense_forward)(w);
  if (s.plan.recompute.full) w.repeat_forward();
  w.phase(Phase::input_gradient);
  (experts ? experts_backward : dense_backward)(w);
  attention_backward(w);
  attention_activations(w);
  (experts ? experts_activations : dense_activations)(w);
  const Block::Kind kind = experts ? Block::Kind::expert_layer : Block::Kind::dense_layer;
  return std::move(w).finish(kind, layer_parameters(s, experts));
}

Block make_block(const LayerShape& s, Block::Kind kind) {
  switch (kind) {
    case Block::Kind::embedding:
      return embedding_block(s);
    case Block::Kind::head:
      return head_block(s);
    case Block::Kind::dense_layer:
      return layer_block(s, false);
    case Block::Kind::expert_layer:
      return layer_block(s, true);
  }
  return {};
}

// The shape of a layer whose experts have these loads, on that rank of an expert group.
LayerShape routed(LayerShape shape, const ExpertRouting& routing, int loads, int expert_rank) {
  shape.routing = loads;
  shape.unequal = !routing.loads[loads].empty();
  shape.share = share_of(routing.loads[loads], shape.model.experts.top_k, shape.plan.parallel.expert, expert_rank);
  shape.expert_rows *= shape.share.rows;
  return shape;
}

}  // namespace

BlockList make_blocks(const ModelSpec& model, const ParallelPlan& plan, int expert_rank) {
  const LayerShape plain = layer_shape(model, plan), windowed = layer_shape(model, plan, true);
  const ExpertRouting routing = expert_routing(model, plan);
  struct Kind {
    Block::Kind kind;
    int loads = 0;  // the layer's
    bool windowed = false;
    bool recomputes = true;
    auto operator<=>(const Kind&) const = default;
  };
  const auto routed_or_alike = [&](const LayerShape& shape, int loads) {
    return expert_rank == kAlike ? shape : routed(shape, routing, loads, expert_rank);
  };
  std::vector<Kind> order{{Block::Kind::embedding}};
  for (int layer = 0; layer < model.layers; ++layer) {
    const Block::Kind kind = model.has_experts(layer) ? Block::Kind::expert_layer : Block::Kind::dense_layer;
    order.push_back({kind, routing.of_layer[layer], model.has_window(layer), plan.recompute.applies_to(layer, model.layers)});
  }
  order.push_back({Block::Kind::head});
  BlockList list;
  std::map<Kind, int> index;
  for (const Kind& kind : order) {
    const auto [at, fresh] = index.try_emplace(kind, static_cast<int>(list.kinds.size()));
    const LayerShape& shape = kind.windowed ? windowed : plain;
    LayerShape here = routed_or_alike(shape, kind.loads);
    if (!kind.recomputes) here.plan.recompute = {};
    if (fresh) {
      Block block = make_block(here, kind.kind);
      if (kind.kind == Block::Kind::head && plan.multi_token_prediction) {
        const int last = model.layers - 1;
        LayerShape like_last = routed_or_alike(model.has_window(last) ? windowed : plain, routing.of_layer[last]);
        if (!plan.recompute.applies_to(last, model.layers)) like_last.plan.recompute = {};
        add_prediction(block, here, layer_block(like_last, model.has_experts(last)));
      }
      add_copies_of_shards(block, plan);
      const int chunks = plan.overlap.tensor_chunks;
      list.kinds.push_back(chunks > 1 ? chunk_tensor_collectives(block, chunks) : std::move(block));
    }
    list.kind_of.push_back(at->second);
  }
  return list;
}

Kernel optimizer_kernel(double parameters, const Precisions& precision) {
  const auto bytes = [](Precision p) { return bytes_per_element(p); };
  // Reads the gradient; reads and writes two moments and the master weight (without one, the weight itself); writes
  // the weight.
  double each = bytes(precision.gradients) + 4 * bytes(precision.moments) + bytes(precision.weights);
  each += precision.master == Precision::none ? bytes(precision.weights) : 2 * bytes(precision.master);
  Kernel kernel{.name = "adam", .kind = KernelClass::memory};
  kernel.precision = Precision::fp32;
  kernel.bytes = Bytes(parameters * each);
  return kernel;
}

std::vector<Kernel> optimizer_kernels(double parameters, const ParallelPlan& plan) {
  using Optimizer = Kernels::Optimizer;
  const auto memory = [&](std::string_view name, double bytes_each) {
    Kernel kernel{.name = name, .kind = KernelClass::memory};
    kernel.precision = Precision::fp32;
    kernel.bytes = Bytes(parameters * bytes_each);
    return kernel;
  };
  const Optimizer how = plan.kernels.optimizer;
  const Precision master = plan.precision.master == Precision::none ? plan.precision.weights : plan.precision.master;
  const double element = bytes_per_element(master);
  std::vector<Kernel> kernels;
  if (how != Optimizer::one_pass && plan.clip_gradients) kernels.push_back(memory("clip gradients", 2 * element));
  if (how == Optimizer::separate) {
    kernels.push_back(memory("adam", 22 * element));
    return kernels;
  }
  Precisions seen = plan.precision;
  if (how == Optimizer::masters) seen.gradients = master;
  kernels.push_back(optimizer_kernel(parameters, seen));
  if (how == Optimizer::masters && seen.master != Precision::none) kernels.push_back(memory("copy to weights", element));
  return kernels;
}

}  // namespace stepsim
