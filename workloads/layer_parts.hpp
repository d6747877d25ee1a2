// The parts of a block, each as the items it runs forward and backward and the activations it keeps. A `..._forward`
// in phase recompute repeats that part.
#pragma once

#include "workloads/block_writer.hpp"

namespace stepsim {

// Attention from the residual stream back to it: norm, projections, core, output projection, residual.
void attention_forward(BlockWriter& w);
void attention_backward(BlockWriter& w);
void attention_activations(BlockWriter& w);

// From the normed input to queries, keys and values of the tensor rank's heads; one file a kind of attention.
struct Projections {
  void (*forward)(BlockWriter&);
  void (*recompute)(BlockWriter&);  // what the plan's recompute modules ask for before the core's backward
  void (*backward)(BlockWriter&);   // input gradient of the norm's output included
  void (*activations)(BlockWriter&);
};
Projections grouped_query_projections();
Projections latent_projections();
void attention_norm_forward(BlockWriter& w);

// The end of attention or of an FFN: its output, once `needs` has come, normed where the model does so (Gemma 2), onto the
// residual stream.
void sublayer_end_forward(BlockWriter& w, std::string_view post_norm, int needs);
void sublayer_end_backward(BlockWriter& w, std::string_view post_norm);
void sublayer_end_activations(BlockWriter& w);

// Core attention without flash (layers_unfused.cpp): the scores of all heads in memory.
bool is_unfused(const LayerShape& s);
void unfused_forward(BlockWriter& w, const std::vector<int>& needs);
void unfused_backward(BlockWriter& w, const std::vector<int>& needs);
double unfused_kept_bytes(const LayerShape& s);  // between the passes, beside queries, keys, values and output

// A column-parallel linear's backward, as Megatron-LM orders it: the input gathered again for the weight gradient
// (sequence parallelism), input gradient, its reduction (`width` elements a token), weight gradient beside it.
// Returns the reduction.
struct ColumnNames {
  std::string_view again, gradient;
};
int column_backward(BlockWriter& w, const Linear& linear, const ColumnNames& names, double width);

// A feed-forward network of `width` on this tensor rank, between gather and reduction.
struct Ffn {
  double width = 0;
  bool shared = false;              // the shared experts: other names
  bool recompute = false;           // all of it, from its input
  bool recompute_norm_too = false;  // its input as well
};
int ffn_forward(BlockWriter& w, const Ffn& ffn);   // returns the reduction of the output
int ffn_backward(BlockWriter& w, const Ffn& ffn);  // returns the reduction of the input's gradient
void ffn_activations(BlockWriter& w, const Ffn& ffn);
// The norm before an FFN; nothing where FFN and attention share theirs.
void ffn_norm_forward(BlockWriter& w);
void ffn_norm_backward(BlockWriter& w, const std::vector<int>& needs);
void ffn_norm_activations(BlockWriter& w);
// The inner activation over `rows` of `width`: SwiGLU reads two halves, GELU one.
double inner_width(const ModelSpec& model, double width);
std::string_view inner_name(const ModelSpec& model, bool shared);
void activation_forward(BlockWriter& w, double rows, double width);
void activation_backward(BlockWriter& w, double rows, double width);

void dense_forward(BlockWriter& w);
void dense_backward(BlockWriter& w);
void dense_activations(BlockWriter& w);

// Router, dispatch, shared and routed experts, combine.
void experts_forward(BlockWriter& w);
void experts_backward(BlockWriter& w);
void experts_activations(BlockWriter& w);

Block embedding_block(const LayerShape& shape);
Block head_block(const LayerShape& shape);
// Behind the head the modules of multi-token prediction; `layer`: the block of one like the model's last.
void add_prediction(Block& head, const LayerShape& shape, const Block& layer);

}  // namespace stepsim
