// The program of one pipeline rank: its passes in the schedule's order, with their collectives, messages, parameter
// gathers and gradient reductions, then the optimizer.
#include <algorithm>
#include <map>
#include <set>
#include <unordered_map>

#include <fmt/format.h>

#include "workloads/pass_run.hpp"
#include "workloads/step_parts.hpp"

namespace stepsim {
namespace {

struct GroupUse {
  std::int16_t slot;
  std::uint8_t stream;
  Dimension dimension;
};

GroupUse use_of(GroupKind kind) {
  switch (kind) {
    case GroupKind::tensor:
      return {kTensor, kTensorStream, Dimension::tensor};
    case GroupKind::context:
      return {kContext, kContextStream, Dimension::context};
    case GroupKind::expert:
      return {kExpert, kExpertStream, Dimension::expert};
    case GroupKind::expert_tensor:
      break;
  }
  return {kExpertTensor, kExpertStream, Dimension::expert};
}

class ProgramBuilder {
 public:
  ProgramBuilder(const StepContext& context, int rank, Book& book) : c_(context), rank_(rank), book_(book) {
    program_.name = fmt::format("pipeline rank {}", rank);
    program_.pipeline_rank = rank;
    program_.streams = {
        {"compute", Dimension::none},  {"tensor", Dimension::tensor},           {"context", Dimension::context},
        {"expert", Dimension::expert}, {"parameter gather", Dimension::gather}, {"gradient reduce", Dimension::reduce}};
    channel_stream_.assign(c_.channels.size(), 0);
    received_.resize(c_.channels.size());
    for (std::size_t i = 0; i < c_.channels.size(); ++i) {
      const Channel& ch = c_.channels[i];
      if (ch.from_rank != rank && ch.to_rank != rank) continue;
      channel_stream_[i] = static_cast<std::uint8_t>(program_.streams.size());
      const char* what = ch.from_rank == rank ? "send" : "receive";
      program_.streams.push_back(
          {fmt::format("pipeline {} {}>{}", what, ch.from_stage, ch.to_stage), Dimension::pipeline});
    }
    find_last_passes();
  }

  Program build() {
    const auto& order = c_.schedule.order[rank_];
    std::size_t steps = 0;
    for (const Pass& pass : order) steps += steps_of(pass).size() + 2;  // a message in, one out
    steps += 8 * static_cast<std::size_t>(c_.blocks.size() + 8);                              // gathers, reductions, the optimizer
    program_.ops.reserve(steps);
    planned_end_.reserve(steps);
    for (std::size_t i = 0; i < order.size(); ++i) {
      PassRun first = open_pass(order[i]);
      if (order[i].paired_with_next && c_.plan.overlap.expert == Overlap::Policy::paired) {
        PassRun second = open_pass(order[++i]);
        write_pair(first, second);
      } else {
        while (!first.finished()) write_step(first);
        close_pass(first);
      }
    }
    finish_step();
    return std::move(program_);
  }

 private:
  // The last pass that makes gradients of each chunk.
  void find_last_passes() {
    const auto& order = c_.schedule.order[rank_];
    last_pass_.assign(c_.schedule.placement[rank_].size(), {});
    for (const Pass& pass : order) {
      if (pass.kind == PassKind::backward || pass.kind == PassKind::weight_gradient) last_pass_[pass.chunk] = pass;
    }
  }

  bool is_last(const Pass& pass) const {
    const Pass& last = last_pass_[pass.chunk];
    return pass.kind == last.kind && pass.microbatch == last.microbatch;
  }

  // ---- passes

  const std::vector<PassStep>& steps_of(const Pass& pass) {
    const int stage = stage_of(pass);
    const auto [known, fresh] = steps_.try_emplace({stage, pass.kind});
    if (fresh) known->second = steps_of_pass(c_, pass.kind, stage);
    return known->second;
  }
  int stage_of(const Pass& pass) const { return c_.schedule.placement[rank_][pass.chunk]; }

