#include "workloads/step_schedule.hpp"

#include <algorithm>
#include <map>
#include <optional>

#include "workloads/auto_schedule.hpp"
#include "workloads/plan_schedule.hpp"

namespace stepsim {
namespace {

constexpr int kMostChunks = 4;  // of a rank, where the plan does not say more: each costs messages and memory
constexpr int kTries = 5;
constexpr std::size_t kMostOffers = 8;
constexpr double kNear = 1.1;  // planned times leave out contention and what pairs of passes hide

double planned_pass(const StepContext& context, int block, PassKind pass) {
  double seconds = 0;
  const auto& segments = context.planned_segments[context.blocks.kind_of[block]][static_cast<std::size_t>(pass)];
  for (std::size_t i = 0; i < segments.size(); ++i) {
    const bool hidden =
        segments[i].call != nullptr && policy_of(context.plan, segments[i].call->group) != Overlap::Policy::blocking;
    if (!hidden) seconds += context.planned_seconds_of(block, pass, static_cast<int>(i));
  }
  return seconds;
}

// Offers from the table and from the search, the best so far kept.
class Choice {
 public:
  Choice(const StepContext& context, double message, const std::function<StageBlocks(int)>& split)
      : c_(context), message_(message), split_(split) {}

  struct Trial {
    PassPlan passes;
    Seconds makespan;
    double memory = 0;  // bytes on the fullest rank
  };

  const Trial& offer(Schedule schedule, const std::string& origin) {
    const StageBlocks& blocks = blocks_of(schedule.stages);
    const PassTimes times = planned_times(c_, blocks, message_);
    last_ = {{std::move(schedule), blocks, origin}, {}, 0};
    last_.makespan = times_of(last_.passes.schedule, times).makespan;
    for (const MemoryUse& use : memory(last_.passes.schedule)) last_.memory = std::max(last_.memory, use.total().value);
    trials_.push_back(last_);
    return last_;
  }

  bool fits(const Trial& trial) const { return trial.memory <= c_.cluster.gpu.memory.value; }

  const StageBlocks& blocks_of(int stages) {
    const auto [it, fresh] = splits_.try_emplace(stages);
    if (fresh) it->second = split_(stages);
    return it->second;
  }

  std::vector<MemoryUse> memory(const Schedule& schedule) {
    return memory_of(c_.plan, schedule, c_.blocks, blocks_of(schedule.stages), {c_.dense_shards, c_.expert_shards},
                     c_.model);
  }

  // The best and those near it, best first; all fit if the best does.
  std::vector<PassPlan> best() && {
    std::stable_sort(trials_.begin(), trials_.end(), [&](const Trial& a, const Trial& b) { return better(a, b); });
    const double limit = trials_.front().makespan.value * kNear;
    const bool fit = fits(trials_.front());
    std::vector<PassPlan> offers;
    for (Trial& trial : trials_) {
      if (offers.size() == kMostOffers || trial.makespan.value > limit) break;
      if (fits(trial) != fit) break;
      const auto same = [&](const PassPlan& offer) { return offer.schedule == trial.passes.schedule; };
      if (std::none_of(offers.begin(), offers.end(), same)) offers.push_back(std::move(trial.passes));
    }
    return offers;
  }

 private:
  bool better(const Trial& a, const Trial& b) const {
    if (fits(a) != fits(b)) return fits(a);
    if (!fits(a) && a.memory != b.memory) return a.memory < b.memory;
    return a.makespan < b.makespan;
  }

