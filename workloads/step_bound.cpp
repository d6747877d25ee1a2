#include "workloads/step_bound.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>
#include <stdexcept>

#include "sim/cost/kernel.hpp"
#include "workloads/check.hpp"
#include "workloads/plan_schedule.hpp"
#include "workloads/stages.hpp"
#include "workloads/step_experts.hpp"
#include "workloads/step_parts.hpp"

namespace stepsim {
namespace {

constexpr double kRounding = 1 - 1e-9;  // sums here and in a simulation are not in the same order
constexpr std::array<PassKind, 4> kPasses{PassKind::forward, PassKind::backward, PassKind::input_gradient,
                                          PassKind::weight_gradient};

// Where groups of ranks lie: of all plans with these degrees.
struct Layout {
  std::string key;
  Grid grid;
  std::map<int, RankLists> dense, expert;                  // [copies]
  std::map<std::pair<int, int>, double> message_per_byte;  // between pipeline ranks
};

// The kinds of block of a plan, and what their passes need.
struct BlockSet {
  std::string key;
  BlockList list;
  std::vector<std::array<std::vector<Segment>, 4>> segments;  // [kind of block][pass kind]
  std::vector<double> seconds;                                // [block] forward and backward compute, as stages are split by
  std::map<int, std::vector<std::vector<int>>> split;         // [stages], of automatic stages
  std::map<std::string, std::vector<PassBounds>> bounds;      // by layout and policies: [kind of block]
};

struct Passes {
  std::string key;
  Schedule schedule;
  bool pairs = false;
};

// Seconds of a rank's collectives over a step.
struct Sums {
  std::vector<double> wires;
  std::array<double, 3> streams{};
  double gather = 0, reduce = 0;
};

GroupKey key_of(GroupKind kind) {
  switch (kind) {
    case GroupKind::tensor: return tensor_key;
    case GroupKind::context: return context_key;
    case GroupKind::expert: return expert_key;
    case GroupKind::expert_tensor: break;
  }
  return expert_tensor_key;
}

}  // namespace

class Bounds::Parts {
 public:
  Parts(const ModelSpec& model, const ClusterSpec& cluster)
      : model_(model), cluster_(cluster), groups_(cluster), state_groups_(cluster), speed_(fastest(cluster)) {}

  StepBound of(const ParallelPlan& plan) {
    require_alike(plan);
    trim();
    Layout& layout = layout_of(plan);
    BlockSet& blocks = blocks_of(plan);
    const int microbatches = static_cast<int>(microbatches_of(plan, cluster_));
    const Passes& passes = passes_of(plan, microbatches);
    const auto& stage_blocks = split(plan, blocks, passes.schedule.stages);
    const States states = states_of(plan, layout);
    StepBound bound;
    bound.memory_bytes = memory(plan, passes.schedule, blocks, stage_blocks, states);
    if (!promises(plan)) return bound;
    const std::vector<PassBounds>& of_kind = bounds_of(plan, blocks);
    std::vector<PassBounds> stages;
    for (const auto& list : stage_blocks) stages.push_back(stage_bounds(blocks, of_kind, list));
    const std::vector<double>& ends = ends_of(plan, layout, blocks, passes, stages);
    for (int rank = 0; rank < passes.schedule.ranks(); ++rank) {
      consider(bound, ends[rank] + tail(plan, layout, blocks, stage_blocks, passes.schedule, states, rank), "schedule");
      consider_sums(bound, sums(plan, layout, blocks, stage_blocks, stages, passes.schedule, states, rank));
    }
    bound.seconds *= kRounding;
    return bound;
  }

  StepBound least(ParallelPlan plan) {
    require_alike(plan);
    trim();
    plan.recompute = {};
    const BlockSet& blocks = blocks_of(plan);
    const double ranks = plan.parallel.pipeline;
    double busy = 0, states = 0;
    for (int b = 0; b < blocks.list.size(); ++b) {
      busy += blocks.seconds[b];
      states += least_states(plan, blocks.list.block(b).parameters);
    }
    StepBound bound;
    bound.by = "compute";
    // The mean over pipeline ranks: the slowest needs no less.
    if (promises(plan)) bound.seconds = microbatches_of(plan, cluster_) * busy / ranks / speed_ * kRounding;
    bound.memory_bytes = states / ranks * kRounding;
    return bound;
  }

