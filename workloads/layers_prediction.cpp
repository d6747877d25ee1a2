// Multi-token prediction (DeepSeek-V3's report, section 2.2): behind the model's head, for each further token a module of
// the embedding of the token before it and the hidden state of the module before, each normed, side by side and projected
// to one hidden state; a layer like the model's last one; and the model's own head with a final norm and a loss of its own.
// All of it runs where the head does. Over tensor ranks the projection is whole on each, for its own rows (assumption).
#include <algorithm>

#include "workloads/layer_parts.hpp"
#include "workloads/plan_schedule.hpp"

namespace stepsim {
namespace {

// `more` behind what is there: forward after it, backward before it.
void put_behind(Block& block, const Block& more) {
  const auto shifted = [](std::vector<Item> items, std::size_t by) {
    for (Item& item : items) {
      for (int& need : item.needs) need += static_cast<int>(by);
    }
    return items;
  };
  const std::vector<Item> forward = shifted(more.forward, block.forward.size());
  block.forward.insert(block.forward.end(), forward.begin(), forward.end());
  const std::vector<Item> backward = shifted(block.backward, more.backward.size());
  block.backward = more.backward;
  block.backward.insert(block.backward.end(), backward.begin(), backward.end());
  block.parameters.dense += more.parameters.dense;
  block.parameters.expert += more.parameters.expert;
  block.parameters.partial += more.parameters.partial;
  // While what is behind runs, there and back, the logits before it wait for their backward pass.
  ActivationBytes& a = block.activations;
  const ActivationBytes& b = more.activations;
  a.transient = std::max(a.transient, a.logits + b.transient);
  a.logits += b.logits;
  a.kept += b.kept;
  a.weight_grad_kept += b.weight_grad_kept;
  for (std::size_t i = 0; i < kActivationParts; ++i) a.kept_by[i] += b.kept_by[i];
}

Block projection_block(const LayerShape& s) {
  BlockWriter w(s);
  const double h = s.model.hidden, tensor = s.plan.parallel.tensor;
  Linear projection{.name = "prediction", .rows = s.rows, .in = 2 * h, .out = h, .precision = s.plan.precision.linear};
  if (!s.sequence_parallel()) projection.useful = 1 / tensor;
  const auto norms = [&] {
    norm_forward(w, "embedding norm", s.rows, h);
    norm_forward(w, "hidden norm", s.rows, h);
  };
  norms();
  w.quantise(s.rows, 2 * h, projection.precision, 1);
  w.forward(projection);
  w.phase(Phase::input_gradient);
  if (w.recomputes(Module::norm)) {
    const PhaseScope scope(w, Phase::recompute);
    norms();
  }
  w.input_gradient(projection);
  w.weight_gradient(projection);
  norm_backward(w, "hidden norm", s.rows, h);
  norm_backward(w, "embedding norm", s.rows, h);
  w.part(ActivationPart::head);
  w.keep_input(2 * s.rows * h * s.stream_bytes);
  w.keep(s.rows * activation_row_bytes(2 * h, w.precision().activations), {.weight_gradient = true, .dropped = w.recomputes(Module::norm)});
  const double parameters = 2 * h * h + 2 * norm_width(s.model, h);
  return std::move(w).finish(Block::Kind::head, {.dense = parameters, .partial = tensor > 1 ? parameters : 0});
}

}  // namespace

bool shares_embedding(const ModelSpec& model, const ParallelPlan& plan) {
  return model.tied_embeddings || (plan.multi_token_prediction && model.prediction_layers > 0);
}

void add_prediction(Block& head, const LayerShape& shape, const Block& layer) {
  const bool there = ends_meet(shape.plan) || shape.model.tied_embeddings;  // the embedding, or the head that is its copy
  const Block own_head = head_block(shape);
  for (int depth = 0; depth < shape.model.prediction_layers; ++depth) {
    Block module = embedding_block(shape);
    if (there || depth > 0) module.parameters = {};
    if (!there && depth == 0) module.parameters.dense -= shape.model.learned_positions * static_cast<double>(shape.model.hidden);
    put_behind(module, projection_block(shape));
    put_behind(module, layer);
    Block again = own_head;
    const double norm = norm_width(shape.model, shape.model.hidden);
    again.parameters = {.dense = norm, .expert = 0, .partial = shape.sequence_parallel() ? norm : 0};
    put_behind(module, again);
    put_behind(head, module);
  }
}

}  // namespace stepsim
