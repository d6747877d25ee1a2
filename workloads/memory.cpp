// Memory of a pipeline rank: states from what it holds, activations by walking its passes in their order.
#include "workloads/memory.hpp"

#include <algorithm>
#include <map>
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
  if (call.operation == Operation::shift) return 2 * call.payload.value;  // what is worked on, and what comes meanwhile
  if (call.operation != Operation::all_to_all) return 0;
  if (!call.routed) return call.payload.value;
  return call.payload.value * std::min(model.experts.top_k * call.rows, static_cast<double>(plan.parallel.expert));
}

// Room for what a block's collectives bring: the largest gathered tensor, and one arrival of each of its forward
// all-to-alls (dispatch and combine have buffers of their own). Of the block with most.
double collective_buffers(const std::vector<const Block*>& held, const ParallelPlan& plan, const ModelSpec& model) {
  double largest = 0;
  for (const Block* block : held) {
    double gathered = 0;
    std::map<std::string_view, double> exchanged;  // by name: the layer of a prediction module takes the buffers again
    for (const Item& item : block->forward) {
      const CollectiveCall* call = std::get_if<CollectiveCall>(&item.what);
      if (call == nullptr) continue;
      const double bytes = arriving(*call, plan, model);
      if (call->operation == Operation::all_gather || call->operation == Operation::shift) {
        gathered = std::max(gathered, bytes);
      } else {
        exchanged[call->name] = std::max(exchanged[call->name], bytes);
      }
    }
    for (const auto& [name, bytes] : exchanged) gathered += bytes;
    largest = std::max(largest, gathered);
  }
  return largest;
}

ChunkActivations activations_of(const BlockList& blocks, const std::vector<int>& indices) {
  ChunkActivations sum;
  for (int index : indices) {
    const ActivationBytes& a = blocks.block(index).activations;
    sum.kept += a.kept;
    sum.weight_grad_kept += a.weight_grad_kept;
    for (std::size_t i = 0; i < kActivationParts; ++i) sum.kept_by[i] += a.kept_by[i];
    if (a.transient > sum.transient + sum.logits) {
      sum.transient = a.transient - a.logits;
      sum.logits = a.logits;
    }
  }
  return sum;
}

// Microbatches whose activations a chunk holds, whole or only what their weight gradients need.
struct Holding {
  std::vector<int> whole, for_weight;
  explicit Holding(std::size_t chunks) : whole(chunks, 0), for_weight(chunks, 0) {}

  void start(const Pass& pass) { whole[pass.chunk] += pass.kind == PassKind::forward ? 1 : 0; }
  void end(const Pass& pass) {
    if (pass.kind == PassKind::backward || pass.kind == PassKind::input_gradient) --whole[pass.chunk];
    if (pass.kind == PassKind::input_gradient) ++for_weight[pass.chunk];
    if (pass.kind == PassKind::weight_gradient) --for_weight[pass.chunk];
  }
  Bytes bytes(const std::vector<ChunkActivations>& chunks) const {
    Bytes sum;
    for (std::size_t c = 0; c < chunks.size(); ++c) sum += chunks[c].kept * whole[c] + chunks[c].weight_grad_kept * for_weight[c];
    return sum;
  }
};

void set_peak(MemoryUse& use, const Holding& held, Bytes transient, Bytes logits) {
  use.activations = held.bytes(use.chunks);
  use.transient = transient;
  use.logits = logits;
  use.activations_by = {};
  for (std::size_t c = 0; c < use.chunks.size(); ++c) {
    for (std::size_t i = 0; i < kActivationParts; ++i) use.activations_by[i] += use.chunks[c].kept_by[i] * held.whole[c];
    use.activations_by.back() += use.chunks[c].weight_grad_kept * held.for_weight[c];
  }
}

// Walks the passes; a forward pass adds what it keeps, a backward pass frees it when it ends, an input gradient leaves
// what its weight gradient needs. Passes of a pair that run together hold both, and both transients.
void add_activations(MemoryUse& use, const std::vector<Pass>& order, bool pairs_together) {
  Holding held(use.chunks.size());
  Bytes peak(-1), pair_transient, pair_logits;
  std::vector<Pass> ending;
  for (const Pass& pass : order) {
    const ChunkActivations& a = use.chunks[pass.chunk];
    held.start(pass);
    Bytes transient = pair_transient, logits = pair_logits;
    if (pass.kind != PassKind::weight_gradient) {
      transient += a.transient;
      logits += a.logits;
    }
    const Bytes now = held.bytes(use.chunks) + transient + logits;
    if (now > peak) {
      peak = now;
      set_peak(use, held, transient, logits);
    }
    ending.push_back(pass);
    const bool more = pass.paired_with_next && pairs_together;
    pair_transient = more ? transient : Bytes();
    pair_logits = more ? logits : Bytes();
    if (more) continue;
    for (const Pass& ended : ending) held.end(ended);
    ending.clear();
  }
}

}  // namespace

