// Memory of a pipeline rank: states from what it holds, activations by walking its passes in their order.
#include "workloads/memory.hpp"

#include <algorithm>
#include <functional>
#include <numeric>
#include <variant>

namespace stepsim {
namespace {

double bytes_of(Precision precision) {
  return bytes_per_element(precision);
}

// Every block the rank holds, once for each chunk (DualPipe's rank holds two stages).
std::vector<const Block*> blocks_of_rank(const Schedule& schedule, const BlockList& blocks,
                                         const std::vector<std::vector<int>>& stage_blocks, int rank) {
  std::vector<const Block*> held;
  for (int stage : schedule.placement[rank]) {
    for (int index : stage_blocks[stage]) held.push_back(&blocks.block(index));
  }
  return held;
}

// Weights, gradients, optimizer states. ZeRO shards master weights and moments from stage 1, gradients from 2, weights
// from 3 (Rajbhandari et al., "ZeRO", section 5); gradients stay whole where they are reduced once a step (a pipeline).
void add_states(MemoryUse& use, const ParallelPlan& plan, const std::vector<const Block*>& held,
                const ShardDegrees& shards) {
  double dense = 0, expert = 0;
  for (const Block* block : held) {
    dense += block->parameters.dense;
    expert += block->parameters.expert;
  }
  const double whole = dense + expert, cut = dense / shards.dense + expert / shards.expert;
  const int zero = plan.parallel.zero;
  const Precisions& p = plan.precision;
  use.weights = Bytes((zero >= 3 ? cut : whole) * bytes_of(p.weights));
  use.gradients = Bytes((plan.parallel.reduces_each_microbatch() ? cut : whole) * bytes_of(p.gradients));
  use.master = Bytes((zero >= 1 ? cut : whole) * bytes_of(p.master));
  use.moments = Bytes((zero >= 1 ? cut : whole) * 2 * bytes_of(p.moments));
}

// Parameters of a block that stand whole only while they are needed.
double sharded_parameters(const Block& block, const ShardDegrees& shards) {
  return (shards.dense > 1 ? block.parameters.dense : 0) + (shards.expert > 1 ? block.parameters.expert : 0);
}

// ZeRO-3: the gathered parameters of the running block and of those prefetched, the largest ones, in the format they
// travel in; without resharding after the forward pass, of all blocks. ZeRO-2 and 3: the whole gradient of the block
// that is being reduced.
Bytes unsharded(const ParallelPlan& plan, const std::vector<const Block*>& held, const ShardDegrees& shards) {
  std::vector<double> sizes;
  for (const Block* block : held) sizes.push_back(sharded_parameters(*block, shards));
  std::sort(sizes.begin(), sizes.end(), std::greater<>());
  double bytes = 0;
  if (plan.parallel.zero >= 3) {
    const std::size_t flying = static_cast<std::size_t>(1 + plan.overlap.gather_prefetch);
    const std::size_t count = plan.parallel.reshard_after_forward ? std::min(flying, sizes.size()) : sizes.size();
    bytes += std::accumulate(sizes.begin(), sizes.begin() + static_cast<std::ptrdiff_t>(count), 0.0) *
             bytes_of(plan.precision.gather);
  }
  if (plan.parallel.reduces_each_microbatch() && !sizes.empty()) bytes += sizes.front() * bytes_of(plan.precision.gradients);
  return Bytes(bytes);
}

// Pipeline messages: for each neighbour of a stage one buffer to receive and one to send, of the chunk with most
// neighbours (one pass runs at a time).
double pipeline_buffers(const ParallelPlan& plan, const Schedule& schedule, const ModelSpec& model, int rank) {
  if (schedule.ranks() == 1) return 0;
  const Parallel& p = plan.parallel;
  const double tokens = plan.batch.sequences() * plan.batch.sequence_length / p.context;
  const double rows = p.sequence ? tokens / p.tensor : tokens;
  int neighbours = 0;
  for (int stage : schedule.placement[rank]) {
    neighbours = std::max(neighbours, (stage > 0 ? 1 : 0) + (stage + 1 < schedule.stages ? 1 : 0));
  }
  return 2 * neighbours * rows * activation_row_bytes(model.hidden, plan.precision.pipeline);
}

// What arrives at a GPU by one collective. Routed tokens: with equal experts as many copies arrive as leave, at most one
// for each chosen expert and each rank of the group; with others as many more or fewer as rows, at most all tokens.
double arriving(const CollectiveCall& call, const ParallelPlan& plan, const ModelSpec& model) {
  if (call.operation == Operation::all_gather) return call.payload.value;
  if (call.operation != Operation::all_to_all) return 0;
  if (!call.routed) return call.payload.value;
  return call.payload.value * std::min(model.experts.top_k * call.rows, static_cast<double>(plan.parallel.expert));
}

// Room for what a block's collectives bring: the largest gathered tensor, and one arrival of each of its forward
// all-to-alls (dispatch and combine have buffers of their own). Of the block with most.
double collective_buffers(const std::vector<const Block*>& held, const ParallelPlan& plan, const ModelSpec& model) {
  double largest = 0;
  for (const Block* block : held) {
    double gathered = 0, exchanged = 0;
    for (const Item& item : block->forward) {
      const CollectiveCall* call = std::get_if<CollectiveCall>(&item.what);
      if (call == nullptr) continue;
      const double bytes = arriving(*call, plan, model);
      if (call->operation == Operation::all_gather) {
        gathered = std::max(gathered, bytes);
      } else {
        exchanged += bytes;
      }
    }
    largest = std::max(largest, gathered + exchanged);
  }
  return largest;
}

// Activations of one microbatch in one stage.
struct StageActivations {
  double kept = 0, weight_grad_kept = 0;
  double transient = 0;  // of its widest block: blocks run one after another
};

StageActivations activations_of(const BlockList& blocks, const std::vector<int>& indices) {
  StageActivations sum;
  for (int index : indices) {
    const ActivationBytes& a = blocks.block(index).activations;
    sum.kept += a.kept.value;
    sum.weight_grad_kept += a.weight_grad_kept.value;
    sum.transient = std::max(sum.transient, a.transient.value);
  }
  return sum;
}

// Walks the passes; a forward pass adds what it keeps, a backward pass frees it when it ends, an input gradient leaves
// what its weight gradient needs. Passes of a pair run together, so both transients count at once.
void add_activations(MemoryUse& use, const std::vector<StageActivations>& chunks, const std::vector<Pass>& order) {
  double held = 0, peak = -1, pair_transient = 0, pair_freed = 0;
  for (const Pass& pass : order) {
    const StageActivations& a = chunks[pass.chunk];
    if (pass.kind == PassKind::forward) held += a.kept;
    const double transient = pair_transient + (pass.kind == PassKind::weight_gradient ? 0 : a.transient);
    if (held + transient > peak) {
      peak = held + transient;
      use.activations = Bytes(held);
      use.transient = Bytes(transient);
    }
    double freed = 0;
    if (pass.kind == PassKind::backward) freed = a.kept;
    if (pass.kind == PassKind::input_gradient) freed = a.kept - a.weight_grad_kept;
    if (pass.kind == PassKind::weight_gradient) freed = a.weight_grad_kept;
    pair_freed += freed;
    if (pass.paired_with_next) {
      pair_transient = transient;
      continue;
    }
    held -= pair_freed;
    pair_freed = pair_transient = 0;
  }
}

}  // namespace

std::vector<MemoryUse> memory_of(const ParallelPlan& plan, const Schedule& schedule, const BlockList& blocks,
                                 const std::vector<std::vector<int>>& stage_blocks, const ShardDegrees& shards,
                                 const ModelSpec& model) {
  std::vector<StageActivations> stages;
  for (const std::vector<int>& indices : stage_blocks) stages.push_back(activations_of(blocks, indices));
  std::vector<MemoryUse> uses;
  for (int rank = 0; rank < schedule.ranks(); ++rank) {
    const std::vector<const Block*> held = blocks_of_rank(schedule, blocks, stage_blocks, rank);
    MemoryUse use;
    add_states(use, plan, held, shards);
    use.unsharded = unsharded(plan, held, shards);
    use.buffers = Bytes(pipeline_buffers(plan, schedule, model, rank) + collective_buffers(held, plan, model));
    std::vector<StageActivations> chunks;
    for (int stage : schedule.placement[rank]) chunks.push_back(stages[stage]);
    add_activations(use, chunks, schedule.order[rank]);
    uses.push_back(use);
  }
  return uses;
}

}  // namespace stepsim