  StepBound least_with_wires(ParallelPlan plan) {
    StepBound bound = least(plan);
    if (!promises(plan)) return bound;
    plan.recompute = {};
    if (plan.overlap.expert == Overlap::Policy::paired) plan.overlap.expert = Overlap::Policy::async;
    BlockSet& blocks = blocks_of(plan);
    const std::vector<PassBounds>& of_kind = bounds_of(plan, blocks);
    double busy = 0;
    Sums sum;
    sum.wires.assign(cluster_.tiers.size(), 0);
    // Of an overlapped pair, compute is all that surely takes time; schedules without pairs also pay what blocks.
    for (int b = 0; b < blocks.list.size(); ++b) {
      const PassBounds& p = of_kind[blocks.list.kind_of[b]];
      busy += p[0].busy + std::min(p[1].busy, p[2].busy + p[3].busy);
      const bool split = p[1].streams[2] > p[2].streams[2] + p[3].streams[2];
      for (const std::size_t pass : split ? std::vector<std::size_t>{0, 2, 3} : std::vector<std::size_t>{0, 1}) {
        for (std::size_t t = 0; t < p[pass].wires.size(); ++t) sum.wires[t] += p[pass].wires[t];
        for (std::size_t i = 0; i < sum.streams.size(); ++i) sum.streams[i] += p[pass].streams[i];
      }
    }
    const double share = microbatches_of(plan, cluster_) / plan.parallel.pipeline * kRounding;
    const bool paired_possible = model_.experts.count > 0;
    if (!paired_possible) consider(bound, share * busy, "schedule");
    for (std::size_t t = 0; t < sum.wires.size(); ++t) consider(bound, share * sum.wires[t], cluster_.tiers[t]);
    consider(bound, share * sum.streams[0], "tensor");
    consider(bound, share * sum.streams[1], "context");
    consider(bound, share * sum.streams[2], "expert");
    return bound;
  }

 private:
  struct States {
    int copies = 1, dense_replicas = 1, expert_replicas = 1, dense_shards = 1, expert_shards = 1;
  };

  // What the caches' keys leave out.
  void require_alike(const ParallelPlan& plan) {
    ParallelPlan shared;
    shared.precision = plan.precision;
    shared.collectives = plan.collectives;
    shared.sms = plan.sms;
    shared.routing = plan.routing;
    shared.rates = plan.rates;
    shared.kernels = plan.kernels;
    shared.clip_gradients = plan.clip_gradients;
    shared.stage_layers = plan.stage_layers;
    shared.overlap = plan.overlap;
    shared.overlap.expert = {};
    if (!shared_) shared_ = shared;
    if (!(*shared_ == shared)) throw std::logic_error("Bounds: plans differ in more than it keeps apart");
  }

  bool promises(const ParallelPlan& plan) const {
    return plan.routing.kind == Routing::Balance::uniform && cluster_.jitter == Jitter{} && cluster_.reroutings.empty() &&
           cluster_.avoided.empty();
  }

  // Speed of the fastest rank, whenever that is.
  static double fastest(const ClusterSpec& cluster) {
    double speed = cluster.speed.empty() ? 1 : *std::max_element(cluster.speed.begin(), cluster.speed.end());
    for (const auto& [rank, changes] : cluster.speed_changes) {
      for (const Change& change : changes) speed = std::max(speed, change.value);
    }
    return speed;
  }

  static void consider(StepBound& bound, double seconds, const std::string& by) {
    if (seconds <= bound.seconds) return;
    bound.seconds = seconds;
    bound.by = by;
  }

