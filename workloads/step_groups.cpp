#include "workloads/step_groups.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <stdexcept>
#include <utility>

#include <fmt/format.h>

#include "sim/base/errors.hpp"
#include "sim/collective/rerouted.hpp"
#include "workloads/orbits.hpp"

namespace stepsim {
namespace {

constexpr std::size_t kMostMessages = 1 << 22;  // of detail flow, in all groups: some gigabytes

// The ranks that send messages to each other hold equal places.
std::vector<Lists> kinds_of(const GroupInputs& in, const RankLists& lines) {
  std::vector<Lists> kinds;
  for (const RankLists& lists : in.groups.lists) kinds.emplace_back(lists, in.grid.world);
  if (!in.channels.empty()) kinds.emplace_back(lines, in.grid.world);
  return kinds;
}

// [place in line] the ranks of all stages there.
RankLists lines_of(const Grid& grid) {
  RankLists lines(static_cast<std::size_t>(grid.world / grid.pipeline));
  for (const std::vector<RankId>& stage : grid.by_pipeline()) {
    for (std::size_t i = 0; i < stage.size(); ++i) lines[i].push_back(stage[i]);
  }
  return lines;
}

class GroupBuilder {
 public:
  // `kinds`: as the inputs' lists; lines may follow.
  GroupBuilder(const GroupInputs& inputs, const std::vector<Lists>& kinds, const RankLists& lines, const Orbits& orbits, StepGraph& graph)
      : in_(inputs), kinds_(kinds), lines_(lines), orbits_(orbits), graph_(graph), routings_(clusters_of_routings(inputs.cluster)) {}

  // False, and the graph is not to be used, where the traffic of a group tells apart what the orbits take for alike (a tree
  // has a root).
  bool build() {
    copy_links();
    make_ranks();
    for (const SlotGroups& slot : in_.groups.slots) {
      if (!add_groups(slot, kinds_[slot.kind])) return false;
    }
    add_channels();
    return true;
  }

  std::vector<RankId> graph_ranks() const {
    std::vector<RankId> of;
    for (int r = 0; r < in_.grid.world; ++r) of.push_back(rank_of(r));
    return of;
  }

 private:
  RankId rank_of(RankId rank) const { return graph_rank_[orbits_.first(rank)]; }
  LinkId graph_link(LinkId link) const {
    const LinkId first = orbits_.first_link(link);
    if (first < 0) throw std::logic_error("a route crosses a link that its ranks cannot reach: " + in_.cluster.platform->links()[link].name);
    return graph_link_[first];
  }

  void copy_links() {
    const ClusterSpec& cluster = in_.cluster;
    const auto& links = cluster.platform->links();
    graph_link_.assign(links.size(), -1);
    for (std::size_t l = 0; l < links.size(); ++l) {
      const auto link = static_cast<LinkId>(l);
      if (orbits_.first_link(link) != link) continue;
      graph_link_[l] = static_cast<LinkId>(graph_.links.size());
      graph_.links.push_back({links[l].name, cluster.bandwidth[l].value, static_cast<std::int16_t>(cluster.link_tier[l]),
                              cluster.link_owner[l], orbits_.links_of_one(link)});
    }
    for (const auto& [link, changes] : cluster.bandwidth_changes) {
      if (graph_link_[link] >= 0) graph_.links[graph_link_[link]].capacity_changes = changes;
    }
    graph_.reroutings = cluster.reroutings;
    graph_.jitter = cluster.jitter;
    graph_.tiers = cluster.tiers;
  }