  PassRun open_pass(const Pass& pass) {
    PassRun run{.pass = pass, .stage = stage_of(pass), .steps = steps_of(pass)};
    take_input(run);
    return run;
  }

  // What the pass needs from its neighbour stage: a message, or what this rank computed itself.
  void take_input(PassRun& run) {
    if (run.pass.kind == PassKind::weight_gradient) {
      run.waits = input_gradients_[{run.pass.chunk, run.pass.microbatch}];
      return;
    }
    const bool forward = run.pass.kind == PassKind::forward;
    if (!forward) run.waits = forwards_[{run.pass.chunk, run.pass.microbatch}];
    const int from = run.stage + (forward ? -1 : 1);
    if (from < 0 || from >= c_.schedule.stages) return;
    const int channel = channel_between(from, run.stage, direction_of(run.pass));
    if (channel >= 0) {
      run.waits.push_back(receive(channel, run.pass.microbatch));
      return;
    }
    const auto local = results_.find({from, run.pass.microbatch, forward});
    if (local != results_.end()) run.waits.insert(run.waits.end(), local->second.begin(), local->second.end());
  }

  int direction_of(const Pass& pass) const { return c_.schedule.direction[rank_][pass.chunk]; }

  // -1: both stages live on the same rank.
  int channel_between(int from, int to, int direction) const {
    for (std::size_t i = 0; i < c_.channels.size(); ++i) {
      const Channel& ch = c_.channels[i];
      if (ch.from_stage == from && ch.to_stage == to && ch.direction == direction) return static_cast<int>(i);
    }
    return -1;
  }

  // Receives are posted early and in the order of the sender.
  std::int32_t receive(int channel, int microbatch) {
    auto& received = received_[channel];
    while (!received.contains(microbatch)) {
      const int next = c_.channels[channel].microbatches[received.size()];
      received[next] = message(channel, next, {});
    }
    return received[microbatch];
  }

  std::int32_t message(int channel, int microbatch, Ops after) {
    const Channel& ch = c_.channels[channel];
    Op op;
    op.kind = OpKind::transfer;
    op.stream = channel_stream_[channel];
    op.slot = static_cast<std::int16_t>(kFixedSlots + channel);
    op.pattern = 0;
    op.payload_bytes = message_bytes(c_.model, c_.plan);
    op.sms = 0;  // copy engines or the NIC move it
    op.tags = {ch.to_stage > ch.from_stage ? Phase::forward : Phase::backward,
               Dimension::pipeline,
               static_cast<std::int16_t>(ch.from_stage),
               -1,
               -1,
               microbatch,
               0};
    op.tags.label = book_.label(ch.to_stage > ch.from_stage ? "activations" : "activation gradients");
    op.after = std::move(after);
    return add(std::move(op));
  }

  // Two passes, interleaved so that each one's collectives move under the other's compute: list scheduling. Collectives
  // are issued as soon as their input is there; then goes on the pass that, as planned, can compute first, and of
  // equals the one with the longer way to its end. For experts this finds the order of DeepSeek-V3's report (figure 4):
  // dispatch under the other's backward FFN, its dispatch of gradients under the forward FFN, and so on.
  // Both start when both inputs are there, and both send when both have ended, as DualPipe's own code receives and sends.
  void write_pair(PassRun& a, PassRun& b) {
    a.waits.insert(a.waits.end(), b.waits.begin(), b.waits.end());
    b.waits = a.waits;
    while (!a.finished() || !b.finished()) {
      for (PassRun* run : {&a, &b}) {
        while (!run->finished() && run->steps[run->next].segment->call != nullptr) write_step(*run);
      }
      if (!a.finished() || !b.finished()) write_step(goes_on(a, b));
    }
    a.last_compute = b.last_compute = std::max(a.last_compute, b.last_compute);
    close_pass(a);
    close_pass(b);
  }

