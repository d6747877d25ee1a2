#include "workloads/pass_bound.hpp"

#include <algorithm>
#include <limits>
#include <map>

#include "workloads/step_parts.hpp"

namespace stepsim {
namespace {

std::size_t stream_of(GroupKind kind) {
  if (kind == GroupKind::tensor) return 0;
  return kind == GroupKind::context ? 1 : 2;  // expert and expert_tensor share a stream
}

// Ops of one block in their order, each as early as it can be.
class BlockRun {
 public:
  BlockRun(const ParallelPlan& plan, std::size_t segments) : plan_(plan), end_(segments, 0) {}

  void compute(std::size_t index, const Segment& segment, double seconds) {
    double start = std::max(computed_, blocked_);
    for (const int n : segment.needs) start = std::max(start, end_[n]);
    if (!bound_.computes) bound_.lead = start;
    bound_.computes = true;
    end_[index] = computed_ = start + seconds;
    bound_.compute += seconds;
  }

  void collective(std::size_t index, const Segment& segment, const CallBound& call) {
    double& free = free_[stream_of(segment.call->group)];
    double start = std::max({computed_, blocked_, free});
    for (const int n : segment.needs) start = std::max(start, end_[n]);
    end_[index] = free = start + call.seconds;
    if (policy_of(plan_, segment.call->group) == Overlap::Policy::blocking) blocked_ = std::max(blocked_, end_[index]);
    last_ = std::max(last_, end_[index]);
    bound_.streams[stream_of(segment.call->group)] += call.seconds;
    bound_.wires.resize(std::max(bound_.wires.size(), call.wires.size()), 0);
    for (std::size_t t = 0; t < call.wires.size(); ++t) bound_.wires[t] += call.wires[t];
  }

  PassBound done() {
    if (!bound_.computes) bound_.lead = last_;
    bound_.busy = bound_.computes ? computed_ - bound_.lead : 0;
    bound_.trail = bound_.computes ? std::max(0.0, last_ - computed_) : 0;
    return bound_;
  }

 private:
  const ParallelPlan& plan_;
  std::vector<double> end_;
  double computed_ = 0, blocked_ = 0, last_ = 0;
  std::array<double, 3> free_{};
  PassBound bound_;
};

}  // namespace

void PassBound::then(const PassBound& next) {
  if (!computes) {
    lead += next.lead;
    busy = next.busy;
    trail = next.trail;
  } else if (next.computes) {
    busy += trail + next.lead + next.busy;
    trail = next.trail;
  } else {
    trail += next.lead;
  }
  compute += next.compute;
  computes = computes || next.computes;
  wires.resize(std::max(wires.size(), next.wires.size()), 0);
  for (std::size_t t = 0; t < next.wires.size(); ++t) wires[t] += next.wires[t];
  for (std::size_t s = 0; s < streams.size(); ++s) streams[s] += next.streams[s];
}

PassBound bound_of(const std::vector<Segment>& segments, const ParallelPlan& plan, double speed,
                   const std::function<CallBound(const CollectiveCall&)>& call) {
  BlockRun run(plan, segments.size());
  for (std::size_t i = 0; i < segments.size(); ++i) {
    if (segments[i].call == nullptr) {
      run.compute(i, segments[i], segments[i].seconds / speed);
    } else {
      run.collective(i, segments[i], call(*segments[i].call));
    }
  }
  return run.done();
}

PassChain::PassChain(const Schedule& schedule) {
  const PassIndex index(schedule);
  std::vector<std::vector<std::int32_t>> step_of;  // [rank][pass]
  for (const auto& order : schedule.order) step_of.emplace_back(order.size(), -1);
  std::map<std::pair<int, int>, std::int32_t> pair_of;
  walk(schedule, index, [&](int rank, int first, int count) {
    for (int i = first; i < first + count; ++i) {
      const Pass& pass = schedule.order[rank][i];
      Step step;
      step.rank = rank;
      step.stage = static_cast<std::int16_t>(schedule.placement[rank][pass.chunk]);
      step.kind = pass.kind;
      step.paired_with_next = count == 2 && i == first;
      const auto needs = index.needs(rank, pass);
      for (std::size_t n = 0; n < needs.size(); ++n) {
        if (!needs[n].exists()) continue;
        step.needs[n] = step_of[needs[n].rank][needs[n].index];
        if (needs[n].rank == rank) continue;
        const auto [it, fresh] = pair_of.try_emplace({needs[n].rank, rank}, static_cast<std::int32_t>(pairs_.size()));
        if (fresh) pairs_.emplace_back(needs[n].rank, rank);
        step.messages[n] = it->second;
      }
      step_of[rank][i] = static_cast<std::int32_t>(steps_.size());
      steps_.push_back(step);
    }
  });
  for (int rank = 0; rank < schedule.ranks(); ++rank) {
    auto& counts = counts_.emplace_back(schedule.placement[rank].size());
    std::vector<std::int32_t> last(counts.size(), -1);
    for (std::size_t i = 0; i < schedule.order[rank].size(); ++i) {
      const Pass& pass = schedule.order[rank][i];
      ++counts[pass.chunk][static_cast<std::size_t>(pass.kind)];
      if (pass.kind == PassKind::backward || pass.kind == PassKind::weight_gradient) last[pass.chunk] = step_of[rank][i];
    }
    for (const std::int32_t step : last) {
      if (step >= 0) steps_[step].last_gradients = true;
    }
  }
}

std::vector<RankEnds> PassChain::ends(const std::vector<PassBounds>& stages, bool paired,
                                      const std::function<double(int, int)>& message) const {
  std::vector<double> travel, ready(steps_.size(), 0);
  for (const auto& [from, to] : pairs_) travel.push_back(message(from, to));
  constexpr double kNever = std::numeric_limits<double>::infinity();
  std::vector<RankEnds> ranks(counts_.size(), {kNever, 0});
  const auto bound = [&](const Step& step) -> const PassBound& { return stages[step.stage][static_cast<std::size_t>(step.kind)]; };
  const auto input = [&](const Step& step) {
    double at = 0;
    for (std::size_t n = 0; n < step.needs.size(); ++n) {
      if (step.needs[n] < 0) continue;
      at = std::max(at, ready[step.needs[n]] + (step.messages[n] < 0 ? 0 : travel[step.messages[n]]));
    }
    return at;
  };
  const auto begins = [&](const Step& step, double at) {
    if (step.last_gradients) ranks[step.rank].last_gradients = std::min(ranks[step.rank].last_gradients, at);
  };
  for (std::size_t i = 0; i < steps_.size(); ++i) {
    const Step& step = steps_[i];
    const PassBound& a = bound(step);
    double& free = ranks[step.rank].end;
    if (!paired || !step.paired_with_next) {
      const double start = std::max(free, input(step) + a.lead);
      begins(step, start);
      free = start + a.busy;
      ready[i] = free + a.trail;
      continue;
    }
    const Step& next = steps_[i + 1];
    const PassBound& b = bound(next);
    const double both = std::max(input(step), input(next));
    double end = std::max(free, both + std::min(a.lead, b.lead)) + a.compute + b.compute;
    for (const auto& [pass, at] : {std::pair(&a, i), std::pair(&b, i + 1)}) {
      const double start = std::max(free, both + pass->lead), done = start + pass->busy;
      begins(steps_[at], start);
      ready[at] = done + pass->trail;
      end = std::max(end, done);
    }
    free = end;
    ++i;
  }
  return ranks;
}

}  // namespace stepsim