  void make_ranks() {
    graph_rank_.assign(static_cast<std::size_t>(in_.grid.world), -1);
    graph_.ranks.reserve(static_cast<std::size_t>(in_.grid.world / orbits_.ranks_of_one()));
    for (int r = 0; r < in_.grid.world; ++r) {
      if (orbits_.first(r) != r) continue;
      graph_rank_[r] = static_cast<RankId>(graph_.ranks.size());
      Rank rank;
      rank.count = orbits_.ranks_of_one();
      rank.program = in_.program[r];
      rank.speed = in_.cluster.speed[r];
      const auto changes = in_.cluster.speed_changes.find(r);
      if (changes != in_.cluster.speed_changes.end()) rank.speed_changes = changes->second;
      rank.slots.assign(kFixedSlots + in_.channels.size(), -1);
      rank.original = r;
      graph_.ranks.push_back(std::move(rank));
    }
    for (GraphLink& link : graph_.links) {
      if (link.owner >= 0) link.owner = rank_of(link.owner);
    }
    for (const SharedPort& port : in_.cluster.shared_ports) {
      if (orbits_.first_link(port.link) == port.link) graph_.shared_ports.push_back({graph_link_[port.link], rank_of(port.rank)});
    }
    std::sort(graph_.shared_ports.begin(), graph_.shared_ports.end());
    graph_.shared_ports.erase(std::unique(graph_.shared_ports.begin(), graph_.shared_ports.end()), graph_.shared_ports.end());
  }

  // The lists that turns make of one, itself first; and the turns that leave it as it is.
  struct Orbit {
    std::vector<int> lists;
    std::vector<const Turn*> kept_by;
  };
  Orbit orbit_of(int list, const Lists& kind) const {
    Orbit orbit{{list}, {}};
    for (const Turn& turn : orbits_.turns()) {
      const auto next = [&](int of) { return kind.of(turn.rank[kind.lists()[of][0]]); };
      if (next(list) == list) {
        orbit.kept_by.push_back(&turn);
        continue;
      }
      const std::vector<int> before = orbit.lists;
      for (const int first : before) {
        for (int at = next(first); at != first; at = next(at)) orbit.lists.push_back(at);
      }
    }
    return orbit;
  }

  bool add_groups(const SlotGroups& slot, const Lists& kind) {
    const RankLists& lists = kind.lists();
    std::vector<bool> done(lists.size(), false);
    for (std::size_t list = 0; list < lists.size(); ++list) {
      const auto& members = lists[list];
      if (members.size() < 2 || done[list]) continue;
      const Orbit orbit = orbit_of(static_cast<int>(list), kind);
      for (const int alike : orbit.lists) done[alike] = true;
      Group group;
      group.count = static_cast<int>(orbit.lists.size());
      group.name = fmt::format("{} {}-{}", to_text(slot.dimension), members.front(), members.back());
      group.dimension = slot.dimension;
      group.size = static_cast<int>(members.size());
      make_patterns(group, slot.slot, members);
      for (Pattern& pattern : group.patterns) {
        if (!fold_loads(pattern, group.count, orbit.kept_by)) return false;
      }
      const auto id = static_cast<GroupId>(graph_.groups.size());
      add(std::move(group), slot.slot, members);
      for (const int alike : orbit.lists) {
        for (const RankId r : lists[alike]) {
          if (orbits_.first(r) == r) graph_.ranks[graph_rank_[r]].slots[slot.slot] = id;
        }
      }
    }
    return true;
  }

  void renumber(std::vector<Load>& loads) const {
    for (Load& load : loads) load.link = graph_link(load.link);
  }