  PassRun& goes_on(PassRun& a, PassRun& b) {
    if (a.finished() || b.finished()) return a.finished() ? b : a;
    const double first = planned_start(a), second = planned_start(b);
    if (first != second) return first < second ? a : b;
    return a.steps[a.next].tail >= b.steps[b.next].tail ? a : b;
  }

  // When the pass's next compute could start, as planned.
  double planned_start(const PassRun& run) const {
    double start = planned_now_;
    const auto wait = [&](std::int32_t op) { start = std::max(start, planned_end_[op]); };
    const PassStep& step = run.steps[run.next];
    if (step.first) std::for_each(run.open.begin(), run.open.end(), wait);
    std::for_each(run.waits.begin(), run.waits.end(), wait);
    for (const int n : step.segment->needs) wait(run.op_of_segment[n]);
    return start;
  }

  void write_step(PassRun& run) {
    const PassStep& step = run.steps[run.next++];
    if (step.first) begin_block(run, step.block);
    if (step.segment->call != nullptr) {
      write_collective(run, step);
    } else {
      write_compute(run, step);
    }
    if (step.last) end_block(run, step.block);
  }

  void begin_block(PassRun& run, int block) {
    run.waits.insert(run.waits.end(), run.open.begin(), run.open.end());
    run.open.clear();
    run.op_of_segment.assign(run.steps.size(), -1);
    const bool forward = run.pass.kind == PassKind::forward;
    const bool uses_parameters = run.pass.kind != PassKind::weight_gradient;
    const Parallel& p = c_.plan.parallel;
    if (gathers_late() && forward) await_update(run, block);
    if (p.zero < 3 || !uses_parameters) return;
    // Without resharding a pipeline keeps its parameters whole from their first use to the end of the step.
    const bool kept = !p.reshard_after_forward && p.pipeline > 1;
    if (kept ? gathered_.insert({run.stage, block}).second : forward || p.reshard_after_forward)
      gather_block(run, block);
  }

  void write_compute(PassRun& run, const PassStep& step) {
    Op op;
    op.kind = OpKind::compute;
    op.seconds = step.segment->seconds;
    op.sm_seconds = step.segment->sm_seconds;
    op.work = step.segment->work;
    op.tags = tags_of(run, step);
    op.after = std::move(run.waits);
    run.waits.clear();
    for (const int n : step.segment->needs) {
      op.after.push_back(run.op_of_segment[n]);
    }
    if (!run.open.empty()) {
      for (const std::int32_t w : op.after) run.open.erase(std::remove(run.open.begin(), run.open.end(), w), run.open.end());
    }
    const double start = planned_start_of(op.after);
    run.last_compute = add(std::move(op));
    planned_now_ = planned_end_.back() = start + step.planned;
  }

  double planned_start_of(const Ops& after) const {
    double start = planned_now_;
    for (const std::int32_t before : after) start = std::max(start, planned_end_[before]);
    return start;
  }

  void write_collective(PassRun& run, const PassStep& step) {
    const CollectiveCall& call = *step.segment->call;
    const GroupUse use = use_of(call.group);
    Op op;
    op.kind = OpKind::transfer;
    op.stream = use.stream;
    op.slot = use.slot;
    const auto [entry, fresh] = entries_.try_emplace(&call);
    if (fresh) {
      entry->second = {book_.pattern(use.slot, pattern_key(c_.plan, call), call.payload.value),
                       book_.label(std::string(call.name))};
    }
    op.pattern = entry->second.pattern;
    op.payload_bytes = call.payload.value;
    op.sms = static_cast<std::int16_t>(c_.held_sms);
    op.tags = tags_of(run, step);
    op.tags.dimension = use.dimension;
    op.tags.label = entry->second.label;
    op.after = run.waits;  // nothing has been computed since: it also waits for what the next compute op waits for
    if (run.last_compute >= 0) op.after.push_back(run.last_compute);
    for (const int n : step.segment->needs) op.after.push_back(run.op_of_segment[n]);
    double start = planned_free_[use.stream];
    for (const std::int32_t before : op.after) start = std::max(start, planned_end_[before]);
    const std::int32_t index = add(std::move(op));
    planned_free_[use.stream] = planned_end_.back() = start + step.planned;
    run.op_of_segment[step.segment_index] = index;
    run.open.push_back(index);
    if (policy_of(c_.plan, call.group) == Overlap::Policy::blocking) run.waits.push_back(index);
  }

