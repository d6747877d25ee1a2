#include "sim/graph/fold.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <map>
#include <unordered_map>

namespace stepsim {
namespace {

using Key = std::vector<std::uint64_t>;

struct KeyHash {
  std::size_t operator()(const Key& key) const {
    std::uint64_t h = 0x9e3779b97f4a7c15ULL;
    for (const std::uint64_t v : key) h = (std::rotl(h, 23) ^ v) * 0xff51afd7ed558ccdULL;
    return h ^ (h >> 32);
  }
};

std::uint64_t bits(double v) { return std::bit_cast<std::uint64_t>(v); }

// Colours of one kind of thing, numbered in order of first appearance; equal keys make equal colours.
struct Coloring {
  std::vector<std::int32_t> color;
  std::int32_t count = 0;

  explicit Coloring(std::size_t n) : color(n, 0), count(n > 0 ? 1 : 0) {}

  template <class KeyOf>
  void recolor(const KeyOf& key_of) {
    std::unordered_map<Key, std::int32_t, KeyHash> ids;
    std::vector<std::int32_t> next(color.size());
    Key key;
    for (std::size_t i = 0; i < color.size(); ++i) {
      key.clear();
      key_of(i, key);
      next[i] = ids.try_emplace(key, static_cast<std::int32_t>(ids.size())).first->second;
    }
    color = std::move(next);
    count = static_cast<std::int32_t>(ids.size());
  }
};

// Appends a sorted run-length list of (value..., how often), so that equal multisets append equal words.
void append_multiset(std::vector<Key>& values, Key& key) {
  std::sort(values.begin(), values.end());
  for (std::size_t i = 0; i < values.size();) {
    std::size_t j = i;
    while (j < values.size() && values[j] == values[i]) ++j;
    key.insert(key.end(), values[i].begin(), values[i].end());
    key.push_back(j - i);
    i = j;
  }
  key.push_back(~0ULL);
}

// Where a link is used.
struct Use {
  std::int32_t group, pattern, part;
  double legs;
};

class Refiner {
 public:
  explicit Refiner(const StepGraph& graph)
      : graph_(graph), ranks_(graph.ranks.size()), groups_(graph.groups.size()), links_(graph.links.size()),
        uses_(graph.links.size()), owned_(graph.ranks.size()) {
    for (std::size_t g = 0; g < graph.groups.size(); ++g) {
      const auto& patterns = graph.groups[g].patterns;
      for (std::size_t p = 0; p < patterns.size(); ++p) {
        for (std::size_t q = 0; q < patterns[p].parts.size(); ++q) {
          for (const Load& load : patterns[p].parts[q].loads) {
            uses_[load.link].push_back({static_cast<std::int32_t>(g), static_cast<std::int32_t>(p),
                                        static_cast<std::int32_t>(q), load.legs});
          }
        }
      }
    }
    for (std::size_t l = 0; l < graph.links.size(); ++l) {
      if (graph.links[l].owner >= 0 && !uses_[l].empty()) owned_[graph.links[l].owner].push_back(static_cast<std::int32_t>(l));
    }
    start();
  }

  int refine() {
    for (int round = 1;; ++round) {
      const auto before = ranks_.count + groups_.count + links_.count;
      ranks_.recolor([&](std::size_t r, Key& key) { rank_key(r, key); });
      groups_.recolor([&](std::size_t g, Key& key) { group_key(g, key); });
      links_.recolor([&](std::size_t l, Key& key) { link_key(l, key); });
      if (ranks_.count + groups_.count + links_.count == before) return round;
    }
  }

  const Coloring& ranks() const { return ranks_; }
  const Coloring& groups() const { return groups_; }
  const Coloring& links() const { return links_; }
  const std::vector<Use>& uses(std::size_t link) const { return uses_[link]; }

 private:
  void start() {
    ranks_.recolor([&](std::size_t r, Key& key) {
      key = {static_cast<std::uint64_t>(graph_.ranks[r].program), bits(graph_.ranks[r].speed)};
    });
    groups_.recolor([&](std::size_t g, Key& key) {
      const Group& group = graph_.groups[g];
      key = {static_cast<std::uint64_t>(group.dimension), static_cast<std::uint64_t>(group.size)};
      for (const Pattern& pattern : group.patterns) {
        for (const char c : pattern.operation + "/" + pattern.algorithm) key.push_back(static_cast<std::uint64_t>(c));
        for (const Part& part : pattern.parts) {
          key.insert(key.end(), {bits(part.bytes_per_payload), bits(part.alpha), bits(part.beta),
                                 static_cast<std::uint64_t>(part.behind), part.after.size()});
          key.insert(key.end(), part.after.begin(), part.after.end());
        }
        key.push_back(~0ULL);
      }
    });
    links_.recolor([&](std::size_t l, Key& key) {
      const GraphLink& link = graph_.links[l];
      key = {bits(link.capacity), static_cast<std::uint64_t>(link.tier), link.owner >= 0 ? 1ULL : 0ULL,
             uses_[l].empty() ? 0ULL : 1ULL};
    });
  }

  void rank_key(std::size_t r, Key& key) {
    key.push_back(ranks_.color[r]);
    for (const GroupId g : graph_.ranks[r].slots) key.push_back(g < 0 ? ~0ULL : groups_.color[g]);
    scratch_.clear();
    for (const std::int32_t l : owned_[r]) scratch_.push_back({static_cast<std::uint64_t>(links_.color[l])});
    append_multiset(scratch_, key);
  }

