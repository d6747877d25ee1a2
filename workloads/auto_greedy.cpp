#include "workloads/auto_greedy.hpp"

#include <algorithm>
#include <limits>

namespace stepsim {

namespace {

constexpr double never = std::numeric_limits<double>::infinity();
constexpr double memory_tolerance = 1e-9;  // of a pass's worth of memory

// A pass that a rank could run, and from when on.
struct NextPass {
  PassKind kind = PassKind::forward;
  int chunk = -1;
  int microbatch = -1;
  double ready = never;

  bool exists() const { return chunk >= 0; }
};

class Greedy {
 public:
  Greedy(const GreedyRequest& request, const Preference& preference);
  std::optional<GreedyResult> run();

 private:
  struct Rank {
    double free = 0;  // when its last pass ends
    double wake = 0;  // when it is looked at next
    double held = 0;  // activations
    double cap = 0;
    std::vector<int> forwards, gradients;  // [chunk]: microbatches that have passed
    std::vector<Pass> put_off;             // weight gradients, in order
    std::size_t taken = 0;
    std::size_t left = 0;          // passes still to run
    double work = 0;               // their time
    std::vector<Pass> kept_order;  // forward passes and input gradients, where an order is kept
    std::size_t at = 0;            // the next of them
  };

  int chunks() const { return static_cast<int>(schedule_.placement[0].size()); }
  double length(int rank, PassKind kind, int chunk) const {
    return duration(*times_, kind, schedule_.placement[rank][chunk]).value;
  }
  double& ended(PassKind kind, int stage, int microbatch) {
    return ended_[kind == PassKind::forward ? 0 : 1]
                 [static_cast<std::size_t>(stage) * schedule_.microbatches + microbatch];
  }
  double arrival(int rank, PassKind kind, int from_stage, int microbatch);
  double gradient_ready(int rank, int chunk, int microbatch);
  const Pass* next_kept(int rank, PassKind kind) const;
  NextPass best_gradient(int rank);
  NextPass best_forward(int rank);
  NextPass choose(int rank, double now);
  void start(int rank, double now, const NextPass& candidate);

