#include "workloads/step_bound.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <limits>
#include <optional>
#include <stdexcept>
#include <tuple>

#include "sim/cost/kernel.hpp"
#include "workloads/check.hpp"
#include "workloads/plan_schedule.hpp"
#include "workloads/stages.hpp"
#include "workloads/state_bound.hpp"
#include "workloads/step_experts.hpp"
#include "workloads/step_parts.hpp"

namespace stepsim {
namespace {

constexpr double kRounding = 1 - 1e-9;  // sums here and in a simulation are not in the same order
constexpr std::array<PassKind, 4> kPasses{PassKind::forward, PassKind::backward, PassKind::input_gradient,
                                          PassKind::weight_gradient};

}  // namespace

class Bounds::Parts {
  // The kinds of block of a plan, and what their passes need.
  struct BlockSet {
    std::string key;
    BlockList list;
    std::vector<std::array<std::vector<Segment>, 4>> segments;  // [kind of block][pass kind]
    std::vector<int> kinds;                                     // [kind of block] how many there are
    std::vector<double> kind_seconds;                           // [kind of block] forward and backward compute
    std::vector<double> seconds;                                // [block] forward and backward compute, as stages are split by
    std::map<int, std::vector<std::vector<int>>> split;         // [stages], of automatic stages
    std::map<std::string, std::vector<PassBounds>> bounds;      // by groups and policies: [kind of block]
  };

  struct Passes {
    explicit Passes(Schedule passes) : schedule(std::move(passes)), pairs(has_pairs(schedule)), chain(schedule) {}
    Schedule schedule;
    bool pairs;
    PassChain chain;
  };

  // What plans share that differ in their ZeRO stage alone.
  struct Order {
    const Passes* passes = nullptr;
    const std::vector<std::vector<int>>* stage_blocks = nullptr;
    std::vector<BlockParameters> parameters;  // [stage]
    std::vector<BlockParameters> first;       // [stage] of its first block
    std::vector<RankEnds> ends;               // [pipeline rank]
    std::vector<std::vector<double>> rank_wires;  // [pipeline rank][tier] of passes
    std::array<double, 3> streams{};          // of the rank with most: tensor, context, expert
    std::vector<MemoryUse> memory;            // without states
  };

 public:
  Parts(const ModelSpec& model, const ClusterSpec& cluster)
      : model_(model), cluster_(cluster), groups_(cluster), states_(cluster, model.experts.count > 0), speed_(fastest(cluster)) {}

  StepBound of(const ParallelPlan& plan) {
    require_alike(plan);
    trim();
    BlockSet& blocks = blocks_of(plan);
    const Order& order = order_of(plan, blocks);
    const StateLayout layout = states_.layout_of(plan);
    StepBound bound;
    bound.memory_bytes = memory(plan, order, blocks, layout);
    if (!promises(plan)) return bound;
    const States states{layout, states_.reduction(plan, layout), states_.gather(plan, layout)};
    consider_schedule(bound, plan, order, states);
    for (int rank = 0; rank < order.passes->schedule.ranks(); ++rank) consider_states(bound, plan, order, states, rank);
    consider(bound, order.streams[0], "tensor");
    consider(bound, order.streams[1], "context");
    consider(bound, order.streams[2], "expert");
    bound.seconds *= kRounding;
    return bound;
  }

  StepBound least(ParallelPlan plan) {
    require_alike(plan);
    trim();
    plan.recompute = {};
    const BlockSet& blocks = least_blocks_of(plan);
    const double ranks = plan.parallel.pipeline;
    double busy = 0, states = 0;
    for (std::size_t kind = 0; kind < blocks.kinds.size(); ++kind) {
      busy += blocks.kinds[kind] * blocks.kind_seconds[kind];
      states += blocks.kinds[kind] * least_states(plan, blocks.list.kinds[kind].parameters);
    }
    StepBound bound;
    bound.by = "compute";
    // The mean over pipeline ranks: the slowest needs no less.
    if (promises(plan)) bound.seconds = microbatches_of(plan, cluster_) * busy / ranks / speed_ * kRounding;
    bound.memory_bytes = states / ranks * kRounding;
    return bound;
  }

  StepBound least_with_wires(ParallelPlan plan, bool pairs) {
    plan.recompute = {};
    plan.overlap.expert = Overlap::Policy::async;  // what blocks is no faster
    return least_of_passes(std::move(plan), pairs);
  }

