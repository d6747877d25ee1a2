#include "workloads/step.hpp"

#include <algorithm>

#include "workloads/check.hpp"
#include "workloads/grid.hpp"
#include "workloads/plan_schedule.hpp"
#include "workloads/replicas.hpp"
#include "workloads/stages.hpp"
#include "workloads/step_experts.hpp"
#include "workloads/step_groups.hpp"
#include "workloads/step_parts.hpp"
#include "workloads/step_schedule.hpp"

namespace stepsim {

namespace {

// Sharded states: all ranks. Else each replica of the model has the whole norm; experts of one replica may be spread
// over what the dense grid calls data, and then all ranks take part too.
RankLists norm_lists(const Grid& grid, const ParallelPlan& plan) {
  const Parallel& p = plan.parallel;
  if (p.zero > 0 || p.expert * p.expert_tensor > p.tensor)
    return groups_by(grid, [](const Place&) { return GroupDigits{}; });
  return groups_by(grid, [](const Place& place) { return GroupDigits{place.data, place.context}; });
}

class StepBuilder {
 public:
  StepBuilder(const ModelSpec& model, const ClusterSpec& cluster, const ParallelPlan& plan, Detail detail,
              const ClusterSpec& planned_on)
      : cluster_(cluster),
        planned_on_(planned_on),
        plan_(plan),
        detail_(detail),
        book_(detail == Detail::flow),
        grid_(make_grid(plan, cluster.ranks())),
        experts_(model, plan),
        blocks_(make_blocks(model, plan)),
        context_{model, cluster, plan, step_.schedule, blocks_, step_.stage_blocks, channels_} {
    price();
    share_states();
    make_schedule();
    channels_ = channels_of(step_.schedule);
  }

  // What the graph would be built from.
  StepOutline outline(StatePatterns& known) {
    StepOutline outline;
    add_memories();
    plan_times();
    outline.passes = times_of(step_.schedule, step_.planned).makespan;
    add_state_traffic(outline, known);
    outline.schedule = std::move(step_.schedule);
    outline.stage_blocks = std::move(step_.stage_blocks);
    outline.memory = std::move(step_.memory);
    outline.planned = std::move(step_.planned);
    return outline;
  }

  std::vector<MemoryUse> memory() {
    add_memories();
    return std::move(step_.memory);
  }

  Step build(Replicas replicas) {
    plan_times();
    make_programs();
    for (int r = 0; r < grid_.world; ++r) step_.pipeline_rank.push_back(grid_.place[r].pipeline);
    const GroupKinds groups = group_kinds();
    const std::vector<std::int32_t> programs = programs_of_ranks();
    step_.graph_rank = add_ranks_and_groups({cluster_, planned_on_, detail_, grid_, book_, experts_, channels_, groups, programs},
                                            replicas, step_.graph);
    step_.graph.labels = book_.labels();
    add_facts();
    return std::move(step_);
  }

 private:
  // The order of passes, and which blocks each stage holds.
  void make_schedule() {
    const int microbatches = static_cast<int>(microbatches_of(plan_, cluster_));
    std::vector<double> seconds;
    for (int b = 0; b < blocks_.size(); ++b) {
      const auto& planned = context_.planned_segments[blocks_.kind_of[b]];
      seconds.push_back(seconds_of(planned[static_cast<std::size_t>(PassKind::forward)]) +
                        seconds_of(planned[static_cast<std::size_t>(PassKind::backward)]));
    }
    const auto split = [&](int stages) { return split_into_stages(plan_, stages, seconds); };
    step_.schedule_origin = plan_.passes_origin.empty() ? plan_.schedule : plan_.passes_origin;
    if (is_automatic(plan_)) {
      plan_collectives();
      step_.offers = automatic_passes(context_, microbatches, seconds_of_message(), split);
      step_.schedule = step_.offers.front().schedule;
      step_.stage_blocks = step_.offers.front().stage_blocks;
      step_.schedule_origin = step_.offers.front().origin;
    } else {
      step_.schedule = schedule_of(plan_, microbatches);
      step_.stage_blocks = split(step_.schedule.stages);
    }
  }

  // How long passes and collectives take by themselves: what orders are decided with.
  void plan_times() {
    if (!is_automatic(plan_)) plan_collectives();
    step_.planned = planned_times(context_, step_.stage_blocks, seconds_of_message());
  }