  const StepContext& c_;
  double message_;
  const std::function<StageBlocks(int)>& split_;
  std::map<int, StageBlocks> splits_;
  Trial last_;
  std::vector<Trial> trials_;
};

int most_chunks(const StepContext& context) {
  const Parallel& p = context.plan.parallel;
  if (!context.plan.stage_layers.empty()) return 1;  // a number of layers for each rank
  const int wanted = p.virtual_stages > 1 ? p.virtual_stages : kMostChunks;
  return std::max(1, std::min(wanted, context.blocks.size() / p.pipeline));
}

void offer_table(const StepContext& context, int microbatches, Choice& choice) {
  const int most = most_chunks(context);
  for (const ScheduleKind& kind : schedules()) {
    if (kind.copies != 1) continue;
    for (int chunks = 1; chunks <= most; ++chunks) {
      if (kind.fixed_chunks != 0 && chunks != kind.fixed_chunks) continue;
      const ScheduleShape shape{context.plan.parallel.pipeline, chunks, microbatches};
      if (kind.refuses(shape).empty()) choice.offer(kind.make(shape), std::string(kind.name));
    }
  }
}

// Memory for activations, in microbatches of a rank's share of the model: of the rank that has room for fewest. Returns
// what the fullest rank needs beside activations, in bytes.
double set_memory(const StepContext& context, Choice& choice, AutoRequest& request) {
  const Schedule one = find_schedule("gpipe")->make({request.ranks, 1, 1});
  const std::vector<MemoryUse> uses = choice.memory(one);
  const StageBlocks& blocks = choice.blocks_of(request.ranks);
  request.memory_cap = request.microbatches;
  request.kept_for_weight = 0;
  double states = 0;
  for (int rank = 0; rank < request.ranks; ++rank) {
    double kept = 0, kept_for_weight = 0;
    for (const int block : blocks[rank]) {
      kept += context.blocks.block(block).activations.kept.value;
      kept_for_weight += context.blocks.block(block).activations.weight_grad_kept.value;
    }
    states = std::max(states, (uses[rank].total() - uses[rank].activations).value);
    if (kept <= 0) continue;
    const double room = (context.cluster.gpu.memory - uses[rank].total()).value;
    request.memory_cap = std::max(1.0, std::min(request.memory_cap, 1 + room / kept));
    request.kept_for_weight = std::max(request.kept_for_weight, std::min(1.0, kept_for_weight / kept));
  }
  return states;
}

// Looks with at most so many chunks a rank. What a weight gradient still needs can be more than the activations that a
// plan with recompute keeps, and stages are uneven: where what was found does not fit, the memory asked for is narrowed
// down between what fitted and what did not.
void search(const StepContext& context, AutoRequest request, double states, Choice& choice) {
  const double room = context.cluster.gpu.memory.value - states;
  double fitted = 0, too_much = 0;
  for (int i = 0; i < kTries; ++i) {
    const AutoSchedule found = automatic_schedule(request);
    const Choice::Trial& trial = choice.offer(found.schedule, found.origin);
    (choice.fits(trial) ? fitted : too_much) = std::min(request.memory_cap, found.memory);
    if (too_much == 0 || too_much <= 1 || room <= 0) return;
    const double in_proportion = too_much * room / (trial.memory - states);
    request.memory_cap = std::max(1.0, fitted == 0 ? in_proportion : (fitted + too_much) / 2);
  }
}

}  // namespace

PassTimes planned_times(const StepContext& context, const StageBlocks& stage_blocks, double seconds_of_message) {
  std::vector<std::array<double, 4>> of_kind(context.blocks.kinds.size());
  for (int block = 0; block < context.blocks.size(); ++block) {
    for (const PassKind pass : {PassKind::forward, PassKind::input_gradient, PassKind::weight_gradient}) {
      of_kind[context.blocks.kind_of[block]][static_cast<std::size_t>(pass)] = planned_pass(context, block, pass);
    }
  }
  PassTimes times;
  times.communication = Seconds(seconds_of_message);
  for (const std::vector<int>& blocks : stage_blocks) {
    StageTimes& stage = times.stages.emplace_back();
    for (const int block : blocks) {
      const auto& of = of_kind[context.blocks.kind_of[block]];
      stage.forward += Seconds(of[static_cast<std::size_t>(PassKind::forward)]);
      stage.input_gradient += Seconds(of[static_cast<std::size_t>(PassKind::input_gradient)]);
      stage.weight_gradient += Seconds(of[static_cast<std::size_t>(PassKind::weight_gradient)]);
    }
  }
  return times;
}

std::vector<PassPlan> automatic_passes(const StepContext& context, int microbatches, double seconds_of_message,
                          const std::function<StageBlocks(int stages)>& split) {
  Choice choice(context, seconds_of_message, split);
  offer_table(context, microbatches, choice);
  AutoRequest request;
  request.ranks = context.plan.parallel.pipeline;
  request.microbatches = microbatches;
  request.times = planned_times(context, choice.blocks_of(request.ranks), seconds_of_message);
  const double states = set_memory(context, choice, request);
  const int most = most_chunks(context);
  for (request.most_chunks = 1; request.most_chunks <= most; request.most_chunks += std::max(1, most - 1)) {
    search(context, request, states, choice);
  }
  return std::move(choice).best();
}

}  // namespace stepsim