  StepBound least_of_passes(ParallelPlan plan, bool pairs) {
    StepBound bound = least(plan);
    if (!promises(plan)) return bound;
    if (plan.overlap.expert == Overlap::Policy::paired) plan.overlap.expert = Overlap::Policy::async;
    BlockSet& blocks = least_blocks_of(plan);
    const std::vector<PassBounds>& of_kind = bounds_of(plan, blocks);
    double busy = 0, compute = 0;
    std::vector<double> wires(cluster_.tiers.size(), 0);
    std::array<double, 3> streams{};
    for (std::size_t kind = 0; kind < blocks.kinds.size(); ++kind) {
      const PassBounds& p = of_kind[kind];
      const double times = blocks.kinds[kind];
      busy += times * (p[0].busy + std::min(p[1].busy, p[2].busy + p[3].busy));
      compute += times * (p[0].compute + std::min(p[1].compute, p[2].compute + p[3].compute));
      // A backward pass whole or in two: whichever puts less on a wire, on a stream.
      for (std::size_t t = 0; t < wires.size(); ++t) {
        const auto on = [&](std::size_t pass) { return t < p[pass].wires.size() ? p[pass].wires[t] : 0; };
        wires[t] += times * (on(0) + std::min(on(1), on(2) + on(3)));
      }
      for (std::size_t i = 0; i < streams.size(); ++i) {
        streams[i] += times * (p[0].streams[i] + std::min(p[1].streams[i], p[2].streams[i] + p[3].streams[i]));
      }
    }
    const double share = microbatches_of(plan, cluster_) / plan.parallel.pipeline * kRounding;
    consider(bound, share * compute, "compute");
    // Of an overlapped pair, compute is all that surely takes time; passes by themselves also pay what blocks.
    if (!pairs) consider(bound, share * busy, "schedule");
    for (std::size_t t = 0; t < wires.size(); ++t) consider(bound, share * wires[t], cluster_.tiers[t]);
    consider(bound, share * streams[0], "tensor");
    consider(bound, share * streams[1], "context");
    consider(bound, share * streams[2], "expert");
    return bound;
  }

 private:
  struct States {
    StateLayout layout;
    StateCost reduction, gather;
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
    shared.multi_token_prediction = plan.multi_token_prediction;
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

  // ---- what plans share

  // Caches must not grow with the number of plans: they pay within one shape and are rebuilt in no time.
  void trim() {
    constexpr std::size_t kMostBlocks = 64, kMostPasses = 1 << 20, kMostOrders = 1024;
    if (blocks_.size() <= kMostBlocks && passes_held_ <= kMostPasses && orders_.size() <= kMostOrders) return;
    orders_.clear();
    blocks_.clear();
    passes_.clear();
    passes_held_ = 0;
  }

  // Whatever the schedule: where a pipeline bends back its ends share what others hold twice.
  BlockSet& least_blocks_of(ParallelPlan plan) {
    plan.schedule = "dualpipev";
    plan.passes.reset();
    return blocks_of(plan);
  }