  Tags tags_of(const PassRun& run, const PassStep& step) const {
    return {step.segment->phase,
            Dimension::none,
            static_cast<std::int16_t>(run.stage),
            static_cast<std::int16_t>(run.pass.chunk),
            static_cast<std::int16_t>(step.block),
            run.pass.microbatch,
            0};
  }

  void end_block(PassRun& run, int block) {
    Ops done(run.open.begin(), run.open.end());
    if (run.last_compute >= 0) done.push_back(run.last_compute);
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

  static bool makes_gradients(const Pass& pass) {
    return pass.kind == PassKind::backward || pass.kind == PassKind::weight_gradient;
  }

  void close_pass(PassRun& run) {
    Ops done(run.open.begin(), run.open.end());
    if (run.last_compute >= 0) done.push_back(run.last_compute);
    for (const int block : late_) reduce(run.stage, block, done, run.pass.microbatch);
    late_.clear();
    before_next_compute_.insert(before_next_compute_.end(), run.waits.begin(),
                                run.waits.end());  // blocking collectives
    if (run.pass.kind == PassKind::forward)
      forwards_[{run.pass.chunk, run.pass.microbatch}].assign(run.open.begin(), run.open.end());
    if (run.pass.kind == PassKind::weight_gradient) return;
    if (run.pass.kind == PassKind::input_gradient) input_gradients_[{run.pass.chunk, run.pass.microbatch}] = done;
    const bool forward = run.pass.kind == PassKind::forward;
    const int to = run.stage + (forward ? 1 : -1);
    if (to < 0 || to >= c_.schedule.stages) return;
    const int channel = channel_between(run.stage, to, direction_of(run.pass));
    if (channel < 0) {
      results_[{run.stage, run.pass.microbatch, forward}] = done;
      return;
    }
    const std::int32_t sent = message(channel, run.pass.microbatch, done);
    if (c_.plan.overlap.pipeline == Overlap::Policy::blocking) before_next_compute_.push_back(sent);
  }

  // ---- parameters and gradients

  double gather_bytes(double parameters) const { return parameters * bytes_per_element(c_.plan.precision.gather); }
  double reduce_bytes(double parameters) const { return parameters * bytes_per_element(c_.plan.precision.reduce); }

  std::int32_t state_transfer(std::int16_t slot, Operation operation, const std::string& algorithm, double bytes,
                              const std::string& label, const Tags& tags, Ops after) {
    const bool gather = slot == kGatherDense || slot == kGatherExpert;
    Op op;
    op.kind = OpKind::transfer;
    op.stream = gather ? kGatherStream : kReduceStream;
    op.slot = slot;
    op.pattern = book_.pattern(slot, {operation, algorithm, false}, bytes);
    op.payload_bytes = bytes;
    op.sms = static_cast<std::int16_t>(c_.held_sms);
    op.tags = tags;
    op.tags.dimension = gather ? Dimension::gather : Dimension::reduce;
    op.tags.label = book_.label(label);
    op.after = std::move(after);
    return add(std::move(op));
  }

  // ZeRO-3: the block's parameters, gathered while the blocks before it compute, at most gather_prefetch ahead.
  void gather_block(PassRun& run, int block) {
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
          state_transfer(kGatherDense, Operation::all_gather, algorithm, gather_bytes(p.dense), label, tags, after));
    }
    if (p.expert > 0 && c_.expert_shards > 1) {
      run.waits.push_back(
          state_transfer(kGatherExpert, Operation::all_gather, algorithm, gather_bytes(p.expert), label, tags, after));
    }
  }