  void consider_sums(StepBound& bound, const Sums& sums) const {
    for (std::size_t t = 0; t < sums.wires.size(); ++t) consider(bound, sums.wires[t], cluster_.tiers[t]);
    consider(bound, sums.streams[0], "tensor");
    consider(bound, sums.streams[1], "context");
    consider(bound, sums.streams[2], "expert");
    consider(bound, sums.gather, "gather");
    consider(bound, sums.reduce, "reduce");
  }

  // ---- what plans share

  // Caches must not grow with the number of plans: they pay within one shape and are rebuilt in no time.
  void trim() {
    constexpr std::size_t kMostLayouts = 16, kMostBlocks = 256, kMostPasses = 512;
    if (layouts_.size() > kMostLayouts || blocks_.size() > kMostBlocks || passes_.size() > kMostPasses) {
      layouts_.clear();
      blocks_.clear();
      passes_.clear();
      state_calls_.clear();
      ends_.clear();
      state_groups_.forget();
    }
  }

  Layout& layout_of(const ParallelPlan& plan) {
    const Parallel& p = plan.parallel;
    std::string key = fmt::format("{} {} {} {} {} {}", p.tensor, p.context, p.pipeline, p.expert, p.expert_tensor, p.data);
    for (const Axis axis : p.order) key += to_text(axis)[0];
    const auto [it, fresh] = layouts_.try_emplace(key);
    Layout& layout = it->second;
    if (!fresh) return layout;
    layout.key = key;
    layout.grid = make_grid(plan, cluster_.ranks());
    return layout;
  }

  const RankLists& replicas(Layout& layout, bool expert, int copies) {
    auto& known = expert ? layout.expert : layout.dense;
    const auto [it, fresh] = known.try_emplace(copies);
    if (fresh) it->second = expert ? expert_lists(layout.grid, copies) : dense_lists(layout.grid, copies);
    return it->second;
  }

  BlockSet& blocks_of(const ParallelPlan& plan) {
    const Parallel& p = plan.parallel;
    const Batch& b = plan.batch;
    std::string key = fmt::format("{} {} {} {} {} {} / {} {}", p.tensor, p.sequence, p.context, static_cast<int>(p.context_method),
                                  p.expert, p.expert_tensor, b.microbatch_sequences, b.sequence_length);
    key += plan.recompute.full ? fmt::format(" full {}", plan.recompute.layers) : "";
    for (const Module m : plan.recompute.modules) key += fmt::format(" {}", to_text(m));
    const auto [it, fresh] = blocks_.try_emplace(key);
    BlockSet& set = it->second;
    if (!fresh) return set;
    set.key = key;
    set.list = make_blocks(model_, plan);
    const int sms = compute_sms(plan);
    for (const Block& block : set.list.kinds) {
      auto& of_kind = set.segments.emplace_back();
      for (const PassKind pass : kPasses) of_kind[static_cast<std::size_t>(pass)] = segments_of(block, pass, cluster_.gpu, sms);
    }
    for (int i = 0; i < set.list.size(); ++i) {
      const auto& of_kind = set.segments[set.list.kind_of[i]];
      set.seconds.push_back(seconds_of(of_kind[0]) + seconds_of(of_kind[1]));
    }
    return set;
  }

  int compute_sms(const ParallelPlan& plan) const {
    return cluster_.gpu.sms - (plan.sms.policy == SmUse::Sharing::shared ? 0 : plan.sms.communication);
  }

  const std::vector<std::vector<int>>& split(const ParallelPlan& plan, BlockSet& blocks, int stages) {
    const auto [it, fresh] = blocks.split.try_emplace(stages);
    if (fresh) it->second = split_into_stages(plan, stages, blocks.seconds);
    return it->second;
  }

  const Passes& passes_of(const ParallelPlan& plan, int microbatches) {
    const std::string key = fmt::format("{} {} {} {}", plan.schedule, plan.parallel.pipeline, plan.parallel.virtual_stages, microbatches);
    const auto [it, fresh] = passes_.try_emplace(key);
    if (fresh) {
      it->second.key = key;
      it->second.schedule = schedule_of(plan, microbatches);
      it->second.pairs = has_pairs(it->second.schedule);
    }
    return it->second;
  }

