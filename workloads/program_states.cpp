#include "workloads/program_states.hpp"

#include <algorithm>

namespace stepsim {
namespace {

double gather_bytes(const StepContext& c, double parameters) { return parameters * bytes_per_element(c.plan.precision.gather); }
double reduce_bytes(const StepContext& c, double parameters) { return parameters * bytes_per_element(c.plan.precision.reduce); }

Kernel memory_kernel(std::string_view name, double bytes) {
  Kernel kernel{.name = name, .kind = KernelClass::memory};
  kernel.bytes = Bytes(bytes);
  return kernel;
}

bool makes_gradients(const Pass& pass) { return pass.kind == PassKind::backward || pass.kind == PassKind::weight_gradient; }

}  // namespace

ProgramStates::ProgramStates(ProgramWriter& writer)
    : writer_(writer), c_(writer.context()), last_pass_(c_.schedule.placement[writer.rank()].size()) {
  for (const Pass& pass : c_.schedule.order[writer.rank()]) {
    if (makes_gradients(pass)) last_pass_[pass.chunk] = pass;
  }
}

bool ProgramStates::is_last(const Pass& pass) const {
  const Pass& last = last_pass_[pass.chunk];
  return pass.kind == last.kind && pass.microbatch == last.microbatch;
}

void ProgramStates::begin_block(PassRun& run, int block) {
  const bool forward = run.pass.kind == PassKind::forward;
  const bool uses_parameters = run.pass.kind != PassKind::weight_gradient;
  const Parallel& p = c_.plan.parallel;
  if (gathers_late() && forward) await_update(run, block);
  if (p.zero < 3 || !uses_parameters) return;
  // Without resharding a pipeline keeps its parameters whole from their first use to the end of the step.
  const bool kept = !p.reshard_after_forward && p.pipeline > 1;
  if (kept ? gathered_.insert({run.stage, block}).second : forward || p.reshard_after_forward) gather_block(run, block);
}

void ProgramStates::end_block(const PassRun& run, int block, const Ops& done) {
  visits_.push_back(done);
  if (!makes_gradients(run.pass)) return;
  const bool every_microbatch = c_.plan.parallel.reduces_each_microbatch();
  if (!every_microbatch && !is_last(run.pass)) return;
  // With two copies in one pipeline both must reduce in the same order: at the end, by stage.
  if (c_.copies > 1) return;
  if (c_.plan.overlap.reduce == Overlap::Reduce::async) {
    reduce(run.stage, block, done, run.pass.microbatch);
  } else if (every_microbatch) {
    late_.push_back(block);
  }
}

void ProgramStates::end_pass(const PassRun& run, const Ops& done) {
  for (const int block : late_) reduce(run.stage, block, done, run.pass.microbatch);
  late_.clear();
}

std::int32_t ProgramStates::state_transfer(std::int16_t slot, Operation operation, const std::string& algorithm, double bytes,
                                           const std::string& label, const Tags& tags, Ops after) {
  const bool gather = slot == kGatherDense || slot == kGatherExpert;
  Op op;
  op.kind = OpKind::transfer;
  op.stream = gather ? kGatherStream : kReduceStream;
  op.slot = slot;
  op.pattern = writer_.book().pattern(slot, {operation, algorithm, false}, bytes);
  op.payload_bytes = bytes;
  op.sms = static_cast<std::int16_t>(c_.held_sms);
  op.tags = tags;
  op.tags.dimension = gather ? Dimension::gather : Dimension::reduce;
  op.tags.label = writer_.book().label(label);
  op.after = std::move(after);
  return writer_.add(std::move(op));
}

// ZeRO-3: the block's parameters, gathered while the blocks before it compute, at most gather_prefetch ahead.
void ProgramStates::gather_block(PassRun& run, int block) {
  const BlockParameters& p = c_.blocks.block(block).parameters;
  const std::size_t ahead = static_cast<std::size_t>(c_.plan.overlap.gather_prefetch) + 1;
  const Ops after = visits_.size() >= ahead ? visits_[visits_.size() - ahead] : Ops{};
  const bool forward = run.pass.kind == PassKind::forward;
  const std::string label = forward ? "parameters (forward)" : "parameters (backward)";
  Tags tags{forward ? Phase::forward : Phase::backward,
            Dimension::gather,
            static_cast<std::int16_t>(run.stage),
            static_cast<std::int16_t>(run.pass.chunk),
            static_cast<std::int16_t>(block),
            run.pass.microbatch,
            0};
  const std::string& algorithm = c_.plan.collectives.all_gather;
  if (p.dense > 0 && c_.dense_shards > 1) {
    run.waits.push_back(
        state_transfer(kGatherDense, Operation::all_gather, algorithm, gather_bytes(c_, p.dense), label, tags, after));
  }
  if (p.expert > 0 && c_.expert_shards > 1) {
    run.waits.push_back(
        state_transfer(kGatherExpert, Operation::all_gather, algorithm, gather_bytes(c_, p.expert), label, tags, after));
  }
}

void ProgramStates::reduce(int stage, int block, const Ops& after, int microbatch) {
  const BlockParameters& p = c_.blocks.block(block).parameters;
  reduce_parameters(stage, block, p.dense, c_.dense_replicas, c_.dense_shards, kReduceDense, kReplicaDense, after,
                    microbatch);
  reduce_parameters(stage, block, p.expert, c_.expert_replicas, c_.expert_shards, kReduceExpert, kReplicaExpert,
                    after, microbatch);
}

// Gradients of parameters that `replicas` ranks hold: all-reduced when states are not sharded; else reduce-scattered
// among the `shards` ranks, and the shards all-reduced across groups when those are more than one.
void ProgramStates::reduce_parameters(int stage, int block, double parameters, int replicas, int shards, std::int16_t slot,
                                      std::int16_t across, Ops after, int microbatch) {
  if (parameters <= 0 || replicas <= 1) return;
  const Tags tags{Phase::backward,
                  Dimension::reduce,
                  static_cast<std::int16_t>(stage),
                  -1,
                  static_cast<std::int16_t>(block),
                  microbatch,
                  0};
  const Algorithms& a = c_.plan.collectives;
  const bool sharded = c_.plan.parallel.zero > 0 && shards > 1;
  if (sharded) {
    after = {state_transfer(slot, Operation::reduce_scatter, a.reduce_scatter, reduce_bytes(c_, parameters), "gradients",
                            tags, after)};
    reduced_.push_back(after[0]);
  }
  const int groups = sharded ? replicas / shards : replicas;
  if (groups > 1) {
    const double bytes = reduce_bytes(c_, sharded ? parameters / shards : parameters);
    reduced_.push_back(state_transfer(across, Operation::all_reduce, a.all_reduce, bytes, "gradients", tags, after));
  }
}

void ProgramStates::finish() {
  Ops end = visits_.empty() ? Ops{} : visits_.back();
  std::vector<int> stages = c_.schedule.placement[writer_.rank()];
  std::sort(stages.begin(), stages.end());
  const bool late = c_.copies > 1 || c_.plan.overlap.reduce == Overlap::Reduce::at_end;
  if (late && !c_.plan.parallel.reduces_each_microbatch()) {
    for (const int stage : stages) {
      for (const int block : c_.stage_blocks[stage]) reduce(stage, block, end, -1);
    }
  }
  sum_partial(stages, end);
  sum_tied(stages, end);
  const std::int32_t optimizer = write_optimizer(stages);
  if (c_.plan.parallel.zero == 0 || c_.plan.parallel.zero == 3 || gathers_late()) return;
  for (const int stage : stages) gather_stage(stage, {optimizer});
}

// Gradients that every tensor rank has only for its own rows, in one all-reduce; as Megatron-LM does it, after the
// reduction over data-parallel ranks.
void ProgramStates::sum_partial(const std::vector<int>& stages, const Ops& end) {
  double parameters = 0;
  for (const int stage : stages) {
    for (const int block : c_.stage_blocks[stage]) parameters += c_.blocks.block(block).parameters.partial;
  }
  if (parameters <= 0) return;
  all_reduce(kTensor, kTensorStream, Dimension::tensor, parameters * bytes_per_element(c_.plan.precision.gradients),
             c_.plan.collectives.all_reduce, "gradients of each rank's rows", end);
}

// A tied matrix stands at both ends of the pipeline; the sum of its gradients comes last (Megatron-LM).
void ProgramStates::sum_tied(const std::vector<int>& stages, const Ops& end) {
  if (!c_.tied) return;
  const bool has_end = stages.front() == 0 || stages.back() == c_.schedule.stages - 1;
  const bool has_both = stages.front() == 0 && stages.back() == c_.schedule.stages - 1;
  if (!has_end || has_both) return;
  const double parameters = static_cast<double>(c_.model.vocabulary) * c_.model.hidden / c_.plan.parallel.tensor;
  all_reduce(kTied, kReduceStream, Dimension::reduce, parameters * bytes_per_element(c_.plan.precision.gradients),
             c_.plan.collectives.all_reduce, "tied embedding gradients", end);
}

void ProgramStates::all_reduce(std::int16_t slot, StreamId stream, Dimension dimension, double bytes, const std::string& algorithm,
                               const std::string& label, const Ops& end) {
  Op op;
  op.kind = OpKind::transfer;
  op.stream = stream;
  op.slot = slot;
  op.pattern = writer_.book().pattern(slot, {Operation::all_reduce, algorithm, false}, bytes);
  op.payload_bytes = bytes;
  op.sms = static_cast<std::int16_t>(c_.held_sms);
  op.tags = {Phase::optimizer, dimension, -1, -1, -1, -1, 0};
  op.tags.label = writer_.book().label(label);
  op.after = reduced_;
  op.after.insert(op.after.end(), end.begin(), end.end());
  reduced_ = {writer_.add(std::move(op))};
}

// Clipping: a pass over this rank's gradients, the sum of squares over all ranks, then the optimizer; it also clears
// the gradients for the next step.
std::int32_t ProgramStates::write_optimizer(const std::vector<int>& stages) {
  double whole = 0, cut = 0;
  for (const int stage : stages) {
    for (const int block : c_.stage_blocks[stage]) {
      const BlockParameters& p = c_.blocks.block(block).parameters;
      whole += p.dense + p.expert;
      cut += p.dense / c_.dense_shards + p.expert / c_.expert_shards;
    }
  }
  const Parallel& p = c_.plan.parallel;
  const double own = p.zero > 0 ? cut : whole, of_a_gradient = bytes_per_element(c_.plan.precision.gradients);
  if (c_.plan.clip_gradients) {
    reduced_ = {optimizer_op(before_the_norm(own))};
    if (c_.norm_ranks > 1) all_reduce(kNorm, kReduceStream, Dimension::reduce, 4, "auto", "gradient norm", {});
  }
  std::vector<Kernel> kernels = optimizer_kernels(own, c_.plan);
  kernels.push_back(memory_kernel("clear gradients", (p.reduces_each_microbatch() ? cut : whole) * of_a_gradient));
  return optimizer_op(kernels);
}

// The gradients' norm, over those of the masters where the optimizer makes them.
std::vector<Kernel> ProgramStates::before_the_norm(double own) const {
  const Precisions& p = c_.plan.precision;
  std::vector<Kernel> kernels;
  double normed = bytes_per_element(p.gradients);
  if (c_.plan.kernels.optimizer == Kernels::Optimizer::masters && p.master != Precision::none) {
    const double master = bytes_per_element(p.master);
    if (p.gradients != p.master) kernels.push_back(memory_kernel("master gradients", own * (normed + master)));
    if (p.weights == Precision::fp16) kernels.push_back(memory_kernel("unscale gradients", own * 2 * master));
    normed = master;
  }
  kernels.push_back(memory_kernel("gradient norm", own * normed));
  return kernels;
}

std::int32_t ProgramStates::optimizer_op(const std::vector<Kernel>& kernels) {
  Op op;
  op.kind = OpKind::compute;
  for (const Kernel& kernel : kernels) {
    const KernelCost cost = cost_of(kernel, c_.cluster.gpu, c_.compute_sms);
    op.seconds += cost.time.value;
    op.sm_seconds += cost.sm_time.value;
    op.work.flops += kernel.flops.value;
    op.work.model_flops += kernel.model_flops.value;
    op.work.compute_seconds += cost.compute_time.value;
    op.work.hbm_seconds += cost.hbm_time.value;
  }
  op.tags.phase = Phase::optimizer;
  op.after = reduced_;
  return writer_.add(std::move(op));
}

void ProgramStates::gather_stage(int stage, const Ops& after) {
  double dense = 0, expert = 0;
  for (const int block : c_.stage_blocks[stage]) {
    dense += c_.blocks.block(block).parameters.dense;
    expert += c_.blocks.block(block).parameters.expert;
  }
  gather_updated(stage, -1, dense, expert, after);
}

// Parameters that the optimizer has changed, to all that use them. Returns the transfers.
Ops ProgramStates::gather_updated(int stage, int block, double dense, double expert, const Ops& after) {
  const Tags tags{Phase::optimizer,
                  Dimension::gather,
                  static_cast<std::int16_t>(stage),
                  -1,
                  static_cast<std::int16_t>(block),
                  -1,
                  0};
  const std::string& algorithm = c_.plan.collectives.all_gather;
  const char* label = "parameters (after optimizer)";
  Ops gathered;
  if (dense > 0 && c_.dense_shards > 1) {
    gathered.push_back(
        state_transfer(kGatherDense, Operation::all_gather, algorithm, gather_bytes(c_, dense), label, tags, after));
  }
  if (expert > 0 && c_.expert_shards > 1) {
    gathered.push_back(
        state_transfer(kGatherExpert, Operation::all_gather, algorithm, gather_bytes(c_, expert), label, tags, after));
  }
  return gathered;
}

bool ProgramStates::gathers_late() const {
  const int zero = c_.plan.parallel.zero;
  return (zero == 1 || zero == 2) && c_.plan.overlap.parameters == Overlap::Parameters::async;
}

// The step before this one left its updated parameters to be gathered beside this step's first forward passes: all
// gathers are posted as the step begins, in the order of their use, and a block's first forward waits for its own.
void ProgramStates::await_update(PassRun& run, int block) {
  if (!gathered_.insert({run.stage, block}).second) return;
  const BlockParameters& p = c_.blocks.block(block).parameters;
  const Ops gathered = gather_updated(run.stage, block, p.dense, p.expert, {});
  run.waits.insert(run.waits.end(), gathered.begin(), gathered.end());
}

}  // namespace stepsim
