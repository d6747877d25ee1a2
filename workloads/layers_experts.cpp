// Mixture of experts: every GPU routes its tokens, sends a copy of each to the GPUs that hold its experts (dispatch),
// runs its own experts on what arrives, and gets the results back (combine). The shared experts stand between the
// dispatch and the routed experts, in both directions, so that they can hide it; the routed experts' weight gradients
// stand behind the backward's return for the same reason.
//
// In the backward pass the gradient of the combine is a dispatch of gradients, in the dispatch's format, and the
// gradient of the dispatch is a combine, in the combine's (DeepSeek-V3's report, section 3.3.3). A token's weight is
// applied in the activation kernel, so that no expert's output has to be kept.
#include "workloads/layer_parts.hpp"

namespace stepsim {
namespace {

double width_of(const LayerShape& s) {
  return static_cast<double>(s.model.experts.ffn) / s.plan.parallel.expert_tensor;
}

Linear expert_linear(const LayerShape& s, bool down) {
  const double h = s.model.hidden, inner = inner_width(s.model, width_of(s));
  const std::string_view up = s.model.ffn_matrices == 3 ? "expert gate_up" : "expert up";
  return {.name = down ? "expert down" : up,
          .rows = s.expert_rows,
          .in = down ? width_of(s) : h,
          .out = down ? h : inner,
          .precision = s.plan.precision.linear,
          .groups = s.local_experts,
          .used = s.share.used};
}

// With the gate of the shared experts in the same product.
Linear router(const LayerShape& s) {
  return {.name = "router",
          .rows = s.routed_tokens,
          .in = static_cast<double>(s.model.hidden),
          .out = s.model.experts.count + (s.model.experts.shared_gate ? 1.0 : 0.0),
          .precision = s.stream};
}

Ffn shared_ffn(const BlockWriter& w) {
  const Experts& e = w.shape().model.experts;
  return {.width = static_cast<double>(e.shared) * e.shared_ffn / w.shape().plan.parallel.tensor,
          .shared = true,
          .recompute = w.recomputes(Module::experts)};
}

bool has_shared(const BlockWriter& w) {
  return w.shape().model.experts.shared > 0;
}

// Scores of every token and expert, FP32, read and written: sigmoid or softmax, top-k.
void select(BlockWriter& w, std::string_view name, const std::vector<int>& needs = {}) {
  w.memory(name, 2 * w.shape().routed_tokens * w.shape().model.experts.count * 4, needs);
}

int exchange(BlockWriter& w, std::string_view name, bool back, Precision format, const std::vector<int>& needs = {}) {
  const LayerShape& s = w.shape();
  return w.call({.name = name,
                 .group = GroupKind::expert,
                 .operation = Operation::all_to_all,
                 .payload = Bytes(s.routed_tokens * activation_row_bytes(s.model.hidden, format)),
                 .routed = true,
                 .back = back && s.unequal,
                 .routing = s.routing,
                 .rows = s.share.rows},
                needs);
}

// All ranks that share an expert's matrices need all its rows: after dispatch each holds top_k rows a token, more or
// fewer as its experts are wanted (one when
// there is no expert parallelism and the rows are copied only after this).
int share(BlockWriter& w, std::string_view name, Operation operation, Precision format, int needs) {
  const LayerShape& s = w.shape();
  const double copies = s.plan.parallel.expert > 1 ? s.model.experts.top_k : 1;
  const double rows = s.routed_tokens * copies * s.plan.parallel.expert_tensor * s.share.rows;
  return w.call({.name = name,
                 .group = GroupKind::expert_tensor,
                 .operation = operation,
                 .payload = Bytes(rows * activation_row_bytes(s.model.hidden, format))},
                {needs});
}

// Without sequence parallelism every tensor rank routed a slice of the tokens: put the slices together.
int join_slices(BlockWriter& w, std::string_view name, const std::vector<int>& needs) {
  const LayerShape& s = w.shape();
  if (s.sequence_parallel()) return -1;
  return w.call({.name = name,
                 .group = GroupKind::tensor,
                 .operation = Operation::all_gather,
                 .payload = Bytes(s.tokens * s.model.hidden * s.stream_bytes)},
                needs);
}

// Rows sorted by expert, or back: read once, written once.
void permute(BlockWriter& w, std::string_view name, Precision format, const std::vector<int>& needs = {}) {
  const LayerShape& s = w.shape();
  w.permutation(name, 2 * s.expert_rows * activation_row_bytes(s.model.hidden, format), needs);
}

// A copy of each token for each of its experts, by destination; or the sum of what came back for it.
void pack(BlockWriter& w, std::string_view name, Precision format, const std::vector<int>& needs = {}) {
  const LayerShape& s = w.shape();
  const double rows = s.routed_tokens * (1 + s.model.experts.top_k);
  if (s.plan.parallel.expert == 1 || !s.plan.collectives.packs_rows()) return;
  w.permutation(name, rows * activation_row_bytes(s.model.hidden, format), needs);
}

// To the linears' format where the rows did not come in it.
void quantise_arrived(BlockWriter& w, int copies) {
  if (w.precision().dispatch == Precision::fp8) return;
  w.quantise(w.shape().expert_rows, w.shape().model.hidden, w.precision().linear, copies);
}

void inner_forward(BlockWriter& w) {
  w.forward(expert_linear(w.shape(), false));
  activation_forward(w, w.shape().expert_rows, width_of(w.shape()));
}

// Returns dispatch and gather: what the experts wait for.
std::vector<int> send(BlockWriter& w, std::string_view name, std::string_view shared_name) {
  const LayerShape& s = w.shape();
  w.quantise(s.routed_tokens, s.model.hidden, w.precision().dispatch, 1);
  pack(w, "pack", w.precision().dispatch);
  const int sent = exchange(w, name, false, w.precision().dispatch);
  return {sent, share(w, shared_name, Operation::all_gather, w.precision().dispatch, sent)};
}

int bring_back(BlockWriter& w, std::string_view name, std::string_view shared_name) {
  const LayerShape& s = w.shape();
  const int reduced = share(w, shared_name, Operation::reduce_scatter, w.precision().combine, -1);
  const int back = exchange(w, name, true, w.precision().combine, {reduced});
  pack(w, "sum of experts", s.stream, {back});
  return back >= 0 ? back : reduced;
}

void experts_input_gradient(BlockWriter& w, const std::vector<int>& arrived) {
  const LayerShape& s = w.shape();
  permute(w, "permute", w.precision().dispatch, arrived);
  w.input_gradient(expert_linear(s, true));
  {
    const PhaseScope scope(w, Phase::recompute);
    if (w.recomputes(Module::experts)) {
      inner_forward(w);
    } else if (w.recomputes(Module::swiglu)) {
      activation_forward(w, s.expert_rows, width_of(s));
    }
  }
  activation_backward(w, s.expert_rows, width_of(s));
  w.input_gradient(expert_linear(s, false));
  permute(w, "unpermute", s.stream);
}

}  // namespace

void experts_forward(BlockWriter& w) {
  const LayerShape& s = w.shape();
  ffn_norm_forward(w);
  w.forward(router(s));
  select(w, "top_k");
  const std::vector<int> arrived = send(w, "dispatch", "expert rows");
  const int shared = has_shared(w) ? ffn_forward(w, shared_ffn(w)) : -1;
  permute(w, "permute", w.precision().dispatch, arrived);
  quantise_arrived(w, 1);
  inner_forward(w);
  const Linear down = expert_linear(s, true);
  w.quantise(down.rows, down.in, down.precision, 1);
  w.forward(down);
  permute(w, "unpermute", s.stream);
  const int back = bring_back(w, "combine", "expert partial sums");
  const int joined = join_slices(w, "expert output", {back});
  if (s.model.norms == 4) norm_forward(w, "ffn post norm", s.rows, s.model.hidden, {back, joined, shared});
  // Routed and shared outputs onto the residual stream.
  const double element = (has_shared(w) ? 4 : 3) * s.stream_bytes + (s.plan.kernels.dropout ? 1 : 0);
  w.memory("residual", s.rows * s.model.hidden * element, {back, joined, shared});
}

void experts_backward(BlockWriter& w) {
  dropout_backward(w);
  const LayerShape& s = w.shape();
  const double h = s.model.hidden;
  sublayer_end_backward(w, "ffn post norm");
  const std::vector<int> arrived = send(w, "combine gradient", "expert partial sums gradient");
  if (w.recomputes(Module::norm)) {
    const PhaseScope scope(w, Phase::recompute);
    ffn_norm_forward(w);
  }
  const int shared = has_shared(w) ? ffn_backward(w, shared_ffn(w)) : -1;
  experts_input_gradient(w, arrived);
  const int back = bring_back(w, "dispatch gradient", "expert rows gradient");
  w.weight_gradient(expert_linear(s, true));
  w.weight_gradient(expert_linear(s, false));
  select(w, "top_k", {back});  // the weights' gradients come back with the tokens'
  w.input_gradient(router(s));
  w.memory("expert gradient sum", (has_shared(w) ? 4 : 3) * s.routed_tokens * h * s.stream_bytes, {back});
  const int joined = join_slices(w, "expert input gradient", {});
  w.weight_gradient(router(s));
  ffn_norm_backward(w, {joined, shared});
}

void experts_activations(BlockWriter& w) {
  dropout_activations(w);
  const LayerShape& s = w.shape();
  const Experts& e = s.model.experts;
  const Precision kept = w.precision().activations;
  const bool all = w.recomputes(Module::experts), activation = all || w.recomputes(Module::swiglu);
  ffn_norm_activations(w);
  w.part(ActivationPart::experts);
  w.keep(s.routed_tokens * (e.count * 4 + e.top_k * 8), {});  // scores; chosen experts and their weights
  w.keep(s.expert_rows * activation_row_bytes(s.model.hidden, kept), {.weight_gradient = true});
  w.keep(s.expert_rows * activation_row_bytes(inner_width(s.model, width_of(s)), kept), {.dropped = all});
  w.keep(s.expert_rows * activation_row_bytes(width_of(s), kept), {.weight_gradient = true, .dropped = activation});
  if (has_shared(w)) ffn_activations(w, shared_ffn(w));
  sublayer_end_activations(w);
}

}  // namespace stepsim
