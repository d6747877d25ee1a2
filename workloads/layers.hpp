// Model + plan -> the kernels and collectives of each block of the model, per GPU and microbatch, forward and backward.
#pragma once

#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "sim/collective/algorithm.hpp"
#include "sim/cost/kernel.hpp"
#include "sim/graph/step_graph.hpp"
#include "workloads/activations.hpp"
#include "workloads/model.hpp"
#include "workloads/plan.hpp"

namespace stepsim {

// Which group a block's collective runs in.
enum class GroupKind : std::uint8_t { tensor, context, expert, expert_tensor };

struct CollectiveCall {
  std::string_view name;  // a literal: "dispatch", "combine", "attention output"
  GroupKind group = GroupKind::tensor;
  Operation operation = Operation::all_reduce;
  Bytes payload;        // as sim/collective/algorithm.hpp defines it for the operation
  bool routed = false;  // all_to_all with token routing: payload is one copy of each of the rank's tokens
  // Unequal experts, of a routed call:
  bool back = false;  // combine: copies go back the way they came (with equal experts both ways are the same)
  int routing = 0;    // which of expert_routing()'s loads
  double rows = 1;    // that this rank's experts get, over those when all experts are alike

  bool operator==(const CollectiveCall&) const = default;
};

// One thing a GPU does in a block, in program order. `needs` names earlier collectives of the same list (by index)
// whose result it uses; everything else it uses was computed earlier on the same GPU.
struct Item {
  std::variant<Kernel, CollectiveCall> what;
  Phase phase = Phase::forward;  // forward | recompute | input_gradient | weight_gradient | optimizer
  std::vector<int> needs;

  bool operator==(const Item&) const = default;
};

// Parameters one rank holds of a block before data-parallel sharding (after tensor and expert sharding).
struct BlockParameters {
  double dense = 0;   // replicated over data x context
  double expert = 0;  // routed experts: replicated over the expert-data ranks
  double partial = 0; // of dense: every tensor rank holds all of them and sees only its rows (norms, router, biases
                      // after a reduction and what MLA keeps whole, under sequence parallelism): gradients are summed over the tensor ranks
  // Norms and router are part of dense. Precision: `weights` for linears, as the plan says.
};

// One block: the embedding (index 0), a layer (1..layers), or the head with its final norm and loss (layers + 1).
struct Block {
  enum class Kind : std::uint8_t { embedding, dense_layer, expert_layer, head } kind = Kind::dense_layer;
  std::vector<Item> forward;
  std::vector<Item> backward;  // recompute, input_gradient and weight_gradient items in the order of a full backward;
                               // a split backward runs the items of recompute + input_gradient, later weight_gradient
  ActivationBytes activations;
  BlockParameters parameters;
};

// Token counts and shapes come from plan.batch, plan.parallel (tensor, context, expert, expert_tensor, sequence); for
// each of the kinds of block that the model has, one Block; equal blocks are shared: blocks_of(...)[kind_of[i]].
struct BlockList {
  std::vector<Block> kinds;
  std::vector<int> kind_of;  // [block index 0..layers+1]
  const Block& block(int index) const { return kinds[kind_of[index]]; }
  int size() const { return static_cast<int>(kind_of.size()); }
};
// With unequal experts, as the ranks of that place in their expert groups see them; kAlike: as if experts were equal, in
// the same kinds of block.
inline constexpr int kAlike = -1;
BlockList make_blocks(const ModelSpec& model, const ParallelPlan& plan, int expert_rank = kAlike);

// The optimizer step over `parameters` parameters held by this rank after sharding: reads gradients, moments, master
// weights, writes moments, master, weights (precisions of the plan).
Kernel optimizer_kernel(double parameters, const Precisions& precision);

// The optimizer after the gradients' norm, as plan.kernels.optimizer has it, over that many parameters. one_pass:
// optimizer_kernel() alone. masters: gradients of the masters clipped (read, written), read by Adam, and the masters copied
// to the weights. separate: clipped, then Adam's formula an operation at a time (MosaicML's DecoupledAdamW,
// composer/optim/decoupled_weight_decay.py): 22 passes over a moment, a gradient or a weight of 4 bytes.
std::vector<Kernel> optimizer_kernels(double parameters, const ParallelPlan& plan);

// Whether the head's rank has a copy of the embedding, or is one: a pipeline's ends then sum its gradients.
bool shares_embedding(const ModelSpec& model, const ParallelPlan& plan);

// What multi-token prediction adds to a token's forward pass, all its layers.
double prediction_flops_per_token(const ModelSpec& model, int sequence_length, bool causal = true);

// FLOPs of a token, whole model, with causal attention unless told: forward (2 a multiply-add), input embedding not
// counted, (S+1)/2 average keys a query under a causal mask.
double forward_flops_per_token(const ModelSpec& model, int sequence_length, bool causal = true);

}  // namespace stepsim