  // Between the first ranks of the first two stages.
  double seconds_of_message() const {
    if (grid_.pipeline == 1) return 0;
    RankId to = 0;
    while (grid_.place[to].pipeline != grid_.place[0].pipeline + 1) ++to;
    const std::vector<RankId> pair = {0, to};
    return seconds_alone(planned_on_,
                         make_pattern(planned_on_, pair, Operation::point_to_point, "direct", {}, Detail::aggregate),
                         message_bytes(context_.model, plan_));
  }

  void price() {
    const bool shared = plan_.sms.policy == SmUse::Sharing::shared;
    context_.compute_sms = cluster_.gpu.sms - (shared ? 0 : plan_.sms.communication);
    context_.held_sms = shared ? plan_.sms.communication : 0;
    if (shared) step_.graph.sms = cluster_.gpu.sms;
    context_.segments = priced(blocks_, slowest_of(cluster_.gpu, cluster_.ranks()));
    context_.planned_segments = priced(blocks_, slowest_of(planned_on_.gpu, planned_on_.ranks()));
  }

  std::vector<std::array<std::vector<Segment>, 4>> priced(const BlockList& blocks, const Gpu& gpu) const {
    std::vector<std::array<std::vector<Segment>, 4>> segments;
    for (const Block& block : blocks.kinds) {
      auto& of_kind = segments.emplace_back();
      for (const PassKind pass :
           {PassKind::forward, PassKind::backward, PassKind::input_gradient, PassKind::weight_gradient}) {
        of_kind[static_cast<std::size_t>(pass)] = segments_of(block, pass, gpu, context_.compute_sms);
      }
    }
    return segments;
  }

  // One for each pipeline rank and kind of place in the expert groups; orders are planned as if experts were alike, so
  // that all ranks of a group call its collectives in the same order. Where a stage has no experts, kinds share one.
  void make_programs() {
    std::vector<Program>& programs = step_.graph.programs;
    program_of_.assign(plan_.parallel.pipeline, {});
    for (int p = 0; p < plan_.parallel.pipeline; ++p) {
      const std::size_t first = programs.size();
      for (int kind = 0; kind < experts_.kinds(); ++kind) {
        StepContext seen = context_;
        seen.segments = priced(experts_.blocks(kind), slowest_of(cluster_.gpu, cluster_.ranks()));
        Program program = make_program(seen, p, book_);
        const auto known = std::find(programs.begin() + static_cast<std::ptrdiff_t>(first), programs.end(), program);
        program_of_[p].push_back(static_cast<std::int32_t>(known - programs.begin()));
        if (known == programs.end()) programs.push_back(std::move(program));
      }
    }
  }

  void share_states() {
    context_.copies = copies_of(plan_);
    context_.dense_replicas = grid_.data * grid_.context * context_.copies;
    context_.expert_replicas = grid_.expert_data * context_.copies;
    norm_ = norm_lists(grid_, plan_);
    context_.norm_ranks = static_cast<int>(norm_[0].size());
    context_.tied = shares_embedding(context_.model, plan_) && grid_.pipeline > 1;
    dense_ = dense_lists(grid_, context_.copies);
    expert_ = expert_lists(grid_, context_.copies);
    context_.dense_shards = shard_degree(plan_, cluster_, dense_);
    context_.expert_shards = shard_degree(plan_, cluster_, expert_);
  }

  // Times of the blocks' collectives in the first group of their kind.
  void plan_collectives() {
    std::map<std::pair<GroupKind, PatternKey>, Pattern> patterns;
    for (const auto& of_kind : context_.planned_segments) {
      for (const auto& segments : of_kind) {
        for (const Segment& s : segments) {
          if (s.call == nullptr || context_.planned_seconds.contains(s.call)) continue;
          PatternKey key = pattern_key(plan_, *s.call);
          if (depends_on_payload(key.operation, key.algorithm)) key.payload = s.call->payload.value;
          auto [it, fresh] = patterns.try_emplace({s.call->group, key});
          if (fresh) {
            it->second = make_pattern(planned_on_, group_of_first(grid_, key_of(s.call->group)), key.operation,
                                      key.algorithm, key.routed ? equal_routing(context_.model, plan_) : TokenRouting{},
                                      Detail::aggregate, s.call->payload.value);
          }
          context_.planned_seconds[s.call] = seconds_alone(planned_on_, it->second, s.call->payload.value);
        }
      }
    }
  }