  void reduce(int stage, int block, const Ops& after, int microbatch) {
    const BlockParameters& p = c_.blocks.block(block).parameters;
    reduce_parameters(stage, block, p.dense, c_.dense_replicas, c_.dense_shards, kReduceDense, kReplicaDense, after,
                      microbatch);
    reduce_parameters(stage, block, p.expert, c_.expert_replicas, c_.expert_shards, kReduceExpert, kReplicaExpert,
                      after, microbatch);
  }

  // Gradients of parameters that `replicas` ranks hold: all-reduced when states are not sharded; else reduce-scattered
  // among the `shards` ranks, and the shards all-reduced across groups when those are more than one.
  void reduce_parameters(int stage, int block, double parameters, int replicas, int shards, std::int16_t slot,
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
      after = {state_transfer(slot, Operation::reduce_scatter, a.reduce_scatter, reduce_bytes(parameters), "gradients",
                              tags, after)};
      reduced_.push_back(after[0]);
    }
    const int groups = sharded ? replicas / shards : replicas;
    if (groups > 1) {
      const double bytes = reduce_bytes(sharded ? parameters / shards : parameters);
      reduced_.push_back(state_transfer(across, Operation::all_reduce, a.all_reduce, bytes, "gradients", tags, after));
    }
  }

  // After the last pass: what has not been reduced, the optimizer, and the new parameters to everybody.
  void finish_step() {
    Ops end = visits_.empty() ? Ops{} : visits_.back();
    std::vector<int> stages = c_.schedule.placement[rank_];
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
  void sum_partial(const std::vector<int>& stages, const Ops& end) {
    double parameters = 0;
    for (const int stage : stages) {
      for (const int block : c_.stage_blocks[stage]) parameters += c_.blocks.block(block).parameters.partial;
    }
    if (parameters <= 0) return;
    all_reduce(kTensor, kTensorStream, Dimension::tensor, parameters * bytes_per_element(c_.plan.precision.gradients),
               c_.plan.collectives.all_reduce, "gradients of each rank's rows", end);
  }

  // A tied matrix stands at both ends of the pipeline; the sum of its gradients comes last (Megatron-LM).
  void sum_tied(const std::vector<int>& stages, const Ops& end) {
    if (!c_.tied) return;
    const bool has_end = stages.front() == 0 || stages.back() == c_.schedule.stages - 1;
    const bool has_both = stages.front() == 0 && stages.back() == c_.schedule.stages - 1;
    if (!has_end || has_both) return;
    const double parameters = static_cast<double>(c_.model.vocabulary) * c_.model.hidden / c_.plan.parallel.tensor;
    all_reduce(kTied, kReduceStream, Dimension::reduce, parameters * bytes_per_element(c_.plan.precision.gradients),
               c_.plan.collectives.all_reduce, "tied embedding gradients", end);
  }

  void all_reduce(std::int16_t slot, StreamId stream, Dimension dimension, double bytes, const std::string& algorithm,
                  const std::string& label, const Ops& end) {
    Op op;
    op.kind = OpKind::transfer;
    op.stream = stream;
    op.slot = slot;
    op.pattern = book_.pattern(slot, {Operation::all_reduce, algorithm, false}, bytes);
    op.payload_bytes = bytes;
    op.sms = static_cast<std::int16_t>(c_.held_sms);
    op.tags = {Phase::optimizer, dimension, -1, -1, -1, -1, 0};
    op.tags.label = book_.label(label);
    op.after = reduced_;
    op.after.insert(op.after.end(), end.begin(), end.end());
    reduced_ = {add(std::move(op))};
  }

  // Clipping: a pass over this rank's gradients, the sum of squares over all ranks, then the optimizer; it also clears
  // the gradients for the next step.
  std::int32_t write_optimizer(const std::vector<int>& stages) {
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
  std::vector<Kernel> before_the_norm(double own) const {
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

  static Kernel memory_kernel(std::string_view name, double bytes) {
    Kernel kernel{.name = name, .kind = KernelClass::memory};
    kernel.bytes = Bytes(bytes);
    return kernel;
  }

  std::int32_t optimizer_op(const std::vector<Kernel>& kernels) {
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
    return add(std::move(op));
  }

  void gather_stage(int stage, const Ops& after) {
    double dense = 0, expert = 0;
    for (const int block : c_.stage_blocks[stage]) {
      dense += c_.blocks.block(block).parameters.dense;
      expert += c_.blocks.block(block).parameters.expert;
    }
    gather_updated(stage, -1, dense, expert, after);
  }

  // Parameters that the optimizer has changed, to all that use them. Returns the transfers.
  Ops gather_updated(int stage, int block, double dense, double expert, const Ops& after) {
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
          state_transfer(kGatherDense, Operation::all_gather, algorithm, gather_bytes(dense), label, tags, after));
    }
    if (expert > 0 && c_.expert_shards > 1) {
      gathered.push_back(
          state_transfer(kGatherExpert, Operation::all_gather, algorithm, gather_bytes(expert), label, tags, after));
    }
    return gathered;
  }

  bool gathers_late() const {
    const int zero = c_.plan.parallel.zero;
    return (zero == 1 || zero == 2) && c_.plan.overlap.parameters == Overlap::Parameters::async;
  }

  // The step before this one left its updated parameters to be gathered beside this step's first forward passes: all
  // gathers are posted as the step begins, in the order of their use, and a block's first forward waits for its own.
  void await_update(PassRun& run, int block) {
    if (!gathered_.insert({run.stage, block}).second) return;
    const BlockParameters& p = c_.blocks.block(block).parameters;
    const Ops gathered = gather_updated(run.stage, block, p.dense, p.expert, {});
    run.waits.insert(run.waits.end(), gathered.begin(), gathered.end());
  }

  // Returns its number.
  std::int32_t add(Op op) {
    if (op.kind == OpKind::compute) {
      op.after.insert(op.after.end(), before_next_compute_.begin(), before_next_compute_.end());
      before_next_compute_.clear();
    }
    std::sort(op.after.begin(), op.after.end());
    op.after.erase(std::unique(op.after.begin(), op.after.end()), op.after.end());
    program_.ops.push_back(op);
    planned_end_.push_back(planned_now_);
    return static_cast<std::int32_t>(program_.ops.size()) - 1;
  }

  struct ResultKey {
    int stage, microbatch;
    bool forward;
    auto operator<=>(const ResultKey&) const = default;
  };

  struct Entries {  // of a call in the book
    std::int16_t pattern = 0;
    std::int32_t label = 0;
  };

  const StepContext& c_;
  int rank_;
  Book& book_;
  std::map<std::pair<int, PassKind>, std::vector<PassStep>> steps_;
  std::unordered_map<const CollectiveCall*, Entries> entries_;
  Program program_;
  std::vector<std::uint8_t> channel_stream_;
  std::vector<std::map<int, std::int32_t>> received_;   // [channel] microbatch -> op
  std::map<ResultKey, Ops> results_;                    // what this rank computed for a stage of its own
  std::map<std::pair<int, int>, Ops> forwards_;         // [chunk, microbatch] collectives at a forward pass's end
  std::map<std::pair<int, int>, Ops> input_gradients_;  // [chunk, microbatch] last ops of the pass, for the later W
  std::vector<Pass> last_pass_;                         // [chunk]
  std::vector<Ops> visits_;                             // last ops of each visit of a block, in order
  std::vector<int> late_;                               // blocks to reduce when their pass ends
  std::set<std::pair<int, int>> gathered_;              // [stage, block] whose parameters stay whole
  Ops reduced_;
  // As planned: when ops end, when the compute stream and the communication streams are free. They only decide orders.
  std::vector<double> planned_end_;
  double planned_now_ = 0;
  std::array<double, kFixedStreams> planned_free_{};
  Ops before_next_compute_;
};

}  // namespace

Program make_program(const StepContext& context, int pipeline_rank, Book& book) {
  return ProgramBuilder(context, pipeline_rank, book).build();
}

}  // namespace stepsim
