// What one GPU sees of a layer and one microbatch under a plan: every size after every sharding.
#pragma once

#include "workloads/model.hpp"
#include "workloads/plan.hpp"
#include "workloads/routing.hpp"

namespace stepsim {

struct LayerShape {
  ModelSpec model;
  ParallelPlan plan;

  double sequences = 0;  // of a microbatch
  double tokens = 0;     // of a microbatch, after context parallelism: what tensor-parallel linears work on
  double rows = 0;       // between them (norms, residual stream): tokens, or tokens / tensor with sequence parallelism
  double routed_tokens = 0;        // that this GPU sends to experts: tokens / tensor (without sequence parallelism each
                                   // tensor rank routes its slice, and the outputs are gathered)
  double heads = 0, kv_heads = 0;  // of this tensor rank; key/value heads are repeated where there are fewer than ranks
  double qk_dim = 0, v_dim = 0;    // of a head

  // Core attention: ring keeps the rank's queries and all its heads; all-to-all trades them for whole sequences.
  double core_queries = 0;  // a sequence
  double core_heads = 0, core_kv_heads = 0;
  bool windowed = false;    // a layer of sliding-window attention
  double average_keys = 0;  // a query sees under the causal mask (context ranks hold balanced halves)

  double expert_rows = 0;  // rows of all local experts together, after gathering over expert-tensor ranks
  double local_experts = 0;
  int routing = 0;                // which of expert_routing()'s loads; changes the collectives when `unequal`
  bool unequal = false;
  ExpertShare share;              // of this GPU; all ones when experts are alike

  // Format of the residual stream and of whatever linears hand on: that of attention, but never below 16 bits.
  Precision stream = Precision::bf16;
  double stream_bytes = 2;

  bool sequence_parallel() const { return plan.parallel.sequence && plan.parallel.tensor > 1; }
  bool latent() const { return model.attention.kind == Attention::Kind::mla; }
};

LayerShape layer_shape(const ModelSpec& model, const ParallelPlan& plan, bool windowed = false);

}  // namespace stepsim