  static GroupKey key_of(GroupKind kind) {
    switch (kind) {
      case GroupKind::tensor:
        return tensor_key;
      case GroupKind::context:
        return context_key;
      case GroupKind::expert:
        return expert_key;
      case GroupKind::expert_tensor:
        break;
    }
    return expert_tensor_key;
  }

  std::vector<std::int32_t> programs_of_ranks() const {
    std::vector<std::int32_t> programs;
    for (const Place& place : grid_.place) programs.push_back(program_of_[place.pipeline][experts_.kind_of(place.expert)]);
    return programs;
  }

  // Only of slots that some program calls.
  GroupKinds group_kinds() const {
    GroupKinds kinds;
    const auto add = [&](const auto& lists, std::initializer_list<std::pair<Slot, Dimension>> slots) {
      bool made = false;
      for (const auto& [slot, dimension] : slots) {
        if (book_.patterns(slot).empty()) continue;
        if (!made) kinds.lists.push_back(lists());
        made = true;
        kinds.slots.push_back({slot, dimension, kinds.lists.size() - 1});
      }
    };
    const auto by = [&](GroupKey key) { return [this, key] { return groups_by(grid_, key); }; };
    const auto dense = [&](bool across) { return [this, across] { return cut(dense_, context_.dense_shards, across); }; };
    const auto expert = [&](bool across) { return [this, across] { return cut(expert_, context_.expert_shards, across); }; };
    add(by(tensor_key), {{kTensor, Dimension::tensor}});
    add(by(context_key), {{kContext, Dimension::context}});
    add(by(expert_key), {{kExpert, Dimension::expert}});
    add(by(expert_tensor_key), {{kExpertTensor, Dimension::expert}});
    add(dense(false), {{kGatherDense, Dimension::gather}, {kReduceDense, Dimension::reduce}});
    add(expert(false), {{kGatherExpert, Dimension::gather}, {kReduceExpert, Dimension::reduce}});
    add(dense(true), {{kReplicaDense, Dimension::reduce}});
    add(expert(true), {{kReplicaExpert, Dimension::reduce}});
    add([&] { return ends_of_pipelines(); }, {{kTied, Dimension::reduce}});
    add([&] { return norm_; }, {{kNorm, Dimension::reduce}});
    std::sort(kinds.slots.begin(), kinds.slots.end(), [](const SlotGroups& a, const SlotGroups& b) { return a.slot < b.slot; });
    return kinds;
  }

  // For each place in line the ranks that hold the first and the last stage.
  RankLists ends_of_pipelines() const {
    const int first = step_.schedule.place_of(0, 0).rank, last = step_.schedule.place_of(step_.schedule.stages - 1, 0).rank;
    if (first == last) return {};
    const RankLists holders = grid_.by_pipeline();
    RankLists ends;
    for (std::size_t i = 0; i < holders[first].size(); ++i) ends.push_back({holders[first][i], holders[last][i]});
    return ends;
  }

  void add_facts() {
    const ModelSpec& model = context_.model;
    const Batch& batch = plan_.batch;
    step_.tokens = batch.tokens();
    const double predicted = plan_.multi_token_prediction ? prediction_flops_per_token(model, batch.sequence_length) : 0;
    step_.model_flops = 3 * (forward_flops_per_token(model, batch.sequence_length) + predicted) * step_.tokens;
    std::vector<double> of_program;
    for (const Program& program : step_.graph.programs) {
      double flops = 0;
      for (std::size_t s = 0; s < program.ops.specs().size(); ++s) flops += program.ops.uses()[s] * program.ops.specs()[s].work.flops;
      of_program.push_back(flops);
    }
    for (const Rank& rank : step_.graph.ranks) step_.hardware_flops += rank.count * of_program[rank.program];
    add_memories();
  }

  void add_memories() {
    for (int kind = 0; kind < experts_.kinds(); ++kind) {
      add_memory(memory_of(plan_, step_.schedule, experts_.blocks(kind), step_.stage_blocks,
                           {context_.dense_shards, context_.expert_shards}, context_.model));
    }
  }