  States states_of(const ParallelPlan& plan, Layout& layout) {
    States s;
    s.copies = copies_of(plan);
    s.dense_replicas = layout.grid.data * layout.grid.context * s.copies;
    s.expert_replicas = layout.grid.expert_data * s.copies;
    s.dense_shards = shard_degree(plan, cluster_, replicas(layout, false, s.copies));
    s.expert_shards = shard_degree(plan, cluster_, replicas(layout, true, s.copies));
    return s;
  }

  // ---- memory

  double memory(const ParallelPlan& plan, const Schedule& schedule, const BlockSet& blocks,
                const std::vector<std::vector<int>>& stage_blocks, const States& s) const {
    double peak = 0;
    const auto take = [&](const BlockList& list) {
      for (const MemoryUse& use : memory_of(plan, schedule, list, stage_blocks, {s.dense_shards, s.expert_shards}, model_)) {
        peak = std::max(peak, use.total().value);
      }
    };
    if (promises(plan)) {
      take(blocks.list);
    } else {
      const ExpertPlaces places(model_, plan);
      for (int kind = 0; kind < places.kinds(); ++kind) take(places.blocks(kind));
    }
    return peak;
  }

  // Of one copy, with everything sharded that ZeRO may shard, over as many ranks as there can be.
  double least_states(const ParallelPlan& plan, const BlockParameters& p) const {
    const Precisions& bytes = plan.precision;
    const Parallel& degrees = plan.parallel;
    const double copies = 2, whole = p.dense + p.expert;
    const double experts = static_cast<double>(cluster_.ranks()) / (degrees.expert * degrees.expert_tensor * degrees.pipeline);
    const double cut = p.dense / (copies * degrees.data * degrees.context) + p.expert / (copies * experts);
    return (plan.parallel.pipeline == 1 ? cut : whole) * bytes_per_element(bytes.gradients) +
           cut * (bytes_per_element(bytes.weights) + bytes_per_element(bytes.master) + 2 * bytes_per_element(bytes.moments));
  }

  // ---- time

  const std::vector<PassBounds>& bounds_of(const ParallelPlan& plan, BlockSet& blocks) {
    const Overlap& o = plan.overlap;
    const bool blocking = o.expert == Overlap::Policy::blocking;  // async and paired wait for the same
    std::string key = fmt::format("{} {} {}", static_cast<int>(o.tensor), static_cast<int>(o.context), blocking);
    for (const GroupKind kind : {GroupKind::tensor, GroupKind::context, GroupKind::expert, GroupKind::expert_tensor}) {
      const auto [stride, size] = stride_and_size(plan, kind);
      key += fmt::format(" {} {}", stride, size);
    }
    const auto [it, fresh] = blocks.bounds.try_emplace(key);
    if (!fresh) return it->second;
    const auto call = [&](const CollectiveCall& c) { return call_bound(plan, c); };
    for (const auto& of_kind : blocks.segments) {
      PassBounds& bounds = it->second.emplace_back();
      for (std::size_t pass = 0; pass < of_kind.size(); ++pass) bounds[pass] = bound_of(of_kind[pass], plan, speed_, call);
    }
    return it->second;
  }

  CallBound call_bound(const ParallelPlan& plan, const CollectiveCall& call) {
    const PatternKey key = pattern_key(plan, call);
    const auto [stride, size] = stride_and_size(plan, call.group);
    const std::string of = fmt::format("{} {}", stride, size);
    const TokenRouting routing = key.routed ? equal_routing(model_, plan) : TokenRouting{};
    const GroupBound* group = groups_.find(of, key.operation, key.algorithm, routing);
    if (group == nullptr) {
      group = &groups_.of(of, strided(cluster_.ranks(), stride, size), key.operation, key.algorithm, routing);
    }
    return scaled(*group, call.payload.value);
  }

