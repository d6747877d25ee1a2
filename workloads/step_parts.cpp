#include "workloads/step_parts.hpp"

#include <algorithm>

namespace stepsim {

std::int16_t Book::pattern(std::int16_t slot, PatternKey key, double payload) {
  if (every_payload_ || depends_on_payload(key.operation, key.algorithm)) key.payload = payload;
  auto& list = patterns_[slot];
  const auto it = std::find(list.begin(), list.end(), key);
  if (it != list.end()) return static_cast<std::int16_t>(it - list.begin());
  list.push_back(key);
  return static_cast<std::int16_t>(list.size() - 1);
}

std::int32_t Book::label(const std::string& text) {
  const auto it = std::find(labels_.begin(), labels_.end(), text);
  if (it != labels_.end()) return static_cast<std::int32_t>(it - labels_.begin());
  labels_.push_back(text);
  return static_cast<std::int32_t>(labels_.size() - 1);
}

PatternKey pattern_key(const ParallelPlan& plan, const CollectiveCall& call) {
  const Algorithms& a = plan.collectives;
  switch (call.operation) {
    case Operation::all_gather: return {call.operation, a.all_gather, false};
    case Operation::reduce_scatter: return {call.operation, a.reduce_scatter, false};
    case Operation::all_reduce: return {call.operation, a.all_reduce, false};
    case Operation::all_to_all: return {call.operation, call.routed ? a.all_to_all : "pairwise", call.routed, call.back, call.routing};
    default: return {call.operation, "auto", false};
  }
}

Overlap::Policy policy_of(const ParallelPlan& plan, GroupKind kind) {
  switch (kind) {
    case GroupKind::tensor: return plan.overlap.tensor;
    case GroupKind::context: return plan.overlap.context;
    default: return plan.overlap.expert;
  }
}

double message_bytes(const ModelSpec& model, const ParallelPlan& plan) {
  const Parallel& p = plan.parallel;
  const double tokens = plan.batch.sequences() * plan.batch.sequence_length;
  const double share = tokens / p.context / (p.sequence ? p.tensor : 1);
  return share * activation_row_bytes(model.hidden, plan.precision.pipeline);
}

std::vector<Channel> channels_of(const Schedule& schedule) {
  std::vector<Channel> channels;
  const int directions = 1 + *std::max_element(schedule.microbatch_direction.begin(), schedule.microbatch_direction.end());
  for (int d = 0; d < directions; ++d) {
    for (const int step : {1, -1}) {
      for (int s = 0; s < schedule.stages; ++s) {
        const int to = s + step;
        if (to < 0 || to >= schedule.stages) continue;
        const Schedule::Place from_place = schedule.place_of(s, d), to_place = schedule.place_of(to, d);
        if (from_place.rank == to_place.rank) continue;
        Channel channel{from_place.rank, to_place.rank, s, to, d, {}};
        for (const Pass& pass : schedule.order[from_place.rank]) {
          const bool sends = step > 0 ? pass.kind == PassKind::forward
                                      : pass.kind == PassKind::backward || pass.kind == PassKind::input_gradient;
          if (sends && pass.chunk == from_place.chunk) channel.microbatches.push_back(pass.microbatch);
        }
        channels.push_back(std::move(channel));
      }
    }
  }
  return channels;
}

}  // namespace stepsim
