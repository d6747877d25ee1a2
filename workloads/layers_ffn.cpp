// Dense feed-forward networks: a model's dense layers and the shared experts.
#include "workloads/layer_parts.hpp"

namespace stepsim {
namespace {

Linear inner_linear(const LayerShape& s, const Ffn& ffn) {
  return {.name = inner_name(s.model, ffn.shared),
          .rows = s.tokens,
          .in = static_cast<double>(s.model.hidden),
          .out = inner_width(s.model, ffn.width),
          .precision = s.plan.precision.linear};
}

Linear down_linear(const LayerShape& s, const Ffn& ffn) {
  return {.name = ffn.shared ? "shared down" : "down",
          .rows = s.tokens,
          .in = ffn.width,
          .out = static_cast<double>(s.model.hidden),
          .precision = s.plan.precision.linear};
}

// From the input to the activation's output.
void inner_forward(BlockWriter& w, const Ffn& ffn) {
  const Linear inner = inner_linear(w.shape(), ffn);
  const int gathered = w.gather(ffn.shared ? "shared input" : "ffn input", inner.in);
  w.quantise(inner.rows, inner.in, inner.precision, 1, {gathered});
  w.forward(inner, {gathered});
  activation_forward(w, inner.rows, ffn.width);
}

void recompute_norm(BlockWriter& w) {
  const PhaseScope scope(w, Phase::recompute);
  ffn_norm_forward(w);
}

Ffn dense_ffn(const BlockWriter& w) {
  return {.width = static_cast<double>(w.shape().model.ffn) / w.shape().plan.parallel.tensor,
          .recompute = w.recomputes(Module::ffn),
          .recompute_norm_too = w.recomputes(Module::norm)};
}

}  // namespace

double inner_width(const ModelSpec& model, double width) {
  return (model.ffn_matrices - 1) * width;
}

std::string_view inner_name(const ModelSpec& model, bool shared) {
  if (model.ffn_matrices == 3) return shared ? "shared gate_up" : "gate_up";
  return shared ? "shared up" : "up";
}

void activation_forward(BlockWriter& w, double rows, double width) {
  // Unfused: SiLU and product; bias and GELU.
  const ModelSpec& model = w.shape().model;
  const double element = w.shape().stream_bytes, all = rows * width * element;
  const bool gated = model.ffn_matrices == 3;
  w.elementwise(gated ? "swiglu" : "gelu", rows * (inner_width(model, width) + width) * element,
                {(gated ? 5 : 4) * all, 2});
}

void activation_backward(BlockWriter& w, double rows, double width) {
  // Unfused: two products and SiLU's own; GELU's and the bias's.
  const ModelSpec& model = w.shape().model;
  const double element = w.shape().stream_bytes, all = rows * width * element;
  const bool gated = model.ffn_matrices == 3;
  w.elementwise(gated ? "swiglu" : "gelu", rows * (2 * inner_width(model, width) + width) * element,
                {(gated ? 9 : 4) * all, gated ? 3 : 2});
}

void ffn_norm_forward(BlockWriter& w) {
  if (w.shape().model.norms > 1) norm_forward(w, "ffn norm", w.shape().rows, w.shape().model.hidden);
}

void ffn_norm_backward(BlockWriter& w, const std::vector<int>& needs) {
  if (w.shape().model.norms == 1) return residual_add(w, needs);  // the gradients of both readers of the one norm
  norm_backward(w, "ffn norm", w.shape().rows, w.shape().model.hidden, needs);
  residual_add(w);
}

void ffn_norm_activations(BlockWriter& w) {
  const LayerShape& s = w.shape();
  if (s.model.norms == 1) return;
  w.part(ActivationPart::norm);
  w.keep(s.rows * s.model.hidden * s.stream_bytes, {});  // the norm's input
  w.keep(s.rows * activation_row_bytes(s.model.hidden, w.precision().activations),
         {.weight_gradient = true, .dropped = w.recomputes(Module::norm)});
}

void sublayer_end_forward(BlockWriter& w, std::string_view post_norm, int needs) {
  const LayerShape& s = w.shape();
  if (s.model.norms < 4) return residual_add(w, {needs});
  norm_forward(w, post_norm, s.rows, s.model.hidden, {needs});
  residual_add(w);
}

void sublayer_end_backward(BlockWriter& w, std::string_view post_norm) {
  const LayerShape& s = w.shape();
  if (s.model.norms == 4) norm_backward(w, post_norm, s.rows, s.model.hidden);
}

void sublayer_end_activations(BlockWriter& w) {
  const LayerShape& s = w.shape();
  w.part(ActivationPart::norm);
  if (s.model.norms == 4) w.keep(s.rows * s.model.hidden * s.stream_bytes, {});  // the post norm's input
}

int ffn_forward(BlockWriter& w, const Ffn& ffn) {
  inner_forward(w, ffn);
  const Linear down = down_linear(w.shape(), ffn);
  w.quantise(down.rows, down.in, down.precision, 1);
  w.forward(down);
  return w.reduce(ffn.shared ? "shared output" : "ffn output", down.out);
}

int ffn_backward(BlockWriter& w, const Ffn& ffn) {
  const Linear inner = inner_linear(w.shape(), ffn), down = down_linear(w.shape(), ffn);
  const int gathered = w.gather(ffn.shared ? "shared output gradient" : "ffn output gradient", down.out);
  w.input_gradient(down, {gathered});
  if (w.recomputes(Module::alternate) && !ffn.recompute && w.shape().model.ffn_matrices == 3) {
    const PhaseScope scope(w, Phase::recompute);
    Linear up = inner;
    up.out = ffn.width;
    w.forward(up);
  }
  if (ffn.recompute) {
    if (ffn.recompute_norm_too) recompute_norm(w);
    const PhaseScope scope(w, Phase::recompute);
    inner_forward(w, ffn);
  } else if (w.recomputes(Module::swiglu)) {
    const PhaseScope scope(w, Phase::recompute);
    activation_forward(w, down.rows, ffn.width);
  }
  w.weight_gradient(down, {gathered});
  activation_backward(w, down.rows, ffn.width);
  if (ffn.recompute_norm_too && !ffn.recompute) recompute_norm(w);
  const ColumnNames names = ffn.shared ? ColumnNames{"shared input again", "shared input gradient"}
                                       : ColumnNames{"ffn input again", "ffn input gradient"};
  return column_backward(w, inner, names, inner.in);
}

void ffn_activations(BlockWriter& w, const Ffn& ffn) {
  const LayerShape& s = w.shape();
  const Precision kept = w.precision().activations;
  const bool activation = ffn.recompute || w.recomputes(Module::swiglu);
  w.part(ffn.shared ? ActivationPart::experts : ActivationPart::ffn);
  w.keep(s.tokens * activation_row_bytes(inner_width(s.model, ffn.width), kept), {.dropped = ffn.recompute});
  w.keep(s.tokens * activation_row_bytes(ffn.width, kept), {.weight_gradient = true, .dropped = activation});
}

void dense_forward(BlockWriter& w) {
  ffn_norm_forward(w);
  sublayer_end_forward(w, "ffn post norm", ffn_forward(w, dense_ffn(w)));
}

void dense_backward(BlockWriter& w) {
  dropout_backward(w);
  sublayer_end_backward(w, "ffn post norm");
  ffn_norm_backward(w, {ffn_backward(w, dense_ffn(w))});
}

void dense_activations(BlockWriter& w) {
  dropout_activations(w);
  ffn_norm_activations(w);
  ffn_activations(w, dense_ffn(w));
  sublayer_end_activations(w);
}

}  // namespace stepsim