  // Where the groups of a kind stand: as Grid counts ranks, fastest digit first.
  static std::pair<int, int> stride_and_size(const ParallelPlan& plan, GroupKind kind) {
    const Parallel& p = plan.parallel;
    const bool dense = kind == GroupKind::tensor || kind == GroupKind::context;
    int stride = 1;
    for (const Axis axis : p.order) {
      if (dense) {
        if (axis == Axis::tensor && kind == GroupKind::tensor) return {stride, p.tensor};
        if (axis == Axis::context && kind == GroupKind::context) return {stride, p.context};
        stride *= axis == Axis::tensor ? p.tensor : axis == Axis::context ? p.context : axis == Axis::data ? p.data
                : axis == Axis::pipeline ? p.pipeline : 1;
      } else {
        if (axis == Axis::tensor && kind == GroupKind::expert_tensor) return {stride, p.expert_tensor};
        if (axis == Axis::expert && kind == GroupKind::expert) return {stride, p.expert};
        // Experts' data digit counts what expert and expert_tensor leave of a stage's ranks.
        const int data = p.data * p.tensor * p.context / (p.expert * p.expert_tensor);
        stride *= axis == Axis::tensor ? p.expert_tensor : axis == Axis::expert ? p.expert : axis == Axis::data ? data
                : axis == Axis::pipeline ? p.pipeline : 1;
      }
    }
    return {stride, 1};
  }

  static CallBound scaled(const GroupBound& group, double bytes) {
    CallBound bound{group.seconds_per_byte * bytes, group.port};
    for (double& wire : bound.wires) wire *= bytes;
    return bound;
  }

  // The same for all ZeRO stages.
  const std::vector<double>& ends_of(const ParallelPlan& plan, Layout& layout, const BlockSet& blocks, const Passes& passes,
                                     const std::vector<PassBounds>& stages) {
    const bool paired = passes.pairs && plan.overlap.expert == Overlap::Policy::paired;
    const std::string key = fmt::format("{} / {} / {} {} {} {}", layout.key, blocks.key, passes.key, paired,
                                        plan.overlap.expert == Overlap::Policy::blocking, plan.parallel.sequence);
    const auto [it, fresh] = ends_.try_emplace(key);
    if (fresh) {
      it->second = earliest_ends(passes.schedule, stages, paired,
                                 [&](int from, int to) { return message(plan, layout, from, to); });
    }
    return it->second;
  }

  PassBounds stage_bounds(const BlockSet& blocks, const std::vector<PassBounds>& of_kind, const std::vector<int>& list) const {
    PassBounds stage;
    for (std::size_t i = 0; i < list.size(); ++i) {
      for (const PassKind pass : kPasses) {
        const auto at = static_cast<std::size_t>(pass);
        const int block = pass == PassKind::forward ? list[i] : list[list.size() - 1 - i];
        const PassBound& next = of_kind[blocks.list.kind_of[block]][at];
        if (i == 0) {
          stage[at] = next;
        } else {
          stage[at].then(next);
        }
      }
    }
    return stage;
  }

  double message(const ParallelPlan& plan, Layout& layout, int from, int to) {
    const auto [it, fresh] = layout.message_per_byte.try_emplace({from, to});
    if (fresh) {
      std::vector<RankId> senders, receivers;
      for (RankId r = 0; r < layout.grid.world; ++r) {
        if (layout.grid.place[r].pipeline == from) senders.push_back(r);
        if (layout.grid.place[r].pipeline == to) receivers.push_back(r);
      }
      it->second = groups_.message(senders[0], receivers[0]);
      for (std::size_t i = 1; i < senders.size(); ++i) it->second = std::min(it->second, groups_.message(senders[i], receivers[i]));
    }
    return it->second * message_bytes(model_, plan);
  }

  // A block's gradient reduction, as ProgramBuilder writes it.
  CallBound reduction(const ParallelPlan& plan, Layout& layout, const BlockParameters& p, const States& s) {
    CallBound sum{0, std::vector<double>(cluster_.tiers.size(), 0)};
    add_reduction(sum, plan, layout, p.dense, false, s.copies, s.dense_replicas, s.dense_shards);
    add_reduction(sum, plan, layout, p.expert, true, s.copies, s.expert_replicas, s.expert_shards);
    return sum;
  }

