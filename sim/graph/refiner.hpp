// Colour refinement of a step graph. Inside fold() and explain_folding().
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "sim/graph/step_graph.hpp"

namespace stepsim {

using Key = std::vector<std::uint64_t>;

struct KeyHash {
  std::size_t operator()(const Key& key) const {
    std::uint64_t h = 0x9e3779b97f4a7c15ULL;
    for (const std::uint64_t v : key) h = (std::rotl(h, 23) ^ v) * 0xff51afd7ed558ccdULL;
    return h ^ (h >> 32);
  }
};

inline std::uint64_t bits(double v) { return std::bit_cast<std::uint64_t>(v); }

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
template <std::size_t N>
void append_multiset(std::vector<std::array<std::uint64_t, N>>& values, Key& key) {
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

inline void append_changes(const std::vector<Change>& changes, Key& key) {
  for (const Change& change : changes) key.insert(key.end(), {bits(change.time), bits(change.value)});
}

// Where a link is used, under a routing.
struct Use {
  std::int32_t group, pattern, part, routing;
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
          for_each_routing(patterns[p].parts[q], [&](std::int32_t routing, const std::vector<Load>& loads) {
            for (const Load& load : loads) {
              uses_[load.link].push_back({static_cast<std::int32_t>(g), static_cast<std::int32_t>(p),
                                          static_cast<std::int32_t>(q), routing, load.legs});
            }
          });
        }
      }
    }
    for (std::size_t l = 0; l < graph.links.size(); ++l) {
      if (graph.links[l].owner >= 0 && !uses_[l].empty()) owned_[graph.links[l].owner].push_back(static_cast<std::int32_t>(l));
    }
    for (const SharedPort& port : graph.shared_ports) {
      if (!uses_[port.link].empty()) owned_[port.rank].push_back(port.link);
    }
    start();
  }

  // Refines until nothing changes; the number of rounds. `seen` is called with the colours before each round.
  template <class Seen>
  int refine(const Seen& seen) {
    for (int round = 1;; ++round) {
      seen(*this);
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

  const std::vector<std::int32_t>& owned(std::size_t rank) const { return owned_[rank]; }

 private:
  // A part's own loads are those under routing 0.
  template <class Visit>
  static void for_each_routing(const Part& part, const Visit& visit) {
    visit(0, part.loads);
    for (std::size_t d = 0; d < part.detours.size(); ++d) visit(static_cast<std::int32_t>(d + 1), part.detours[d].loads);
  }

  void start() {
    ranks_.recolor([&](std::size_t r, Key& key) {
      key = {static_cast<std::uint64_t>(graph_.ranks[r].program), bits(graph_.ranks[r].speed)};
      append_changes(graph_.ranks[r].speed_changes, key);
    });
    groups_.recolor([&](std::size_t g, Key& key) {
      const Group& group = graph_.groups[g];
      key = {static_cast<std::uint64_t>(group.dimension), static_cast<std::uint64_t>(group.size)};
      for (const Pattern& pattern : group.patterns) {
        for (const char c : pattern.operation + "/" + pattern.algorithm) key.push_back(static_cast<std::uint64_t>(c));
        for (const Part& part : pattern.parts) {
          key.insert(key.end(), {bits(part.bytes_per_payload), bits(part.alpha), bits(part.beta), part.detours.size(),
                                 static_cast<std::uint64_t>(part.behind), part.after.size()});
          key.insert(key.end(), part.after.begin(), part.after.end());
          for (const Detour& detour : part.detours) key.push_back(bits(detour.alpha));
        }
        key.push_back(~0ULL);
      }
    });
    links_.recolor([&](std::size_t l, Key& key) {
      const GraphLink& link = graph_.links[l];
      key = {bits(link.capacity), static_cast<std::uint64_t>(link.tier), link.owner >= 0 ? 1ULL : 0ULL,
             uses_[l].empty() ? 0ULL : 1ULL};
      append_changes(link.capacity_changes, key);
    });
  }

  void rank_key(std::size_t r, Key& key) {
    key.push_back(ranks_.color[r]);
    for (const GroupId g : graph_.ranks[r].slots) key.push_back(g < 0 ? ~0ULL : groups_.color[g]);
    ones_.clear();
    for (const std::int32_t l : owned_[r]) ones_.push_back({static_cast<std::uint64_t>(links_.color[l])});
    append_multiset(ones_, key);
  }

  void group_key(std::size_t g, Key& key) {
    const Group& group = graph_.groups[g];
    key.push_back(groups_.color[g]);
    pairs_.clear();
    for (const Endpoint& e : group.endpoints) {
      pairs_.push_back({static_cast<std::uint64_t>(ranks_.color[e.rank]), static_cast<std::uint64_t>(e.slot)});
    }
    append_multiset(pairs_, key);
    for (const Pattern& pattern : group.patterns) {
      for (const Part& part : pattern.parts) {
        for_each_routing(part, [&](std::int32_t, const std::vector<Load>& loads) {
          pairs_.clear();
          for (const Load& load : loads) {
            pairs_.push_back({static_cast<std::uint64_t>(links_.color[load.link]), bits(load.legs)});
          }
          append_multiset(pairs_, key);
        });
      }
    }
  }

  void link_key(std::size_t l, Key& key) {
    key.push_back(links_.color[l]);
    const RankId owner = graph_.links[l].owner;
    key.push_back(owner < 0 ? ~0ULL : ranks_.color[owner]);
    uses_here_.clear();
    for (const Use& use : uses_[l]) {
      uses_here_.push_back({static_cast<std::uint64_t>(groups_.color[use.group]), static_cast<std::uint64_t>(use.pattern),
                          static_cast<std::uint64_t>(use.part), static_cast<std::uint64_t>(use.routing), bits(use.legs)});
    }
    append_multiset(uses_here_, key);
  }

  const StepGraph& graph_;
  Coloring ranks_, groups_, links_;
  std::vector<std::vector<Use>> uses_;
  std::vector<std::vector<std::int32_t>> owned_;
  // Multisets in the making.
  std::vector<std::array<std::uint64_t, 1>> ones_;
  std::vector<std::array<std::uint64_t, 2>> pairs_;
  std::vector<std::array<std::uint64_t, 5>> uses_here_;
};

}  // namespace stepsim
