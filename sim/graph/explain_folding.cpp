// Why ranks differ: the refinement is run again with its history kept; two things that end in different colours are
// followed back, round by round, to what made them differ first.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "sim/graph/fold.hpp"
#include "sim/graph/refiner.hpp"

namespace stepsim {
namespace {

using Colors = std::vector<std::int32_t>;

// "25 GB/s" without the report's words: this floor is below it.
std::string rate_text(double bytes_per_second) {
  return bytes_per_second > 0 ? fmt::format("{:.4g} GB/s", bytes_per_second / 1e9) : "no bandwidth (down)";
}

// One thing that a has and b lacks of two lists of (colour, thing); -1: none.
struct Lacking {
  std::int32_t a = -1, b = -1;
};
using Colored = std::vector<std::pair<Key, std::int32_t>>;
Lacking first_unmatched(Colored a, Colored b) {
  const auto without = [](const Colored& these, Colored others) {
    for (const auto& [key, thing] : these) {
      const auto same = std::find_if(others.begin(), others.end(), [&, &k = key](const auto& o) { return o.first == k; });
      if (same == others.end()) return thing;
      others.erase(same);
    }
    return std::int32_t{-1};
  };
  std::sort(a.begin(), a.end());
  std::sort(b.begin(), b.end());
  return {without(a, b), without(b, a)};
}

// (colour and place) -> legs together, most of one, one such thing: what refinement looks at.
class LegSums {
 public:
  void add(const Key& where, double legs, std::int32_t thing) {
    auto [at, fresh] = sums_.try_emplace(where, 0.0, 0.0, thing);
    auto& [sum, most, first] = at->second;
    sum += legs;
    most = std::max(most, legs);
  }

  Colored list() const {
    Colored list;
    for (const auto& [where, of] : sums_) {
      const auto& [sum, most, thing] = of;
      Key key = where;
      key.insert(key.end(), {bits(sum), bits(most)});
      list.push_back({std::move(key), thing});
    }
    return list;
  }

 private:
  std::map<Key, std::tuple<double, double, std::int32_t>> sums_;
};

class Explainer {
 public:
  explicit Explainer(const StepGraph& graph) : graph_(graph), refined_(graph) {
    reasons_.rounds = refined_.refine([this](const Refiner& now) {
      ranks_.push_back(now.ranks().color);
      groups_.push_back(now.groups().color);
      links_.push_back(now.links().color);
    });
  }

  FoldingReasons run() {
    count();
    const Coloring& colors = refined_.ranks();
    std::vector<RankKind> kinds(colors.count);
    for (std::size_t r = 0; r < colors.color.size(); ++r) {
      RankKind& kind = kinds[colors.color[r]];
      if (kind.count++ == 0) kind.first = static_cast<RankId>(r);
    }
    std::map<std::int32_t, std::vector<std::size_t>> of_program;
    for (std::size_t k = 0; k < kinds.size(); ++k) of_program[graph_.ranks[kinds[k].first].program].push_back(k);
    for (const auto& [program, members] : of_program) {
      const std::size_t largest = *std::max_element(members.begin(), members.end(), [&](std::size_t a, std::size_t b) {
        return kinds[a].count < kinds[b].count;
      });
      for (const std::size_t k : members) {
        RankKind kind = kinds[k];
        kind.program = graph_.programs[program].name;
        if (k != largest) {
          kind.unlike = kinds[largest].first;
          chain_.clear();
          compare_ranks(kind.first, kind.unlike, "");
          kind.why = chain_;
        }
        reasons_.kinds.push_back(std::move(kind));
      }
    }
    return reasons_;
  }

 private:
  void count() {
    reasons_.ranks = graph_.ranks.size();
    reasons_.groups = graph_.groups.size();
    reasons_.rank_kinds = static_cast<std::size_t>(refined_.ranks().count);
    reasons_.group_kinds = static_cast<std::size_t>(refined_.groups().count);
    std::vector<bool> seen(refined_.links().count, false);
    for (std::size_t l = 0; l < graph_.links.size(); ++l) {
      if (refined_.uses(l).empty()) continue;
      ++reasons_.links;
      reasons_.link_kinds += !seen[refined_.links().color[l]];
      seen[refined_.links().color[l]] = true;
    }
  }

  static std::size_t first_difference(const std::vector<Colors>& history, std::int32_t a, std::int32_t b) {
    std::size_t round = 0;
    while (round < history.size() && history[round][a] == history[round][b]) ++round;
    return round;
  }

  void note(std::string text) { chain_.push_back(std::move(text)); }

  // Each adds why a is not like b; `what` stands before it: "it ", "which ".
  void compare_ranks(RankId a, RankId b, const std::string& what) {
    const std::size_t round = first_difference(ranks_, a, b);
    const Rank &x = graph_.ranks[a], &y = graph_.ranks[b];
    if (round == 0) return note(what + own_difference(x, y));
    for (std::size_t slot = 0; slot < std::min(x.slots.size(), y.slots.size()); ++slot) {
      const GroupId g = x.slots[slot], h = y.slots[slot];
      if (g < 0 && h < 0) continue;
      if (g < 0 || h < 0) {
        return note(fmt::format("{}{} group \"{}\"", what, g < 0 ? "lacks" : "also has", graph_.groups[std::max(g, h)].name));
      }
      if (groups_[round - 1][g] == groups_[round - 1][h]) continue;
      return compare_groups(g, h, fmt::format("{}is in group \"{}\", which ", what, graph_.groups[g].name));
    }
    const auto owned = [&](RankId r) {
      Colored list;
      for (const std::int32_t l : refined_.owned(r)) list.push_back({{static_cast<std::uint64_t>(links_[round - 1][l])}, l});
      return list;
    };
    const Lacking links = first_unmatched(owned(a), owned(b));
    if (links.a < 0 || links.b < 0) return note(what + "uses another number of its links");
    compare_links(links.a, links.b, fmt::format("{}has link {}, which ", what, graph_.links[links.a].name));
  }

