#include "workloads/pass_bound.hpp"

#include <algorithm>

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

std::vector<double> earliest_ends(const Schedule& schedule, const std::vector<PassBounds>& stages, bool paired,
                                  const std::function<double(int, int)>& message) {
  const PassIndex index(schedule);
  std::vector<std::vector<double>> ready;  // [rank][pass] when its result is there
  for (const auto& order : schedule.order) ready.emplace_back(order.size(), 0.0);
  std::vector<double> free(schedule.ranks(), 0);
  const auto bound = [&](int rank, const Pass& pass) -> const PassBound& {
    return stages[schedule.placement[rank][pass.chunk]][static_cast<std::size_t>(pass.kind)];
  };
  const auto input = [&](int rank, const Pass& pass) {
    double at = 0;
    for (const PassPosition need : index.needs(rank, pass)) {
      if (need.exists()) at = std::max(at, ready[need.rank][need.index] + (need.rank == rank ? 0 : message(need.rank, rank)));
    }
    return at;
  };
  const auto one = [&](int rank, int at) {
    const PassBound& b = bound(rank, schedule.order[rank][at]);
    const double start = std::max(free[rank], input(rank, schedule.order[rank][at]) + b.lead);
    free[rank] = start + b.busy;
    ready[rank][at] = free[rank] + b.trail;
  };
  const auto pair = [&](int rank, int at) {
    const auto& order = schedule.order[rank];
    const double both = std::max(input(rank, order[at]), input(rank, order[at + 1]));
    const PassBound &a = bound(rank, order[at]), &b = bound(rank, order[at + 1]);
    double end = std::max(free[rank], both + std::min(a.lead, b.lead)) + a.compute + b.compute;
    int i = at;
    for (const PassBound* p : {&a, &b}) {
      const double done = std::max(free[rank], both + p->lead) + p->busy;
      ready[rank][i++] = done + p->trail;
      end = std::max(end, done);
    }
    free[rank] = end;
  };
  walk(schedule, index, [&](int rank, int first, int count) {
    if (count == 2 && paired) return pair(rank, first);
    for (int i = first; i < first + count; ++i) one(rank, i);
  });
  return free;
}

}  // namespace stepsim