  const PassTimes* times_;
  Preference preference_;
  double kept_;
  Schedule schedule_;
  std::vector<int> rank_of_;  // [stage]
  std::vector<Rank> ranks_;
  bool keeps_order_ = false;
  double limit_;
  std::vector<double> ended_[2];  // forward, input gradient: [stage x microbatch]
};

Greedy::Greedy(const GreedyRequest& request, const Preference& preference)
    : times_(&request.times),
      preference_(preference),
      kept_(request.kept_for_weight),
      schedule_(request.shape),
      keeps_order_(request.keep_order),
      limit_(request.limit * (1 + 1e-12)) {
  schedule_.order.assign(schedule_.placement.size(), {});
  const std::size_t size = static_cast<std::size_t>(schedule_.stages) * schedule_.microbatches;
  for (auto& ended : ended_) ended.assign(size, never);
  rank_of_.resize(schedule_.stages);
  ranks_.resize(schedule_.placement.size());
  for (std::size_t r = 0; r < ranks_.size(); ++r) {
    Rank& rank = ranks_[r];
    rank.forwards.assign(chunks(), 0);
    rank.gradients.assign(chunks(), 0);
    const double wanted = request.memory_cap - preference.slope * chunks() * static_cast<double>(r);
    rank.cap = std::max<double>(wanted, chunks());  // one microbatch must always come through
    rank.left = static_cast<std::size_t>(3) * chunks() * schedule_.microbatches;
    for (int stage : schedule_.placement[r]) rank_of_[stage] = static_cast<int>(r);
    for (int chunk = 0; chunk < chunks(); ++chunk) {
      for (const PassKind kind : {PassKind::forward, PassKind::input_gradient, PassKind::weight_gradient}) {
        rank.work += schedule_.microbatches * length(static_cast<int>(r), kind, chunk);
      }
    }
    if (!request.keep_order) continue;
    for (Pass pass : request.shape.order[r]) {
      if (pass.kind == PassKind::weight_gradient) continue;
      if (pass.kind == PassKind::backward) pass.kind = PassKind::input_gradient;
      rank.kept_order.push_back(pass);
    }
  }
}

// The next pass of a kept order, if it is of that kind.
const Pass* Greedy::next_kept(int rank, PassKind kind) const {
  const Rank& state = ranks_[rank];
  if (state.at == state.kept_order.size() || state.kept_order[state.at].kind != kind) return nullptr;
  return &state.kept_order[state.at];
}

// When what a pass needs from another stage is there.
double Greedy::arrival(int rank, PassKind kind, int from_stage, int microbatch) {
  if (from_stage < 0 || from_stage >= schedule_.stages) return 0;
  const double end = ended(kind, from_stage, microbatch);
  return rank_of_[from_stage] == rank ? end : end + times_->communication.value;
}

double Greedy::gradient_ready(int rank, int chunk, int microbatch) {
  const int stage = schedule_.placement[rank][chunk];
  return std::max(ended(PassKind::forward, stage, microbatch),
                  arrival(rank, PassKind::input_gradient, stage + 1, microbatch));
}

NextPass Greedy::best_gradient(int rank) {
  NextPass best{PassKind::input_gradient, -1, -1, never};
  if (keeps_order_) {
    const Pass* pass = next_kept(rank, PassKind::input_gradient);
    if (pass) best = {pass->kind, pass->chunk, pass->microbatch, gradient_ready(rank, pass->chunk, pass->microbatch)};
    return best;
  }
  for (int i = 0; i < chunks(); ++i) {
    const int chunk = preference_.last_gradient_first ? i : chunks() - 1 - i;
    const int microbatch = ranks_[rank].gradients[chunk];
    if (microbatch == ranks_[rank].forwards[chunk]) continue;
    const double ready = gradient_ready(rank, chunk, microbatch);
    if (ready < best.ready) best = {PassKind::input_gradient, chunk, microbatch, ready};
  }
  return best;
}

// Of the forward passes that memory allows: chunk c leaves room for one pass of each later chunk, so that the oldest
// microbatch can always go on to the loss and come back, and nothing ever waits for memory for good.
NextPass Greedy::best_forward(int rank) {
  NextPass best{PassKind::forward, -1, -1, never};
  if (keeps_order_) {
    const Pass* pass = next_kept(rank, PassKind::forward);
    if (!pass || ranks_[rank].held + 1 > ranks_[rank].cap + memory_tolerance) return best;
    const int stage = schedule_.placement[rank][pass->chunk];
    return {pass->kind, pass->chunk, pass->microbatch, arrival(rank, PassKind::forward, stage - 1, pass->microbatch)};
  }
  for (int i = 0; i < chunks(); ++i) {
    const int chunk = preference_.later_chunk_first ? chunks() - 1 - i : i;
    const int microbatch = ranks_[rank].forwards[chunk];
    if (microbatch == schedule_.microbatches) continue;
    if (ranks_[rank].held + (chunks() - chunk) > ranks_[rank].cap + memory_tolerance) continue;
    const int stage = schedule_.placement[rank][chunk];
    const double ready = arrival(rank, PassKind::forward, stage - 1, microbatch);
    if (ready < best.ready) best = {PassKind::forward, chunk, microbatch, ready};
  }
  return best;
}

NextPass Greedy::choose(int rank, double now) {
  Rank& state = ranks_[rank];
  const NextPass gradient = best_gradient(rank);
  if (gradient.ready <= now) return gradient;
  const NextPass forward = best_forward(rank);
  const auto soon = [&](double part, double of) { return gradient.ready < now + part * of; };
  if (forward.ready <= now && !soon(preference_.hold, length(rank, PassKind::forward, forward.chunk))) return forward;
  const double next = forward.ready <= now ? gradient.ready : std::min(gradient.ready, forward.ready);
  if (state.taken < state.put_off.size()) {
    const Pass& pass = state.put_off[state.taken];
    const double fits = preference_.patience * length(rank, pass.kind, pass.chunk);
    if (next >= now + fits) return {PassKind::weight_gradient, pass.chunk, pass.microbatch, now};
  }
  return {PassKind::forward, -1, -1, next};  // wait
}

void Greedy::start(int rank, double now, const NextPass& candidate) {
  Rank& state = ranks_[rank];
  const int chunk = candidate.chunk;
  const int stage = schedule_.placement[rank][chunk];
  const double end = now + length(rank, candidate.kind, chunk);
  const Pass pass{candidate.kind, candidate.microbatch, chunk, false};
  if (keeps_order_ && candidate.kind != PassKind::weight_gradient) ++state.at;
  if (candidate.kind == PassKind::forward) {
    ++state.forwards[chunk];
    state.held += 1;
  } else if (candidate.kind == PassKind::input_gradient) {
    ++state.gradients[chunk];
    state.put_off.push_back({PassKind::weight_gradient, pass.microbatch, chunk, false});
    state.held -= 1 - kept_;
  } else {
    ++state.taken;
    state.held -= kept_;
  }
  if (candidate.kind != PassKind::weight_gradient) {
    ended(candidate.kind, stage, pass.microbatch) = end;
    const int next = candidate.kind == PassKind::forward ? stage + 1 : stage - 1;
    if (next >= 0 && next < schedule_.stages) {
      Rank& other = ranks_[rank_of_[next]];
      other.wake = std::min(other.wake, std::max(other.free, now));  // it now knows when this arrives
    }
  }
  schedule_.order[rank].push_back(pass);
  --state.left;
  state.work -= end - now;
  state.free = end;
  state.wake = end;
}

std::optional<GreedyResult> Greedy::run() {
  for (;;) {
    int rank = -1;
    for (std::size_t r = 0; r < ranks_.size(); ++r) {
      if (ranks_[r].left > 0 && (rank < 0 || ranks_[r].wake < ranks_[rank].wake)) rank = static_cast<int>(r);
    }
    if (rank < 0) break;
    const double now = ranks_[rank].wake;
    if (now == never || now + ranks_[rank].work > limit_) return std::nullopt;
    const NextPass candidate = choose(rank, now);
    if (candidate.exists()) {
      start(rank, now, candidate);
    } else {
      ranks_[rank].wake = candidate.ready;
    }
  }
  Seconds makespan;
  for (const Rank& rank : ranks_) makespan = std::max(makespan, Seconds(rank.free));
  return GreedyResult{std::move(schedule_), makespan};
}

}  // namespace

std::optional<GreedyResult> greedy_schedule(const GreedyRequest& request, const Preference& preference) {
  return Greedy(request, preference).run();
}

}  // namespace stepsim