  // From links of the platform to those of the graph, and to what all groups put on them that this one stands for. False
  // where a turn that leaves the group as it is does not leave its traffic so.
  bool fold_loads(Pattern& pattern, int groups, const std::vector<const Turn*>& kept_by) {
    if (orbits_.turns().empty()) {
      for (Part& part : pattern.parts) {
        renumber(part.loads);
        for (Detour& detour : part.detours) renumber(detour.loads);
      }
      return true;
    }
    legs_.resize(graph_link_.size());
    for (Part& part : pattern.parts) {
      for (const Load& load : part.loads) legs_[load.link] = load.legs;
      const bool kept = std::all_of(kept_by.begin(), kept_by.end(), [&](const Turn* turn) {
        return std::all_of(part.loads.begin(), part.loads.end(), [&](const Load& load) { return legs_[turn->link[load.link]] == load.legs; });
      });
      for (const Load& load : part.loads) legs_[load.link] = 0;
      if (!kept) return false;
      std::map<LinkId, std::pair<double, double>> sums;  // and the most on one link
      for (const Load& load : part.loads) {
        auto& [sum, most] = sums[graph_link(load.link)];
        sum += load.legs;
        most = std::max(most, load.legs);
      }
      part.loads.clear();
      for (const auto& [link, of] : sums) {
        const auto [sum, most] = of;
        const double legs = sum * groups / graph_.links[link].count;
        part.loads.push_back({link, legs, most == legs ? 0 : static_cast<std::uint32_t>(most)});
      }
    }
    return true;
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
    const std::size_t of_one = lines_.size() / static_cast<std::size_t>(orbits_.ranks_of_one());
    graph_.groups.reserve(graph_.groups.size() + in_.channels.size() * of_one);
    std::map<std::pair<int, int>, std::size_t> known;  // between two pipeline ranks: the first group of such messages
    for (std::size_t c = 0; c < in_.channels.size(); ++c) {
      const Channel& ch = in_.channels[c];
      const auto [first, fresh] = known.try_emplace({ch.from_rank, ch.to_rank}, graph_.groups.size());
      std::size_t same = first->second;
      for (const std::vector<RankId>& line : lines_) {
        const std::vector<RankId> pair = {line[ch.from_rank], line[ch.to_rank]};
        if (orbits_.first(pair[0]) != pair[0]) continue;
        Group group;
        group.name = fmt::format("pipeline {}>{}", pair[0], pair[1]);
        group.dimension = Dimension::pipeline;
        group.size = 2;
        group.count = orbits_.ranks_of_one();
        if (fresh) {
          group.patterns.push_back(make_rerouted_pattern(routings_, pair, Operation::point_to_point, "direct", {}, in_.detail));
          fold_loads(group.patterns[0], group.count, {});
        } else {
          group.patterns = graph_.groups[same++].patterns;
        }
        const auto slot = static_cast<std::int16_t>(kFixedSlots + c);
        const auto id = static_cast<GroupId>(graph_.groups.size());
        add(std::move(group), slot, pair);
        for (const RankId r : pair) graph_.ranks[graph_rank_[r]].slots[slot] = id;
      }
    }
  }

  void add(Group&& group, std::int16_t slot, const std::vector<RankId>& members) {
    for (const RankId r : members) group.endpoints.push_back({rank_of(r), slot});
    if (!orbits_.turns().empty()) {
      std::sort(group.endpoints.begin(), group.endpoints.end());
      group.endpoints.erase(std::unique(group.endpoints.begin(), group.endpoints.end()), group.endpoints.end());
    }
    graph_.groups.push_back(std::move(group));
  }

  const GroupInputs& in_;
  const std::vector<Lists>& kinds_;
  const RankLists& lines_;
  const Orbits& orbits_;
  StepGraph& graph_;
  const std::vector<ClusterSpec> routings_;
  std::map<std::pair<std::int32_t, std::int16_t>, std::vector<bool>> called_;  // [program, slot][pattern]
  std::size_t parts_ = 0;
  std::vector<RankId> graph_rank_;  // [first rank]
  std::vector<LinkId> graph_link_;  // [first link]
  std::vector<double> legs_;        // [link] of the part that is looked at
};

}  // namespace

std::vector<RankId> add_ranks_and_groups(const GroupInputs& inputs, Replicas replicas, StepGraph& graph) {
  const RankLists lines = lines_of(inputs.grid);
  const std::vector<Lists> kinds = kinds_of(inputs, lines);
  const auto build = [&](const Orbits& orbits) -> std::optional<std::vector<RankId>> {
    GroupBuilder builder(inputs, kinds, lines, orbits, graph);
    return builder.build() ? std::optional(builder.graph_ranks()) : std::nullopt;
  };
  // A message of detail flow has a part of its own, which nothing else is like.
  if (replicas == Replicas::one && inputs.detail != Detail::flow) {
    const Orbits orbits(inputs.cluster, inputs.planned_on, inputs.grid, inputs.program, kinds);
    if (auto ranks = build(orbits)) return *ranks;
    graph.ranks.clear();
    graph.groups.clear();
    graph.links.clear();
    graph.shared_ports.clear();
  }
  return *build(Orbits(inputs.cluster));
}

}  // namespace stepsim