  // Parameters' and gradients' collectives of a step as the programs would call them, each alone on its wires.
  void add_state_traffic(StepOutline& outline, StatePatterns& known) const {
    const Parallel& p = plan_.parallel;
    outline.whole = p.zero == 3;
    outline.prefetched = plan_.overlap.gather_prefetch > 0;
    outline.late = context_.copies > 1 || plan_.overlap.reduce == Overlap::Reduce::at_end;
    const double visits = static_cast<double>(step_.schedule.microbatches) / context_.copies;  // of a chunk
    const double gathers = p.zero == 0 ? 0
                           : p.zero < 3 || (!p.reshard_after_forward && p.pipeline > 1)
                               ? 1
                               : visits * (p.reshard_after_forward ? 2 : 1);
    const double reduces = p.reduces_each_microbatch() ? visits : 1;
    for (const std::vector<int>& stages : step_.schedule.placement) {
      double dense = 0, expert = 0;
      for (const int stage : stages) {
        for (const int block : step_.stage_blocks[stage]) {
          dense += blocks_.block(block).parameters.dense;
          expert += blocks_.block(block).parameters.expert;
        }
      }
      const Seconds gather = state_seconds(known, Operation::all_gather, dense, expert) * gathers;
      const Seconds reduce = state_seconds(known, Operation::reduce_scatter, dense, expert) * reduces;
      outline.gathers = std::max(outline.gathers, gather);
      outline.reduces = std::max(outline.reduces, reduce);
    }
  }

  Seconds state_seconds(StatePatterns& known, Operation operation, double dense, double expert) const {
    const Precision format = operation == Operation::all_gather ? plan_.precision.gather : plan_.precision.reduce;
    const auto one = [&](const RankLists& lists, int shards, double parameters) {
      const RankLists groups = shards > 1 ? cut(lists, static_cast<std::size_t>(shards), false) : lists;
      if (parameters <= 0 || groups[0].size() < 2) return Seconds();
      const Operation op = shards == 1 ? Operation::all_reduce : operation;  // nothing is sharded
      const Algorithms& a = plan_.collectives;
      const double bytes = parameters * bytes_per_element(format);
      std::string name = op == Operation::all_gather   ? a.all_gather
                         : op == Operation::all_reduce ? a.all_reduce
                                                       : a.reduce_scatter;
      if (name == "auto") name = choose_algorithm(planned_on_, groups[0], op, {}, bytes).name;
      const double made_for = depends_on_payload(op, name) ? bytes : 0;
      auto [it, fresh] = known.try_emplace({op, name, made_for, groups[0]});
      if (fresh) it->second = make_pattern(planned_on_, groups[0], op, name, {}, Detail::aggregate, bytes);
      return Seconds(seconds_alone(planned_on_, it->second, bytes));
    };
    return one(dense_, context_.dense_shards, dense) + one(expert_, context_.expert_shards, expert);
  }

  // Of the ranks at one place of the pipeline, those that need most.
  void add_memory(const std::vector<MemoryUse>& uses) {
    step_.memory.resize(uses.size());
    for (std::size_t p = 0; p < uses.size(); ++p) {
      if (uses[p].total() > step_.memory[p].total()) step_.memory[p] = uses[p];
    }
  }

  const ClusterSpec& cluster_;
  const ClusterSpec& planned_on_;
  const ParallelPlan& plan_;
  Detail detail_;
  Book book_;
  Step step_;
  Grid grid_;
  ExpertPlaces experts_;
  BlockList blocks_;  // as if all experts were alike: what plans are made with
  std::vector<Channel> channels_;
  StepContext context_;
  std::vector<std::vector<std::int32_t>> program_of_;  // [pipeline rank][kind of place in an expert group]
  RankLists norm_;                                     // ranks that hold the parts of one gradient's norm
  RankLists dense_, expert_;                           // ranks that hold the same dense parameters, the same experts
};

}  // namespace

StepOutline outline_step(const ModelSpec& model, const ClusterSpec& cluster, const ParallelPlan& plan,
                         StatePatterns* known) {
  StatePatterns own;
  return StepBuilder(model, cluster, plan, Detail::aggregate, cluster).outline(known == nullptr ? own : *known);
}

std::vector<MemoryUse> plan_memory(const ModelSpec& model, const ClusterSpec& cluster, const ParallelPlan& plan) {
  return StepBuilder(model, cluster, plan, Detail::aggregate, cluster).memory();
}

Step make_step(const ModelSpec& model, const ClusterSpec& cluster, const ParallelPlan& plan, Detail detail,
               const ClusterSpec* planned_on, Replicas replicas) {
  return StepBuilder(model, cluster, plan, detail, planned_on == nullptr ? cluster : *planned_on).build(replicas);
}

}  // namespace stepsim
