// Core attention as trainers ran it before flash attention (Megatron-LM's core attention, 2021): a batched product of
// queries and keys, a fused kernel for scale, causal mask and softmax, maybe dropout, a batched product with the values.
// All scores stand in memory and all are computed, those behind the mask too.
#include "workloads/layer_parts.hpp"

namespace stepsim {
namespace {

double scores(const LayerShape& s) {
  return s.core_queries * s.plan.batch.sequence_length * s.core_heads * s.sequences;
}

// A product of every head: [rows, inner] x [inner, columns]. Reads and writes `elements` of the stream's format.
void product(BlockWriter& w, std::string_view name, double rows, double columns, double inner, double elements,
             const std::vector<int>& needs = {}) {
  const LayerShape& s = w.shape();
  Kernel kernel{.name = name, .kind = KernelClass::gemm};
  kernel.precision = s.plan.precision.attention;
  kernel.groups = s.core_heads * s.sequences;
  kernel.m = rows * kernel.groups;
  kernel.n = columns;
  kernel.k = inner;
  kernel.flops = Flops(2 * kernel.m * columns * inner);
  // The model's arithmetic needs what the mask leaves.
  kernel.model_flops = kernel.flops * (s.average_keys / s.plan.batch.sequence_length);
  kernel.bytes = Bytes(elements * s.stream_bytes);
  w.kernel(kernel, needs);
}

double queries(const LayerShape& s) { return s.tokens * s.heads * s.qk_dim; }
double keys(const LayerShape& s) { return s.tokens * s.kv_heads * s.qk_dim; }
double values(const LayerShape& s) { return s.tokens * s.kv_heads * s.v_dim; }
double outputs(const LayerShape& s) { return s.tokens * s.heads * s.v_dim; }

}  // namespace

bool is_unfused(const LayerShape& s) { return s.plan.kernels.attention == Kernels::Attention::unfused; }

void unfused_forward(BlockWriter& w, const std::vector<int>& needs) {
  const LayerShape& s = w.shape();
  const double length = s.plan.batch.sequence_length, all = scores(s), element = s.stream_bytes;
  product(w, "scores", s.core_queries, length, s.qk_dim, queries(s) + keys(s) + all, needs);
  // Megatron-LM's masked softmax reads the half of the scores before the mask and writes all probabilities. Unfused:
  // scale, mask (a byte a score), softmax.
  w.reduction("softmax", 1.5 * all * element, {all * (6 * element + 1), 3});
  if (s.plan.kernels.dropout) w.memory("attention dropout", all * (2 * element + 1));
  product(w, "weighted values", s.core_queries, s.v_dim, length, all + values(s) + outputs(s));
}

void unfused_backward(BlockWriter& w, const std::vector<int>& needs) {
  const LayerShape& s = w.shape();
  const double length = s.plan.batch.sequence_length, all = scores(s), element = s.stream_bytes;
  product(w, "value gradient", length, s.v_dim, s.core_queries, all + outputs(s) + values(s), needs);
  product(w, "probability gradient", s.core_queries, length, s.v_dim, outputs(s) + values(s) + all);
  if (s.plan.kernels.dropout) w.memory("attention dropout", all * (2 * element + 1));
  w.reduction("softmax", 3 * all * element, {all * (7 * element + 1), 3});
  product(w, "query gradient", s.core_queries, s.qk_dim, length, all + keys(s) + queries(s));
  product(w, "key gradient", length, s.qk_dim, s.core_queries, all + queries(s) + keys(s));
  w.gradient(2 * all * element);
}

// The probabilities; with dropout their mask and what it leaves of them too.
double unfused_kept_bytes(const LayerShape& s) {
  return scores(s) * (s.plan.kernels.dropout ? 2 * s.stream_bytes + 1 : s.stream_bytes);
}

}  // namespace stepsim
