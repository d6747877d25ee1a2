#include "workloads/step_groups.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include <fmt/format.h>

#include "sim/base/errors.hpp"
#include "sim/collective/rerouted.hpp"

namespace stepsim {
namespace {

constexpr std::size_t kMostMessages = 1 << 22;  // of detail flow, in all groups: some gigabytes

class GroupBuilder {
 public:
  GroupBuilder(const GroupInputs& inputs, StepGraph& graph)
      : in_(inputs), graph_(graph), routings_(clusters_of_routings(inputs.cluster)) {}

  void build() {
    copy_links();
    make_ranks();
    for (const SlotGroups& slot : in_.slots) add_groups(slot);
    add_channels();
  }

 private:
  void copy_links() {
    const ClusterSpec& cluster = in_.cluster;
    const auto& links = cluster.platform->links();
    graph_.links.reserve(links.size());
    for (std::size_t l = 0; l < links.size(); ++l) {
      graph_.links.push_back({links[l].name, cluster.bandwidth[l].value, static_cast<std::int16_t>(cluster.link_tier[l]),
                              cluster.link_owner[l], 1});
    }
    for (const auto& [link, changes] : cluster.bandwidth_changes) graph_.links[link].capacity_changes = changes;
    graph_.reroutings = cluster.reroutings;
    graph_.jitter = cluster.jitter;
    graph_.shared_ports = cluster.shared_ports;
    graph_.tiers = cluster.tiers;
  }

  void make_ranks() {
    graph_.ranks.reserve(static_cast<std::size_t>(in_.grid.world));
    for (int r = 0; r < in_.grid.world; ++r) {
      Rank rank;
      rank.program = in_.program[r];
      rank.speed = in_.cluster.speed[r];
      const auto changes = in_.cluster.speed_changes.find(r);
      if (changes != in_.cluster.speed_changes.end()) rank.speed_changes = changes->second;
      rank.slots.assign(kFixedSlots + in_.channels.size(), -1);
      rank.original = r;
      graph_.ranks.push_back(std::move(rank));
    }
  }

  void add_groups(const SlotGroups& slot) {
    if (in_.book.patterns(slot.slot).empty()) return;
    for (const auto& members : slot.lists) {
      if (members.size() < 2) continue;
      Group group;
      group.name = fmt::format("{} {}-{}", to_text(slot.dimension), members.front(), members.back());
      group.dimension = slot.dimension;
      group.size = static_cast<int>(members.size());
      make_patterns(group, slot.slot, members);
      add(std::move(group), slot.slot, members);
    }
  }

  // The gradients' norm is one number: nothing but latency. Its closed form, its four bytes on no link, keeps ranks
  // alike that a tree over all of them would set apart. Where links are down or change it has its messages, which can
  // be stuck.
  Pattern make_norm_pattern(const std::vector<RankId>& members, const PatternKey& key, double payload) const {
    const ClusterSpec& cluster = in_.cluster;
    const bool as_built = routings_.size() == 1 && cluster.avoided.empty() && cluster.bandwidth_changes.empty() &&
                          std::none_of(cluster.bandwidth.begin(), cluster.bandwidth.end(),
                                       [](BytesPerSecond bandwidth) { return bandwidth.value <= 0; });
    if (in_.detail == Detail::aggregate && as_built) {
      if (auto delay = make_delay(cluster, members, key.operation, key.algorithm, payload)) return *delay;
    }
    return make_rerouted_pattern(routings_, members, key.operation, key.algorithm, {}, in_.detail, payload);
  }