  static std::string own_difference(const Rank& x, const Rank& y) {
    if (x.program != y.program) return "runs another program";
    if (x.speed != y.speed) return fmt::format("has speed {:g}, not {:g}", x.speed, y.speed);
    return "changes its speed at other times";
  }

  void compare_groups(GroupId a, GroupId b, const std::string& what) {
    const std::size_t round = first_difference(groups_, a, b);
    const Group &x = graph_.groups[a], &y = graph_.groups[b];
    if (round == 0) {
      if (x.size != y.size) return note(fmt::format("{}has {} members, not {}", what, x.size, y.size));
      return note(what + own_difference(x, y));
    }
    const auto members = [&](const Group& group) {
      Colored list;
      for (const Endpoint& e : group.endpoints) {
        list.push_back({{static_cast<std::uint64_t>(ranks_[round][e.rank]), static_cast<std::uint64_t>(e.slot)}, e.rank});
      }
      return list;
    };
    const Lacking ranks = first_unmatched(members(x), members(y));
    if (ranks.a >= 0 && ranks.b >= 0) {
      note(fmt::format("{}has rank {}", what, ranks.a));
      return compare_ranks(ranks.a, ranks.b, "");
    }
    const auto loads = [&](const Group& group) {
      LegSums sums;
      for (std::size_t p = 0; p < group.patterns.size(); ++p) {
        for (std::size_t q = 0; q < group.patterns[p].parts.size(); ++q) {
          const Part& part = group.patterns[p].parts[q];
          for (std::size_t d = 0; d <= part.detours.size(); ++d) {
            for (const Load& load : d == 0 ? part.loads : part.detours[d - 1].loads) {
              sums.add({static_cast<std::uint64_t>(links_[round - 1][load.link]), p, q, d}, load.legs, load.link);
            }
          }
        }
      }
      return sums.list();
    };
    const Lacking links = first_unmatched(loads(x), loads(y));
    if (links.b < 0 && links.a >= 0) return note(fmt::format("{}crosses also {}", what, graph_.links[links.a].name));
    if (links.a < 0) return note(fmt::format("{}does not cross a link such as {}", what, graph_.links[links.b].name));
    if (first_difference(links_, links.a, links.b) >= round) return note(what + "puts other numbers of legs on its links");
    compare_links(links.a, links.b, fmt::format("{}crosses {}, which ", what, graph_.links[links.a].name));
  }

  static std::string own_difference(const Group& x, const Group& y) {
    bool detours = false, latencies = false;
    for (std::size_t p = 0; p < std::min(x.patterns.size(), y.patterns.size()); ++p) {
      const auto &these = x.patterns[p].parts, &others = y.patterns[p].parts;
      for (std::size_t q = 0; q < std::min(these.size(), others.size()); ++q) {
        detours = detours || these[q].detours.size() != others[q].detours.size();
        latencies = latencies || these[q].alpha != others[q].alpha;
      }
    }
    if (detours) return "has other routes or latencies in a part of the step";
    return latencies ? "has other latencies (its place in the network)" : "has other algorithms or sizes";
  }

  void compare_links(LinkId a, LinkId b, const std::string& what) {
    const std::size_t round = first_difference(links_, a, b);
    const GraphLink &x = graph_.links[a], &y = graph_.links[b];
    if (round == 0) return note(what + own_difference(x, y));
    if ((x.owner < 0) != (y.owner < 0)) return note(what + "belongs to no single rank");
    if (x.owner >= 0 && ranks_[round][x.owner] != ranks_[round][y.owner]) {
      note(fmt::format("{}is the port of rank {}", what, x.owner));
      return compare_ranks(x.owner, y.owner, "");
    }
    const auto groups = [&](LinkId l) {
      LegSums sums;
      for (const Use& use : refined_.uses(l)) {
        sums.add({static_cast<std::uint64_t>(groups_[round][use.group]), static_cast<std::uint64_t>(use.place)}, use.load->legs, use.group);
      }
      return sums.list();
    };
    const Lacking used = first_unmatched(groups(a), groups(b));
    if (used.b < 0 && used.a >= 0) return note(fmt::format("{}is crossed also by group \"{}\"", what, graph_.groups[used.a].name));
    if (used.a < 0) return note(fmt::format("{}is not crossed by a group such as \"{}\"", what, graph_.groups[used.b].name));
    if (groups_[round][used.a] == groups_[round][used.b]) return note(what + "carries other numbers of legs");
    note(fmt::format("{}carries group \"{}\"", what, graph_.groups[used.a].name));
    compare_groups(used.a, used.b, "");
  }

  static std::string own_difference(const GraphLink& x, const GraphLink& y) {
    if (x.tier != y.tier) return "is of another wire";
    if (x.capacity != y.capacity) return fmt::format("has {}, not {}", rate_text(x.capacity), rate_text(y.capacity));
    if (x.capacity_changes != y.capacity_changes) return "changes its bandwidth at other times";
    return "is used otherwise";
  }

  const StepGraph& graph_;
  Refiner refined_;
  std::vector<Colors> ranks_, groups_, links_;  // [round], before it
  FoldingReasons reasons_;
  std::vector<std::string> chain_;
};

}  // namespace

FoldingReasons explain_folding(const StepGraph& graph) { return Explainer(graph).run(); }

}  // namespace stepsim
