// The program of one pipeline rank: its passes in the schedule's order, with their collectives and messages; parameters,
// gradients and the optimizer beside and after them (program_states.hpp).
#include <algorithm>
#include <array>
#include <map>
#include <unordered_map>

#include "workloads/pass_run.hpp"
#include "workloads/program_states.hpp"
#include "workloads/program_writer.hpp"
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
  ProgramBuilder(const StepContext& context, int rank, Book& book)
      : c_(context), rank_(rank), writer_(context, rank, book), states_(writer_), received_(context.channels.size()) {}

  Program build() {
    const auto& order = c_.schedule.order[rank_];
    std::size_t steps = 0;
    for (const Pass& pass : order) steps += steps_of(pass).size() + 2;  // a message in, one out
    steps += 8 * static_cast<std::size_t>(c_.blocks.size() + 8);                              // gathers, reductions, the optimizer
    writer_.reserve(steps);
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
    states_.finish();
    return writer_.take();
  }

 private:
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
    op.stream = writer_.stream_of_channel(channel);
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
    op.tags.label = writer_.book().label(ch.to_stage > ch.from_stage ? "activations" : "activation gradients");
    op.after = std::move(after);
    return writer_.add(std::move(op));
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
    const PassStep& step = run.steps[run.next];
    double start = writer_.latest(writer_.now(), run.waits);
    if (step.first) start = writer_.latest(start, run.open);
    for (const int n : step.segment->needs) start = std::max(start, writer_.end_of(run.op_of_segment[n]));
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
    states_.begin_block(run, block);
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
    const double end = writer_.latest(writer_.now(), op.after) + step.planned;
    run.last_compute = writer_.add(std::move(op));
    writer_.last_ends(end);
    writer_.computes_until(end);
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
      entry->second = {writer_.book().pattern(use.slot, pattern_key(c_.plan, call), call.payload.value),
                       writer_.book().label(std::string(call.name))};
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
    double& free = planned_free_[use.stream];
    free = writer_.latest(free, op.after) + step.planned;
    const std::int32_t index = writer_.add(std::move(op));
    writer_.last_ends(free);
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
    states_.end_block(run, block, done);
  }

  void close_pass(PassRun& run) {
    Ops done(run.open.begin(), run.open.end());
    if (run.last_compute >= 0) done.push_back(run.last_compute);
    states_.end_pass(run, done);
    writer_.wait_before_next_compute(run.waits);  // blocking collectives
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
    if (c_.plan.overlap.pipeline == Overlap::Policy::blocking) writer_.wait_before_next_compute({sent});
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
  ProgramWriter writer_;
  ProgramStates states_;
  std::map<std::pair<int, PassKind>, std::vector<PassStep>> steps_;
  std::unordered_map<const CollectiveCall*, Entries> entries_;
  std::vector<std::map<int, std::int32_t>> received_;   // [channel] microbatch -> op
  std::map<ResultKey, Ops> results_;                    // what this rank computed for a stage of its own
  std::map<std::pair<int, int>, Ops> forwards_;         // [chunk, microbatch] collectives at a forward pass's end
  std::map<std::pair<int, int>, Ops> input_gradients_;  // [chunk, microbatch] last ops of the pass, for the later W
  std::array<double, kFixedStreams> planned_free_{};    // when communication streams are free, as planned
};

}  // namespace

Program make_program(const StepContext& context, int pipeline_rank, Book& book) {
  return ProgramBuilder(context, pipeline_rank, book).build();
}

}  // namespace stepsim