  // Those that the group calls; others stay empty. Keys that come to the same share one. "auto" looks at the cluster as
  // it is meant to be: a link that is slow today changes no algorithm.
  void make_patterns(Group& group, std::int16_t slot, const std::vector<RankId>& members) {
    const std::vector<bool> used = called_patterns(in_.program[members[0]], slot);
    std::map<PatternKey, std::size_t> made;
    for (PatternKey key : in_.book.patterns(slot)) {
      if (!used[group.patterns.size()]) {
        group.patterns.push_back({std::string(to_text(key.operation)), key.algorithm, {}});
        continue;
      }
      const double payload = key.payload > 0 ? key.payload : kLargePayload;
      const TokenRouting routing = key.routed ? in_.experts.routing(key, shape_of(in_.cluster, members)) : TokenRouting{};
      if (key.algorithm == "auto") {
        key.algorithm = choose_algorithm(in_.planned_on, members, key.operation, routing, payload).name;
        if (in_.detail != Detail::flow && !depends_on_payload(key.operation, key.algorithm)) key.payload = 0;
      }
      const auto [it, fresh] = made.try_emplace(key, group.patterns.size());
      if (!fresh) {
        group.patterns.push_back(group.patterns[it->second]);
      } else if (slot == kNorm) {
        group.patterns.push_back(make_norm_pattern(members, key, payload));
      } else {
        group.patterns.push_back(
            make_rerouted_pattern(routings_, members, key.operation, key.algorithm, routing, in_.detail, payload));
      }
    }
    for (const Pattern& pattern : group.patterns) parts_ += pattern.parts.size();
    if (in_.detail == Detail::flow && parts_ > kMostMessages) {
      throw InputError({{"", 0, "--detail",
                         fmt::format("flow makes more than {} messages of this step; use aggregate, or a "
                                     "smaller cluster",
                                     kMostMessages)}});
    }
  }

  const std::vector<bool>& called_patterns(std::int32_t program, std::int16_t slot) {
    auto [it, fresh] = called_.try_emplace({program, slot}, in_.book.patterns(slot).size(), false);
    if (!fresh) return it->second;
    for (const OpSpec& op : graph_.programs[program].ops.specs()) {
      if (op.kind == OpKind::transfer && op.slot == slot) it->second[static_cast<std::size_t>(op.pattern)] = true;
    }
    return it->second;
  }

  void add_channels() {
    const RankLists holders = in_.grid.by_pipeline();
    graph_.groups.reserve(graph_.groups.size() + in_.channels.size() * holders[0].size());
    std::map<std::pair<int, int>, std::size_t> known;  // between two pipeline ranks: the first group of such messages
    for (std::size_t c = 0; c < in_.channels.size(); ++c) {
      const Channel& ch = in_.channels[c];
      const auto [first, fresh] = known.try_emplace({ch.from_rank, ch.to_rank}, graph_.groups.size());
      for (std::size_t i = 0; i < holders[ch.from_rank].size(); ++i) {
        const std::vector<RankId> pair = {holders[ch.from_rank][i], holders[ch.to_rank][i]};
        Group group;
        group.name = fmt::format("pipeline {}>{}", pair[0], pair[1]);
        group.dimension = Dimension::pipeline;
        group.size = 2;
        if (fresh) {
          group.patterns.push_back(make_rerouted_pattern(routings_, pair, Operation::point_to_point, "direct", {}, in_.detail));
        } else {
          group.patterns = graph_.groups[first->second + i].patterns;
        }
        add(std::move(group), static_cast<std::int16_t>(kFixedSlots + c), pair);
      }
    }
  }

  void add(Group&& group, std::int16_t slot, const std::vector<RankId>& members) {
    const auto id = static_cast<GroupId>(graph_.groups.size());
    for (const RankId r : members) {
      group.endpoints.push_back({r, slot});
      graph_.ranks[r].slots[slot] = id;
    }
    graph_.groups.push_back(std::move(group));
  }

  const GroupInputs& in_;
  StepGraph& graph_;
  const std::vector<ClusterSpec> routings_;
  std::map<std::pair<std::int32_t, std::int16_t>, std::vector<bool>> called_;  // [program, slot][pattern]
  std::size_t parts_ = 0;
};

}  // namespace

void add_ranks_and_groups(const GroupInputs& inputs, StepGraph& graph) { GroupBuilder(inputs, graph).build(); }

}  // namespace stepsim