  void add_reduction(CallBound& sum, const ParallelPlan& plan, Layout& layout, double parameters, bool expert, int copies,
                     int replicas_, int shards) {
    if (parameters <= 0 || replicas_ <= 1) return;
    const double bytes = parameters * bytes_per_element(plan.precision.reduce);
    const bool sharded = plan.parallel.zero > 0 && shards > 1;
    if (sharded) add(sum, state_call(layout, expert, copies, shards, false, Operation::reduce_scatter, plan.collectives.reduce_scatter, bytes));
    const int groups = sharded ? replicas_ / shards : replicas_;
    if (groups <= 1) return;
    add(sum, state_call(layout, expert, copies, shards, true, Operation::all_reduce, plan.collectives.all_reduce,
                        sharded ? bytes / shards : bytes));
  }

  CallBound gather(const ParallelPlan& plan, Layout& layout, const BlockParameters& p, const States& s) {
    CallBound sum{0, std::vector<double>(cluster_.tiers.size(), 0)};
    const double each = bytes_per_element(plan.precision.gather);
    const std::string& algorithm = plan.collectives.all_gather;
    if (p.dense > 0 && s.dense_shards > 1) {
      add(sum, state_call(layout, false, s.copies, s.dense_shards, false, Operation::all_gather, algorithm, p.dense * each));
    }
    if (p.expert > 0 && s.expert_shards > 1) {
      add(sum, state_call(layout, true, s.copies, s.expert_shards, false, Operation::all_gather, algorithm, p.expert * each));
    }
    return sum;
  }

  CallBound state_call(Layout& layout, bool expert, int copies, int shards, bool across, Operation operation,
                       const std::string& algorithm, double bytes) {
    const std::string key = fmt::format("{} state {} {} {} {}", layout.key, expert, copies, shards, across);
    const std::string full = fmt::format("{} {} {}", key, static_cast<int>(operation), algorithm);
    auto it = state_calls_.find(full);
    if (it == state_calls_.end()) {
      const RankLists lists = cut(replicas(layout, expert, copies), static_cast<std::size_t>(shards), across);
      it = state_calls_.emplace(full, state_groups_.of(key, lists, operation, algorithm, {})).first;
    }
    return scaled(it->second, bytes);
  }

  static void add(CallBound& sum, const CallBound& more, double times = 1) {
    sum.seconds += times * more.seconds;
    for (std::size_t t = 0; t < sum.wires.size(); ++t) sum.wires[t] += times * more.wires[t];
  }

  // After a rank's last compute: reductions that wait for it, the optimizer, the gather of the new parameters.
  double tail(const ParallelPlan& plan, Layout& layout, const BlockSet& blocks, const std::vector<std::vector<int>>& stage_blocks,
              const Schedule& schedule, const States& s, int rank) {
    double seconds = 0, parameters = 0;
    const bool late = s.copies > 1 || plan.overlap.reduce == Overlap::Reduce::at_end;
    const bool all_late = late && !plan.parallel.reduces_each_microbatch();
    const bool sharded = plan.parallel.zero > 0;
    const bool gathers = (plan.parallel.zero == 1 || plan.parallel.zero == 2) && plan.overlap.parameters == Overlap::Parameters::at_end;
    for (const int stage : schedule.placement[rank]) {
      for (const int b : stage_blocks[stage]) {
        const BlockParameters& p = blocks.list.block(b).parameters;
        parameters += p.dense / (sharded ? s.dense_shards : 1) + p.expert / (sharded ? s.expert_shards : 1);
        if (all_late) seconds += reduction(plan, layout, p, s).seconds;
        if (gathers) seconds += gather(plan, layout, p, s).seconds;
      }
    }
    if (!all_late && !schedule.order[rank].empty()) {
      // The last pass ends with its stage's first block, whose gradients are reduced after that.
      const int stage = schedule.placement[rank][schedule.order[rank].back().chunk];
      seconds += reduction(plan, layout, blocks.list.block(stage_blocks[stage].front()).parameters, s).seconds;
    }
    const KernelCost cost = cost_of(optimizer_kernel(parameters, plan.precision), cluster_.gpu, compute_sms(plan));
    return seconds + cost.time.value / speed_;
  }