  BlockSet& blocks_of(const ParallelPlan& plan) {
    const Parallel& p = plan.parallel;
    const Batch& b = plan.batch;
    std::string key = fmt::format("{} {} {} {} {} {} / {} {}", p.tensor, p.sequence, p.context, static_cast<int>(p.context_method),
                                  p.expert, p.expert_tensor, b.microbatch_sequences, b.sequence_length);
    key += ends_meet(plan) ? " ends meet" : "";
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
    for (const auto& of_kind : set.segments) set.kind_seconds.push_back(seconds_of(of_kind[0]) + seconds_of(of_kind[1]));
    set.kinds.assign(set.list.kinds.size(), 0);
    for (int i = 0; i < set.list.size(); ++i) {
      ++set.kinds[set.list.kind_of[i]];
      set.seconds.push_back(set.kind_seconds[set.list.kind_of[i]]);
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

  const Passes& passes_of(const ParallelPlan& plan, const std::string& key) {
    auto known = passes_.find(key);
    if (known == passes_.end()) {
      const int microbatches = static_cast<int>(microbatches_of(plan, cluster_));
      known = passes_.emplace(key, std::make_unique<Passes>(schedule_of(plan, microbatches))).first;
      passes_held_ += known->second->chain.size();
    }
    return *known->second;
  }

  // ---- memory

  double memory(const ParallelPlan& plan, const Order& order, const BlockSet& blocks, const StateLayout& layout) const {
    const Schedule& schedule = order.passes->schedule;
    const ShardDegrees shards{layout.dense_shards, layout.expert_shards};
    double peak = 0;
    const auto take = [&](const std::vector<MemoryUse>& uses) {
      for (const MemoryUse& use : uses) peak = std::max(peak, use.total().value);
    };
    if (promises(plan)) {
      std::vector<MemoryUse> uses = order.memory;
      add_state_memory(uses, plan, schedule, blocks.list, *order.stage_blocks, shards);
      take(uses);
    } else {
      const ExpertPlaces places(model_, plan);
      for (int kind = 0; kind < places.kinds(); ++kind) {
        take(memory_of(plan, schedule, places.blocks(kind), *order.stage_blocks, shards, model_));
      }
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

  // Where the collectives of passes run and what waits for them.
  std::string key_of_groups(const ParallelPlan& plan) const {
    const Overlap& o = plan.overlap;
    const bool blocking = o.expert == Overlap::Policy::blocking;  // async and paired wait for the same
    std::string key = fmt::format("{} {} {}", static_cast<int>(o.tensor), static_cast<int>(o.context), blocking);
    for (const GroupKind kind : {GroupKind::tensor, GroupKind::context, GroupKind::expert, GroupKind::expert_tensor}) {
      const auto [stride, size] = stride_and_size(plan, kind);
      key += fmt::format(" {} {}", stride, size);
    }
    return key;
  }

  const std::vector<PassBounds>& bounds_of(const ParallelPlan& plan, BlockSet& blocks) {
    const std::string key = key_of_groups(plan);
    const auto [it, fresh] = blocks.bounds.try_emplace(key);
    if (!fresh) return it->second;
    std::map<std::tuple<GroupKind, Operation, bool>, const GroupBound*> known;
    const auto call = [&](const CollectiveCall& c) {
      const GroupBound*& group = known[{c.group, c.operation, c.routed}];
      if (group == nullptr) group = &group_bound(plan, c);
      return scaled(*group, c.payload.value);
    };
    for (const auto& of_kind : blocks.segments) {
      PassBounds& bounds = it->second.emplace_back();
      for (std::size_t pass = 0; pass < of_kind.size(); ++pass) bounds[pass] = bound_of(of_kind[pass], plan, speed_, call);
    }
    return it->second;
  }

  const GroupBound& group_bound(const ParallelPlan& plan, const CollectiveCall& call) {
    const PatternKey key = pattern_key(plan, call);
    const auto [stride, size] = stride_and_size(plan, call.group);
    const std::string of = fmt::format("{} {}", stride, size);
    const TokenRouting routing = key.routed ? equal_routing(model_, plan) : TokenRouting{};
    if (const GroupBound* group = groups_.find(of, key.operation, key.algorithm, routing)) return *group;
    return groups_.of(of, strided(cluster_.ranks(), stride, size), key.operation, key.algorithm, routing);
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

  const Order& order_of(const ParallelPlan& plan, BlockSet& blocks) {
    const int microbatches = static_cast<int>(microbatches_of(plan, cluster_));
    const std::string passes = fmt::format("{} {} {} {}", plan.schedule, plan.parallel.pipeline, plan.parallel.virtual_stages, microbatches);
    const std::string key = fmt::format("{} / {} / {} {} / {}", passes, blocks.key, static_cast<int>(plan.overlap.expert),
                                        pipeline_stride(plan), key_of_groups(plan));
    const auto [it, fresh] = orders_.try_emplace(key);
    if (fresh) fill(it->second, plan, blocks, passes_of(plan, passes));
    return it->second;
  }

  void fill(Order& order, const ParallelPlan& plan, BlockSet& blocks, const Passes& passes) {
    order.passes = &passes;
    order.stage_blocks = &split(plan, blocks, passes.schedule.stages);
    for (const std::vector<int>& list : *order.stage_blocks) {
      BlockParameters& sum = order.parameters.emplace_back();
      for (const int b : list) {
        sum.dense += blocks.list.block(b).parameters.dense;
        sum.expert += blocks.list.block(b).parameters.expert;
      }
      order.first.push_back(blocks.list.block(list.front()).parameters);
    }
    if (!promises(plan)) return;
    order.memory = activation_memory(plan, passes.schedule, blocks.list, *order.stage_blocks, model_);
    const std::vector<PassBounds>& of_kind = bounds_of(plan, blocks);
    std::vector<PassBounds> stages;
    for (const auto& list : *order.stage_blocks) stages.push_back(stage_bounds(blocks, of_kind, list));
    const bool paired = passes.pairs && plan.overlap.expert == Overlap::Policy::paired;
    order.ends = passes.chain.ends(stages, paired, [&](int from, int to) { return message(plan, from, to); });
    for (int rank = 0; rank < passes.schedule.ranks(); ++rank) add_sums(order, stages, rank);
  }

  // What the passes of a rank put on wires and streams.
  void add_sums(Order& order, const std::vector<PassBounds>& stages, int rank) const {
    std::vector<double>& wires = order.rank_wires.emplace_back(cluster_.tiers.size(), 0);
    std::array<double, 3> streams{};
    const std::vector<int>& placement = order.passes->schedule.placement[rank];
    for (std::size_t chunk = 0; chunk < placement.size(); ++chunk) {
      for (const PassKind kind : kPasses) {
        const double times = order.passes->chain.count(rank, chunk, kind);
        const PassBound& bound = stages[placement[chunk]][static_cast<std::size_t>(kind)];
        for (std::size_t t = 0; t < bound.wires.size(); ++t) wires[t] += times * bound.wires[t];
        for (std::size_t i = 0; i < streams.size(); ++i) streams[i] += times * bound.streams[i];
      }
    }
    for (std::size_t i = 0; i < streams.size(); ++i) order.streams[i] = std::max(order.streams[i], streams[i]);
  }

  static int pipeline_stride(const ParallelPlan& plan) {
    const Parallel& p = plan.parallel;
    int stride = 1;
    for (const Axis axis : p.order) {
      if (axis == Axis::pipeline) return stride;
      stride *= axis == Axis::tensor ? p.tensor : axis == Axis::context ? p.context : axis == Axis::data ? p.data : 1;
    }
    return stride;
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

  // The n-th ranks of both, in line: the least of all.
  double message(const ParallelPlan& plan, int from, int to) {
    const int stride = pipeline_stride(plan), size = plan.parallel.pipeline;
    const auto [it, fresh] = message_per_byte_.try_emplace({stride, size, from, to});
    if (fresh) {
      double& least = it->second = std::numeric_limits<double>::infinity();
      for (RankId first = 0; first < cluster_.ranks(); ++first) {
        if (first / stride % size != 0) continue;
        least = std::min(least, groups_.message(first + from * stride, first + to * stride));
      }
    }
    return it->second * message_bytes(model_, plan);
  }

  double optimizer(const ParallelPlan& plan, double parameters, double held) const {
    const double gradients = bytes_per_element(plan.precision.gradients);
    return seconds_of_kernel(plan, optimizer_kernel(parameters, plan.precision)) +
           seconds_of_kernel(plan, memory_kernel((plan.parallel.reduces_each_microbatch() ? parameters : held) * gradients));
  }

  static Kernel memory_kernel(double bytes) {
    Kernel kernel{.name = "", .kind = KernelClass::memory};
    kernel.bytes = Bytes(bytes);
    return kernel;
  }

  double seconds_of_kernel(const ParallelPlan& plan, const Kernel& kernel) const {
    return cost_of(kernel, cluster_.gpu, compute_sms(plan)).time.value / speed_;
  }

  // After a rank's last compute: reductions that wait for it and the pass over its gradients; when these are over on all
  // ranks (their norm is of the whole model), the optimizer and the gather of the new parameters.
  void consider_schedule(StepBound& bound, const ParallelPlan& plan, const Order& order, const States& states) const {
    const Parallel& p = plan.parallel;
    const Schedule& schedule = order.passes->schedule;
    const bool each = p.reduces_each_microbatch();
    const bool late = (states.layout.copies > 1 || plan.overlap.reduce == Overlap::Reduce::at_end) && !each;
    const bool gathers = (p.zero == 1 || p.zero == 2) && plan.overlap.parameters == Overlap::Parameters::at_end;
    double all_reduced = 0, slowest_end = 0;
    for (int rank = 0; rank < schedule.ranks(); ++rank) {
      double dense = 0, expert = 0;
      for (const int stage : schedule.placement[rank]) {
        dense += order.parameters[stage].dense;
        expert += order.parameters[stage].expert;
      }
      const double cut = dense / states.layout.dense_shards + expert / states.layout.expert_shards;
      const double own = p.zero > 0 ? cut : dense + expert;
      const double reduction = states.reduction.dense * dense + states.reduction.expert * expert;
      const RankEnds& ends = order.ends[rank];
      double reduced = ends.end + (late ? reduction : 0);
      if (!late) {
        // The last pass ends with its stage's first block, whose gradients are reduced after that.
        const BlockParameters& first = order.first[schedule.placement[rank][schedule.order[rank].back().chunk]];
        reduced += states.reduction.dense * first.dense + states.reduction.expert * first.expert;
        // Gradients that are reduced once: a chunk's in its last pass.
        if (!each) reduced = std::max(reduced, ends.last_gradients + reduction);
      }
      if (plan.clip_gradients) reduced += seconds_of_kernel(plan, memory_kernel(own * bytes_per_element(plan.precision.gradients)));
      const double end = optimizer(plan, own, dense + expert) +
                         (gathers ? states.gather.dense * dense + states.gather.expert * expert : 0);
      consider(bound, reduced + end, "schedule");
      all_reduced = std::max(all_reduced, reduced);
      slowest_end = std::max(slowest_end, end);
    }
    if (plan.clip_gradients) consider(bound, all_reduced + slowest_end, "schedule");
  }

  void consider_states(StepBound& bound, const ParallelPlan& plan, const Order& order, const States& states, int rank) const {
    const Parallel& p = plan.parallel;
    const std::vector<int>& placement = order.passes->schedule.placement[rank];
    double reduce_dense = 0, reduce_expert = 0, gather_dense = 0, gather_expert = 0;  // parameters, as often as they travel
    for (std::size_t chunk = 0; chunk < placement.size(); ++chunk) {
      const auto passes = [&](PassKind kind) { return order.passes->chain.count(rank, chunk, kind); };
      const double forwards = passes(PassKind::forward);
      const double input_gradients = passes(PassKind::backward) + passes(PassKind::input_gradient);
      const double gradients = passes(PassKind::backward) + passes(PassKind::weight_gradient);
      const double reductions = p.reduces_each_microbatch() ? gradients : 1;
      double gathers = p.zero == 1 || p.zero == 2 ? 1 : 0;
      if (p.zero == 3) gathers = p.reshard_after_forward ? forwards + input_gradients : p.pipeline > 1 ? 1 : forwards;
      const BlockParameters& parameters = order.parameters[placement[chunk]];
      reduce_dense += reductions * parameters.dense;
      reduce_expert += reductions * parameters.expert;
      gather_dense += gathers * parameters.dense;
      gather_expert += gathers * parameters.expert;
    }
    consider(bound, states.reduction.dense * reduce_dense + states.reduction.expert * reduce_expert, "reduce");
    consider(bound, states.gather.dense * gather_dense + states.gather.expert * gather_expert, "gather");
    for (std::size_t t = 0; t < cluster_.tiers.size(); ++t) {
      consider(bound, order.rank_wires[rank][t] + states.reduction.dense_wires[t] * reduce_dense + states.reduction.expert_wires[t] * reduce_expert +
                          states.gather.dense_wires[t] * gather_dense + states.gather.expert_wires[t] * gather_expert,
               cluster_.tiers[t]);
    }
  }

  const ModelSpec& model_;
  const ClusterSpec& cluster_;
  GroupBounds groups_;
  StateBounds states_;
  double speed_;
  std::optional<ParallelPlan> shared_;
  std::map<std::array<int, 4>, double> message_per_byte_;  // pipeline's stride and size, from, to
  std::map<std::string, BlockSet> blocks_;
  std::map<std::string, std::unique_ptr<Passes>> passes_;
  std::size_t passes_held_ = 0;
  std::map<std::string, Order> orders_;
};

Bounds::Bounds(const ModelSpec& model, const ClusterSpec& cluster) : parts_(std::make_unique<Parts>(model, cluster)) {}
Bounds::~Bounds() = default;
StepBound Bounds::of(const ParallelPlan& plan) { return parts_->of(plan); }
StepBound Bounds::least(const ParallelPlan& plan) { return parts_->least(plan); }
StepBound Bounds::least_with_wires(const ParallelPlan& plan, bool pairs) { return parts_->least_with_wires(plan, pairs); }
StepBound Bounds::least_of_passes(const ParallelPlan& plan, bool pairs) { return parts_->least_of_passes(plan, pairs); }

}  // namespace stepsim