std::vector<MemoryUse> activation_memory(const ParallelPlan& plan, const Schedule& schedule, const BlockList& blocks,
                                         const std::vector<std::vector<int>>& stage_blocks, const ModelSpec& model) {
  std::vector<ChunkActivations> stages;
  for (const std::vector<int>& indices : stage_blocks) stages.push_back(activations_of(blocks, indices));
  std::vector<MemoryUse> uses;
  for (int rank = 0; rank < schedule.ranks(); ++rank) {
    const std::vector<const Block*> held = blocks_of_rank(schedule, blocks, stage_blocks, rank);
    MemoryUse use;
    use.buffers = Bytes(pipeline_buffers(plan, schedule, model, rank) + collective_buffers(held, plan, model));
    for (int stage : schedule.placement[rank]) use.chunks.push_back(stages[stage]);
    add_activations(use, schedule.order[rank], plan.overlap.expert == Overlap::Policy::paired);
    uses.push_back(std::move(use));
  }
  return uses;
}

void add_state_memory(std::vector<MemoryUse>& uses, const ParallelPlan& plan, const Schedule& schedule, const BlockList& blocks,
                      const std::vector<std::vector<int>>& stage_blocks, const ShardDegrees& shards) {
  for (int rank = 0; rank < schedule.ranks(); ++rank) {
    const std::vector<const Block*> held = blocks_of_rank(schedule, blocks, stage_blocks, rank);
    add_states(uses[rank], plan, held, shards);
    uses[rank].unsharded = unsharded(plan, held, shards);
  }
}

std::vector<MemoryUse> memory_of(const ParallelPlan& plan, const Schedule& schedule, const BlockList& blocks,
                                 const std::vector<std::vector<int>>& stage_blocks, const ShardDegrees& shards,
                                 const ModelSpec& model) {
  std::vector<MemoryUse> uses = activation_memory(plan, schedule, blocks, stage_blocks, model);
  add_state_memory(uses, plan, schedule, blocks, stage_blocks, shards);
  return uses;
}

ReservedMemory reserved_memory(const ModelSpec& model, const ParallelPlan& plan, const MemoryUse& use) {
  const Parallel& p = plan.parallel;
  ReservedMemory reserved;
  for (const int degree : {p.tensor, p.context, p.expert, p.expert_tensor, p.pipeline, p.data * p.context}) {
    reserved.count += degree > 1 ? 1 : 0;
  }
  const bool expert_replicas = p.data * p.context * p.tensor > p.expert * p.expert_tensor;
  reserved.count += model.experts.count > 0 && expert_replicas && p.expert * p.expert_tensor > 1 ? 1 : 0;
  reserved.context = plan.memory.context;
  reserved.communicators = plan.memory.communicator * reserved.count;
  reserved.fragmentation = (use.activations + use.transient + use.logits + use.unsharded) * plan.memory.fragmentation;
  return reserved;
}

std::vector<std::pair<std::string, double>> kinds_of(const MemoryUse& m) {
  return {{"weights", m.weights.value},         {"gradients", m.gradients.value}, {"master", m.master.value},
          {"moments", m.moments.value},         {"activations", m.activations.value},
          {"transient", m.transient.value},     {"logits", m.logits.value},
          {"unsharded", m.unsharded.value},     {"buffers", m.buffers.value}};
}

std::vector<std::pair<std::string, double>> activation_parts_of(const MemoryUse& m) {
  std::vector<std::pair<std::string, double>> parts;
  const char* const names[] = {"norm", "attention", "ffn", "experts", "head", "for_weight_gradients"};
  static_assert(std::size(names) == kActivationParts + 1);
  for (std::size_t i = 0; i < std::size(names); ++i) parts.emplace_back(names[i], m.activations_by[i].value);
  return parts;
}

}  // namespace stepsim