  Sums sums(const ParallelPlan& plan, Layout& layout, const BlockSet& blocks, const std::vector<std::vector<int>>& stage_blocks,
            const std::vector<PassBounds>& stages, const Schedule& schedule, const States& s, int rank) {
    Sums sum;
    sum.wires.assign(cluster_.tiers.size(), 0);
    std::map<std::pair<int, int>, double> count;  // passes by stage and kind
    for (const Pass& pass : schedule.order[rank]) ++count[{schedule.placement[rank][pass.chunk], static_cast<int>(pass.kind)}];
    for (const auto& [which, times] : count) {
      const PassBound& bound = stages[which.first][static_cast<std::size_t>(which.second)];
      for (std::size_t t = 0; t < bound.wires.size(); ++t) sum.wires[t] += times * bound.wires[t];
      for (std::size_t i = 0; i < sum.streams.size(); ++i) sum.streams[i] += times * bound.streams[i];
    }
    add_states(sum, plan, layout, blocks, stage_blocks, schedule, s, rank);
    return sum;
  }

  void add_states(Sums& sum, const ParallelPlan& plan, Layout& layout, const BlockSet& blocks,
                  const std::vector<std::vector<int>>& stage_blocks, const Schedule& schedule, const States& s, int rank) {
    const Parallel& p = plan.parallel;
    CallBound reduced{0, sum.wires}, gathered{0, std::vector<double>(sum.wires.size(), 0)};
    std::fill(reduced.wires.begin(), reduced.wires.end(), 0);
    for (std::size_t chunk = 0; chunk < schedule.placement[rank].size(); ++chunk) {
      double forwards = 0, input_gradients = 0, gradients = 0;  // passes of the chunk
      for (const Pass& pass : schedule.order[rank]) {
        if (pass.chunk != static_cast<int>(chunk)) continue;
        forwards += pass.kind == PassKind::forward;
        input_gradients += pass.kind == PassKind::backward || pass.kind == PassKind::input_gradient;
        gradients += pass.kind == PassKind::backward || pass.kind == PassKind::weight_gradient;
      }
      const double reductions = p.reduces_each_microbatch() ? gradients : 1;
      double gathers = p.zero == 1 || p.zero == 2 ? 1 : 0;
      if (p.zero == 3) gathers = p.reshard_after_forward ? forwards + input_gradients : p.pipeline > 1 ? 1 : forwards;
      for (const int b : stage_blocks[schedule.placement[rank][chunk]]) {
        const BlockParameters& parameters = blocks.list.block(b).parameters;
        add(reduced, reduction(plan, layout, parameters, s), reductions);
        if (gathers > 0) add(gathered, gather(plan, layout, parameters, s), gathers);
      }
    }
    sum.reduce = reduced.seconds;
    sum.gather = gathered.seconds;
    for (std::size_t t = 0; t < sum.wires.size(); ++t) sum.wires[t] += reduced.wires[t] + gathered.wires[t];
  }

  const ModelSpec& model_;
  const ClusterSpec& cluster_;
  GroupBounds groups_, state_groups_;
  double speed_;
  std::optional<ParallelPlan> shared_;
  std::map<std::string, Layout> layouts_;
  std::map<std::string, BlockSet> blocks_;
  std::map<std::string, Passes> passes_;
  std::map<std::string, GroupBound> state_calls_;
  std::map<std::string, std::vector<double>> ends_;
};

Bounds::Bounds(const ModelSpec& model, const ClusterSpec& cluster) : parts_(std::make_unique<Parts>(model, cluster)) {}
Bounds::~Bounds() = default;
StepBound Bounds::of(const ParallelPlan& plan) { return parts_->of(plan); }
StepBound Bounds::least(const ParallelPlan& plan) { return parts_->least(plan); }
StepBound Bounds::least_with_wires(const ParallelPlan& plan) { return parts_->least_with_wires(plan); }

}  // namespace stepsim
