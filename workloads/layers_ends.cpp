// The two ends of a model: the embedding, and the head with its final norm and loss. Recompute of whole layers leaves
// them alone.
#include "workloads/layer_parts.hpp"
#include "workloads/plan_schedule.hpp"

namespace stepsim {
namespace {

Linear head_linear(const LayerShape& s) {
  return {.name = "head",
          .rows = s.tokens,
          .in = static_cast<double>(s.model.hidden),
          .out = static_cast<double>(s.model.vocabulary) / s.plan.parallel.tensor,
          .precision = s.plan.precision.head};
}

// An operation at a time (Megatron-LM, core/tensor_parallel/cross_entropy.py): the logits cast to FP32, their maximum,
// the difference in place, the exponential in place, its sum, the quotient in place.
void separate_loss_forward(BlockWriter& w, double logits, double element) {
  w.memory("loss cast", logits * (element + 4));
  w.reduction("loss maximum", logits * 4, {logits * 4, 1});
  w.memory("loss difference", logits * 8);
  w.memory("loss exponential", logits * 8);
  w.reduction("loss sum", logits * 4, {logits * 4, 1});
  w.memory("loss quotient", logits * 8);
}

// Vocabulary-parallel cross-entropy, as Megatron-LM runs it: a maximum, the target's logit and a sum of exponentials
// a token over the tensor ranks, FP32.
void loss_forward(BlockWriter& w, const Linear& head) {
  const double logits = head.rows * head.out, element = w.shape().stream_bytes;
  // Two passes over the logits (maximum, sum); the FP32 softmax is written for the backward pass. Unfused: cast to FP32,
  // maximum, difference, exponential, sum, quotient.
  if (w.shape().plan.kernels.loss == Kernels::Loss::separate) {
    separate_loss_forward(w, logits, element);
  } else {
    w.reduction("loss", logits * (2 * element + 4), {logits * (element + 4 + 4 + 8 + 8 + 4 + 8), 6});
  }
  for (std::string_view name : {"loss maximum", "loss target", "loss sum"}) {
    w.call({.name = name,
            .group = GroupKind::tensor,
            .operation = Operation::all_reduce,
            .payload = Bytes(head.rows * 4)});
  }
}

}  // namespace

Block embedding_block(const LayerShape& s) {
  BlockWriter w(s);
  const double h = s.model.hidden, tensor = s.plan.parallel.tensor;
  const double read = s.tokens / tensor * h * bytes_per_element(s.plan.precision.weights);
  w.memory("embedding", read + s.tokens * h * s.stream_bytes);
  w.reduce("embedding output", h);
  w.phase(Phase::weight_gradient);
  const int gathered = w.gather("embedding output gradient", h);
  // Scatter-add of the token's gradients to their rows.
  const double rows = s.tokens / tensor * h * 2 * bytes_per_element(s.plan.precision.gradients);
  w.memory("embedding", rows + s.tokens * h * s.stream_bytes, {gathered});
  const double parameters = s.model.vocabulary * h / tensor + s.model.learned_positions * h;
  return std::move(w).finish(Block::Kind::embedding, {.dense = parameters, .expert = 0});
}

Block head_block(const LayerShape& s) {
  BlockWriter w(s);
  const Linear head = head_linear(s);
  const double h = s.model.hidden, logits = head.rows * head.out;
  const auto norm = [&] { norm_forward(w, "final norm", s.rows, h); };
  norm();
  const int gathered = w.gather("head input", h);
  w.quantise(head.rows, h, head.precision, 1, {gathered});
  w.forward(head, {gathered});
  loss_forward(w, head);

  w.phase(Phase::input_gradient);
  if (s.plan.kernels.loss == Kernels::Loss::separate) {
    w.memory("loss gradient", logits * 8);  // the probabilities times the loss's gradient, in place
    w.memory("loss cast", logits * (4 + s.stream_bytes));
  } else {
    w.elementwise("loss", logits * (4 + s.stream_bytes), {logits * (8 + 4 + s.stream_bytes), 2});
  }
  if (w.recomputes(Module::norm)) {
    const PhaseScope scope(w, Phase::recompute);
    norm();
  }
  const int reduced = column_backward(w, head, {"head input again", "head input gradient"}, h);
  norm_backward(w, "final norm", s.rows, h, {reduced});

  w.part(ActivationPart::head);
  w.keep_input(s.rows * h * s.stream_bytes);
  const double normed = s.rows * h * s.stream_bytes;
  if (w.recomputes(Module::norm)) {
    w.keep(normed, {.weight_gradient = true, .dropped = true});
  } else {
    w.keep_input(normed);
  }
  // The logits and the FP32 softmax, in place where one kernel or Megatron-LM's own function makes it; PyTorch's own loss,
  // an operation at a time, keeps the log-softmax beside its FP32 input, and then beside its FP32 gradient.
  const bool beside = !w.fused() && s.plan.kernels.loss != Kernels::Loss::separate;
  w.logits(logits * (s.stream_bytes + (beside ? 8 : 4)));
  // A tied matrix is the embedding's; pipeline ranks other than the embedding's need their own copy.
  const bool copy = !s.model.tied_embeddings || !ends_meet(s.plan);
  const double parameters = (copy ? s.model.vocabulary * h / s.plan.parallel.tensor : 0) +
                            (s.model.head_bias ? head.out : 0) + norm_width(s.model, h);
  const double partial = s.sequence_parallel() ? norm_width(s.model, h) : 0;
  return std::move(w).finish(Block::Kind::head, {.dense = parameters, .expert = 0, .partial = partial});
}

}  // namespace stepsim
