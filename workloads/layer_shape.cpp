#include "workloads/layer_shape.hpp"

#include <algorithm>

namespace stepsim {
namespace {

void fill_attention(LayerShape& shape) {
  const ModelSpec& model = shape.model;
  const Parallel& p = shape.plan.parallel;
  shape.heads = static_cast<double>(model.heads) / p.tensor;
  shape.kv_heads = shape.latent() ? shape.heads : std::max(1.0, static_cast<double>(model.kv_heads) / p.tensor);
  shape.qk_dim = shape.latent() ? model.attention.rope_dim + model.attention.nope_dim : model.head_dim;
  shape.v_dim = model.value_dim();
  const double length = shape.plan.batch.sequence_length;
  const bool exchange = p.context > 1 && p.context_method == Parallel::ContextMethod::all_to_all;
  shape.core_queries = exchange ? length : length / p.context;
  shape.core_heads = exchange ? shape.heads / p.context : shape.heads;
  shape.core_kv_heads = exchange ? std::max(1.0, shape.kv_heads / p.context) : shape.kv_heads;
  shape.average_keys = average_keys(model, shape.plan.batch.sequence_length, shape.windowed);
}

}  // namespace

LayerShape layer_shape(const ModelSpec& model, const ParallelPlan& plan, bool windowed) {
  const Parallel& p = plan.parallel;
  LayerShape shape;
  shape.model = model;
  shape.plan = plan;
  shape.windowed = windowed;
  shape.sequences = plan.batch.sequences();
  shape.tokens = shape.sequences * plan.batch.sequence_length / p.context;
  shape.rows = shape.sequence_parallel() ? shape.tokens / p.tensor : shape.tokens;
  shape.routed_tokens = shape.tokens / p.tensor;
  shape.expert_rows = shape.routed_tokens * model.experts.top_k * p.expert_tensor;
  shape.local_experts = static_cast<double>(model.experts.count) / p.expert;
  const bool wide = plan.precision.attention == Precision::fp32 || plan.precision.attention == Precision::tf32;
  const bool half = plan.precision.attention == Precision::fp16;
  shape.stream = wide ? Precision::fp32 : half ? Precision::fp16 : Precision::bf16;
  shape.stream_bytes = bytes_per_element(shape.stream);
  fill_attention(shape);
  return shape;
}

}  // namespace stepsim
