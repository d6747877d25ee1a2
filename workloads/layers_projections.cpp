// Queries, keys and values: the fused projection of grouped-query attention, and MLA's low-rank ones.
#include "workloads/layer_parts.hpp"

namespace stepsim {
namespace {

// --- grouped-query attention: one column-parallel linear ---

Linear fused_projection(const LayerShape& s) {
  const double out = (s.heads + 2 * s.kv_heads) * s.qk_dim;
  const double share = (s.model.heads + 2.0 * s.model.kv_heads) / s.plan.parallel.tensor * s.qk_dim;
  return {.name = "qkv",
          .rows = s.tokens,
          .in = static_cast<double>(s.model.hidden),
          .out = out,
          .precision = s.plan.precision.linear,
          .useful = share / out};
}

void fused_forward(BlockWriter& w) {
  const Linear qkv = fused_projection(w.shape());
  const int gathered = w.gather("attention input", qkv.in);
  w.quantise(qkv.rows, qkv.in, qkv.precision, 1, {gathered});
  w.forward(qkv, {gathered});
}

void fused_recompute(BlockWriter&) {}

void fused_backward(BlockWriter& w) {
  const LayerShape& s = w.shape();
  if (w.recomputes(Module::norm)) {
    const PhaseScope scope(w, Phase::recompute);
    attention_norm_forward(w);
  }
  const Linear qkv = fused_projection(s);
  const int reduced = column_backward(w, qkv, {"attention input again", "attention input gradient"}, qkv.in);
  norm_backward(w, "attention norm", s.rows, qkv.in, {reduced});
}

void fused_activations(BlockWriter&) {}  // queries, keys and values are the core's

// --- MLA: down to the latents (whole on each tensor rank, as Megatron-LM runs them), norms, up to the heads ---

struct Latents {
  Linear q_a, kv_a;  // between tensor-parallel parts: each rank its rows, or all rows on all ranks
  Linear q_up, kv_b;
  bool compressed_query = false;  // else q_up reads the normed hidden state and q_a does not exist
};

Latents latents(const LayerShape& s) {
  const Attention& a = s.model.attention;
  const double h = s.model.hidden, useful = s.tokens / s.rows / s.plan.parallel.tensor;
  const Precision precision = s.plan.precision.linear;
  Latents l;
  l.compressed_query = a.q_rank > 0;
  const double query_in = l.compressed_query ? a.q_rank : h;
  l.q_a = {.name = "q_a", .rows = s.rows, .in = h, .out = query_in, .precision = precision, .useful = useful};
  l.kv_a = {.name = "kv_a", .rows = s.rows, .in = h, .precision = precision, .useful = useful};
  l.kv_a.out = a.kv_rank + a.rope_dim;
  l.q_up = {.name = l.compressed_query ? "q_b" : "q", .rows = s.tokens, .in = query_in, .precision = precision};
  l.q_up.out = s.heads * s.qk_dim;
  l.kv_b = {.name = "kv_b", .rows = s.tokens, .in = static_cast<double>(a.kv_rank), .precision = precision};
  l.kv_b.out = s.heads * (a.nope_dim + a.v_dim);
  return l;
}

void latent_norms(BlockWriter& w, const Latents& l) {
  if (l.compressed_query) norm_forward(w, "q norm", l.q_a.rows, l.q_a.out);
  norm_forward(w, "kv norm", l.kv_a.rows, l.kv_b.in);
}

void latent_up(BlockWriter& w, const Latents& l) {
  const int query = w.gather(l.compressed_query ? "query latent" : "attention input", l.q_up.in);
  const int key_value = w.gather("key/value latent", l.kv_a.out);
  w.quantise(l.q_up.rows, l.q_up.in, l.q_up.precision, 1, {query});
  w.forward(l.q_up, {query});
  w.quantise(l.kv_b.rows, l.kv_b.in, l.kv_b.precision, 1, {key_value});
  w.forward(l.kv_b, {key_value});
}

void latent_forward(BlockWriter& w) {
  const Latents l = latents(w.shape());
  w.quantise(l.kv_a.rows, l.kv_a.in, l.kv_a.precision, 1);
  if (l.compressed_query) w.forward(l.q_a);
  w.forward(l.kv_a);
  latent_norms(w, l);
  latent_up(w, l);
}

void latent_recompute(BlockWriter& w) {
  const Latents l = latents(w.shape());
  const bool up = w.recomputes(Module::mla_up);
  if (w.recomputes(Module::norm)) {
    if (up && !l.compressed_query) attention_norm_forward(w);
    latent_norms(w, l);
  }
  if (up) latent_up(w, l);
}

void latent_backward(BlockWriter& w) {
  const LayerShape& s = w.shape();
  const Latents l = latents(s);
  if (w.recomputes(Module::norm) && (l.compressed_query || !w.recomputes(Module::mla_up))) {
    const PhaseScope scope(w, Phase::recompute);
    attention_norm_forward(w);
  }
  const ColumnNames query = l.compressed_query ? ColumnNames{"query latent again", "query latent gradient"}
                                               : ColumnNames{"attention input again", "attention input gradient"};
  const int query_reduced = column_backward(w, l.q_up, query, l.q_up.in);
  // The shared rotary key's gradient is summed over the tensor ranks' heads with the latent's.
  const int key_value_reduced =
      column_backward(w, l.kv_b, {"key/value latent again", "key/value latent gradient"}, l.kv_a.out);
  if (l.compressed_query) {
    norm_backward(w, "q norm", l.q_a.rows, l.q_a.out, {query_reduced});
    w.input_gradient(l.q_a);
    w.weight_gradient(l.q_a);
  }
  norm_backward(w, "kv norm", l.kv_a.rows, l.kv_b.in, {key_value_reduced});
  w.input_gradient(l.kv_a);
  w.weight_gradient(l.kv_a);
  norm_backward(w, "attention norm", s.rows, l.kv_a.in, {query_reduced});
}

void latent_activations(BlockWriter& w) {
  const Latents l = latents(w.shape());
  const Precision kept = w.precision().activations;
  const bool norm = w.recomputes(Module::norm);
  const double query = l.compressed_query ? l.q_a.out : 0;
  w.keep(l.kv_a.rows * (query + l.kv_a.out) * w.shape().stream_bytes, {});
  const double rows = activation_row_bytes(query, kept) + activation_row_bytes(l.kv_b.in, kept);
  w.keep(l.kv_a.rows * rows, {.weight_gradient = true, .dropped = norm});
}

}  // namespace

Projections grouped_query_projections() {
  return {.forward = fused_forward,
          .recompute = fused_recompute,
          .backward = fused_backward,
          .activations = fused_activations};
}

Projections latent_projections() {
  return {.forward = latent_forward,
          .recompute = latent_recompute,
          .backward = latent_backward,
          .activations = latent_activations};
}

int column_backward(BlockWriter& w, const Linear& linear, const ColumnNames& names, double width) {
  int again = -1;
  {
    const PhaseScope scope(w, Phase::weight_gradient);
    again = w.gather(names.again, linear.in);
  }
  w.input_gradient(linear);
  const int reduced = w.reduce(names.gradient, width);
  w.weight_gradient(linear, {again});
  return reduced;
}

}  // namespace stepsim