  void group_key(std::size_t g, Key& key) {
    const Group& group = graph_.groups[g];
    key.push_back(groups_.color[g]);
    scratch_.clear();
    for (const Endpoint& e : group.endpoints) {
      scratch_.push_back({static_cast<std::uint64_t>(ranks_.color[e.rank]), static_cast<std::uint64_t>(e.slot)});
    }
    append_multiset(scratch_, key);
    for (const Pattern& pattern : group.patterns) {
      for (const Part& part : pattern.parts) {
        scratch_.clear();
        for (const Load& load : part.loads) {
          scratch_.push_back({static_cast<std::uint64_t>(links_.color[load.link]), bits(load.legs)});
        }
        append_multiset(scratch_, key);
      }
    }
  }

  void link_key(std::size_t l, Key& key) {
    key.push_back(links_.color[l]);
    const RankId owner = graph_.links[l].owner;
    key.push_back(owner < 0 ? ~0ULL : ranks_.color[owner]);
    scratch_.clear();
    for (const Use& use : uses_[l]) {
      scratch_.push_back({static_cast<std::uint64_t>(groups_.color[use.group]), static_cast<std::uint64_t>(use.pattern),
                          static_cast<std::uint64_t>(use.part), bits(use.legs)});
    }
    append_multiset(scratch_, key);
  }

  const StepGraph& graph_;
  Coloring ranks_, groups_, links_;
  std::vector<std::vector<Use>> uses_;
  std::vector<std::vector<std::int32_t>> owned_;
  std::vector<Key> scratch_;
};

// First (lowest) member of each colour.
std::vector<std::int32_t> representatives(const Coloring& coloring) {
  std::vector<std::int32_t> first(coloring.count, -1);
  for (std::size_t i = 0; i < coloring.color.size(); ++i) {
    if (first[coloring.color[i]] < 0) first[coloring.color[i]] = static_cast<std::int32_t>(i);
  }
  return first;
}

std::vector<int> populations(const Coloring& coloring) {
  std::vector<int> counts(coloring.count, 0);
  for (const std::int32_t c : coloring.color) ++counts[c];
  return counts;
}

std::vector<Rank> quotient_ranks(const StepGraph& graph, const Refiner& refined) {
  const auto first = representatives(refined.ranks());
  const auto counts = populations(refined.ranks());
  std::vector<Rank> ranks;
  for (std::size_t c = 0; c < first.size(); ++c) {
    Rank rank = graph.ranks[first[c]];
    rank.count = counts[c];
    for (GroupId& g : rank.slots) {
      if (g >= 0) g = refined.groups().color[g];
    }
    ranks.push_back(std::move(rank));
  }
  return ranks;
}

std::vector<Group> quotient_groups(const StepGraph& graph, const Refiner& refined) {
  const auto first = representatives(refined.groups());
  const auto counts = populations(refined.groups());
  std::vector<Group> groups;
  for (std::size_t c = 0; c < first.size(); ++c) {
    Group group = graph.groups[first[c]];
    group.count = counts[c];
    for (Endpoint& e : group.endpoints) e.rank = refined.ranks().color[e.rank];
    std::sort(group.endpoints.begin(), group.endpoints.end());
    group.endpoints.erase(std::unique(group.endpoints.begin(), group.endpoints.end()), group.endpoints.end());
    for (Pattern& pattern : group.patterns) {
      for (Part& part : pattern.parts) part.loads.clear();
    }
    groups.push_back(std::move(group));
  }
  return groups;
}

}  // namespace

Folding fold(const StepGraph& graph) {
  Refiner refined(graph);
  Folding folding;
  folding.rounds = refined.refine();
  folding.rank_color = refined.ranks().color;
  folding.group_color = refined.groups().color;
  folding.link_color.assign(graph.links.size(), -1);

  StepGraph& out = folding.graph;
  out.programs = graph.programs;
  out.tiers = graph.tiers;
  out.labels = graph.labels;
  out.sms = graph.sms;
  out.ranks = quotient_ranks(graph, refined);
  out.groups = quotient_groups(graph, refined);

  const auto first = representatives(refined.links());
  const auto counts = populations(refined.links());
  std::vector<std::int32_t> new_id(first.size(), -1);
  for (std::size_t c = 0; c < first.size(); ++c) {
    if (refined.uses(first[c]).empty()) continue;
    new_id[c] = static_cast<std::int32_t>(out.links.size());
    GraphLink link = graph.links[first[c]];
    link.count = counts[c];
    if (link.owner >= 0) link.owner = folding.rank_color[link.owner];
    out.links.push_back(std::move(link));
    // The legs that all groups of a colour put on this link.
    std::map<std::array<std::int32_t, 3>, double> legs;
    for (const Use& use : refined.uses(first[c])) {
      legs[{folding.group_color[use.group], use.pattern, use.part}] += use.legs;
    }
    for (const auto& [where, sum] : legs) {
      out.groups[where[0]].patterns[where[1]].parts[where[2]].loads.push_back({new_id[c], sum});
    }
  }
  for (std::size_t l = 0; l < graph.links.size(); ++l) folding.link_color[l] = new_id[refined.links().color[l]];
  return folding;
}

}  // namespace stepsim
