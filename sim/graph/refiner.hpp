// Colour refinement of a step graph. Inside fold() and explain_folding().
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <map>
#include <numeric>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "sim/graph/step_graph.hpp"

namespace stepsim {

using Key = std::vector<std::uint64_t>;

// Numbers keys in the order in which they come first. A key's hash is taken once; keys themselves decide.
class KeyNumbers {
 public:
  std::int32_t operator()(const Key& key) {
    const std::uint64_t code = hash(key);
    const auto [first, last] = known_.equal_range(code);
    for (auto at = first; at != last; ++at) {
      if (keys_[static_cast<std::size_t>(at->second)] == key) return at->second;
    }
    keys_.push_back(key);
    return known_.emplace(code, size() - 1)->second;
  }

  std::int32_t size() const { return static_cast<std::int32_t>(keys_.size()); }

 private:
  static std::uint64_t hash(const Key& key) {
    std::uint64_t h = 0x9e3779b97f4a7c15ULL;
    for (const std::uint64_t v : key) h = (std::rotl(h, 23) ^ v) * 0xff51afd7ed558ccdULL;
    return h ^ (h >> 32);
  }

  std::unordered_multimap<std::uint64_t, std::int32_t> known_;  // by hash
  std::vector<Key> keys_;
};

inline std::uint64_t bits(double v) { return std::bit_cast<std::uint64_t>(v); }

// Colours of one kind of thing, numbered in order of first appearance; equal keys make equal colours.
struct Coloring {
  std::vector<std::int32_t> color;
  std::int32_t count = 0;

  explicit Coloring(std::size_t n) : color(n, 0), count(n > 0 ? 1 : 0) {}

  template <class KeyOf>
  void recolor(const KeyOf& key_of) {
    KeyNumbers numbers;
    std::vector<std::int32_t> next(color.size());
    Key key;
    for (std::size_t i = 0; i < color.size(); ++i) {
      key.clear();
      key_of(i, key);
      next[i] = numbers(key);
    }
    color = std::move(next);
    count = numbers.size();
  }
};

// Values, each with a weight and a size: equal sums of weights and equal largest sizes of equal values append equal words.
// Mostly many values are few different ones: those are summed as they come, and only they are sorted.
template <std::size_t N>
class Multiset {
 public:
  void add(const std::array<std::uint64_t, N>& value, std::uint64_t weight = 1, std::uint64_t size = 0) {
    if (!summed_.empty() && same(summed_[last_].value, value)) return summed_[last_].add(weight, size);
    const std::size_t known = std::min(summed_.size(), kLookedThrough);
    for (last_ = 0; last_ < known; ++last_) {
      if (same(summed_[last_].value, value)) return summed_[last_].add(weight, size);
    }
    last_ = summed_.size();
    summed_.push_back({value, weight, size});
  }

  // And is empty again.
  void append_to(Key& key) {
    std::sort(summed_.begin(), summed_.end(), [](const Sum& a, const Sum& b) { return a.value < b.value; });
    for (std::size_t i = 0; i < summed_.size();) {
      Sum sum = summed_[i++];
      for (; i < summed_.size() && summed_[i].value == sum.value; ++i) sum.add(summed_[i].weight, summed_[i].size);
      key.insert(key.end(), sum.value.begin(), sum.value.end());
      key.push_back(sum.weight);
      key.push_back(sum.size);
    }
    key.push_back(~0ULL);
    summed_.clear();
  }

 private:
  using Value = std::array<std::uint64_t, N>;
  struct Sum {
    Value value;
    std::uint64_t weight, size;
    void add(std::uint64_t more, std::uint64_t other) {
      weight += more;
      size = std::max(size, other);
    }
  };
  // Word by word: == calls memcmp, which takes longer than so few words do.
  static bool same(const Value& a, const Value& b) {
    for (std::size_t i = 0; i < N; ++i) {
      if (a[i] != b[i]) return false;
    }
    return true;
  }

  static constexpr std::size_t kLookedThrough = 8;
  std::vector<Sum> summed_;
  std::size_t last_ = 0;
};

inline void append_changes(const std::vector<Change>& changes, Key& key) {
  for (const Change& change : changes) key.insert(key.end(), {bits(change.time), bits(change.value)});
}

// Where in its group a link is used.
struct Place {
  std::int32_t pattern, part, routing;

  auto operator<=>(const Place&) const = default;
};
struct Use {
  std::int32_t group, place;  // place: see Refiner::place
  const Load* load;
};

// Of one group that the load's group stands for.
inline std::uint64_t most_of_one(const Load& load) { return load.alone == 0 ? static_cast<std::uint64_t>(load.legs) : load.alone; }
// What one group that `group` stands for puts on all links that the load's link stands for.
inline std::uint64_t legs_of_one(const Load& load, const Group& group, const GraphLink& link) {
  return static_cast<std::uint64_t>(load.legs) * static_cast<std::uint64_t>(link.count) / static_cast<std::uint64_t>(group.count);
}

class Refiner {
 public:
  explicit Refiner(const StepGraph& graph)
      : graph_(graph), ranks_(graph.ranks.size()), groups_(graph.groups.size()), links_(graph.links.size()) {
    first_use_.assign(graph.links.size() + 1, 0);
    for_each_load([&](std::int32_t, const Place&, const std::vector<Load>& loads) {
      for (const Load& load : loads) ++first_use_[load.link + 1];
    });
    std::partial_sum(first_use_.begin(), first_use_.end(), first_use_.begin());
    uses_.resize(first_use_.back());
    std::vector<std::size_t> next(first_use_.begin(), first_use_.end() - 1);
    std::map<Place, std::int32_t> numbers;
    for_each_load([&](std::int32_t group, const Place& place, const std::vector<Load>& loads) {
      const auto [number, fresh] = numbers.try_emplace(place, static_cast<std::int32_t>(places_.size()));
      if (fresh) places_.push_back(place);
      for (const Load& load : loads) uses_[next[load.link]++] = {group, number->second, &load};
    });

    first_owned_.assign(graph.ranks.size() + 1, 0);
    for_each_owned([&](RankId rank, std::int32_t) { ++first_owned_[rank + 1]; });
    std::partial_sum(first_owned_.begin(), first_owned_.end(), first_owned_.begin());
    owned_.resize(first_owned_.back());
    next.assign(first_owned_.begin(), first_owned_.end() - 1);
    for_each_owned([&](RankId rank, std::int32_t link) { owned_[next[rank]++] = link; });
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
  std::span<const Use> uses(std::size_t link) const {
    return std::span(uses_).subspan(first_use_[link], first_use_[link + 1] - first_use_[link]);
  }
  const Place& place(const Use& use) const { return places_[static_cast<std::size_t>(use.place)]; }
  std::span<const std::int32_t> owned(std::size_t rank) const {  // links in use
    return std::span(owned_).subspan(first_owned_[rank], first_owned_[rank + 1] - first_owned_[rank]);
  }

 private:
  // A part's own loads are those under routing 0.
  template <class Visit>
  static void for_each_routing(const Part& part, const Visit& visit) {
    visit(0, part.loads);
    for (std::size_t d = 0; d < part.detours.size(); ++d) visit(static_cast<std::int32_t>(d + 1), part.detours[d].loads);
  }

  template <class Visit>
  void for_each_load(const Visit& visit) const {
    for (std::size_t g = 0; g < graph_.groups.size(); ++g) {
      const auto& patterns = graph_.groups[g].patterns;
      for (std::size_t p = 0; p < patterns.size(); ++p) {
        for (std::size_t q = 0; q < patterns[p].parts.size(); ++q) {
          for_each_routing(patterns[p].parts[q], [&](std::int32_t routing, const std::vector<Load>& loads) {
            const Place place{static_cast<std::int32_t>(p), static_cast<std::int32_t>(q), routing};
            visit(static_cast<std::int32_t>(g), place, loads);
          });
        }
      }
    }
  }

  template <class Visit>
  void for_each_owned(const Visit& visit) const {
    for (std::size_t l = 0; l < graph_.links.size(); ++l) {
      if (graph_.links[l].owner >= 0 && !uses(l).empty()) visit(graph_.links[l].owner, static_cast<std::int32_t>(l));
    }
    for (const SharedPort& port : graph_.shared_ports) {
      if (!uses(port.link).empty()) visit(port.rank, port.link);
    }
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
             uses(l).empty() ? 0ULL : 1ULL};
      append_changes(link.capacity_changes, key);
    });
  }

  void rank_key(std::size_t r, Key& key) {
    key.push_back(ranks_.color[r]);
    for (const GroupId g : graph_.ranks[r].slots) key.push_back(g < 0 ? ~0ULL : groups_.color[g]);
    const auto ranks = static_cast<std::uint64_t>(graph_.ranks[r].count);
    for (const std::int32_t l : owned(r)) {
      const GraphLink& link = graph_.links[l];
      colors_.add({static_cast<std::uint64_t>(links_.color[l])}, link.owner < 0 ? 1 : static_cast<std::uint64_t>(link.count) / ranks);
    }
    colors_.append_to(key);
  }

  void group_key(std::size_t g, Key& key) {
    const Group& group = graph_.groups[g];
    key.push_back(groups_.color[g]);
    const auto alike = static_cast<std::uint64_t>(group.count);  // of its ranks each is in one of these groups
    for (const Endpoint& e : group.endpoints) {
      pairs_.add({static_cast<std::uint64_t>(ranks_.color[e.rank]), static_cast<std::uint64_t>(e.slot)},
                 static_cast<std::uint64_t>(graph_.ranks[e.rank].count) / alike);
    }
    pairs_.append_to(key);
    for (const Pattern& pattern : group.patterns) {
      for (const Part& part : pattern.parts) {
        for_each_routing(part, [&](std::int32_t, const std::vector<Load>& loads) {
          for (const Load& load : loads) {
            colors_.add({static_cast<std::uint64_t>(links_.color[load.link])}, legs_of_one(load, group, graph_.links[load.link]),
                        most_of_one(load));
          }
          colors_.append_to(key);
        });
      }
    }
  }

  void link_key(std::size_t l, Key& key) {
    key.push_back(links_.color[l]);
    const RankId owner = graph_.links[l].owner;
    key.push_back(owner < 0 ? ~0ULL : ranks_.color[owner]);
    for (const Use& use : uses(l)) {
      pairs_.add({static_cast<std::uint64_t>(groups_.color[use.group]), static_cast<std::uint64_t>(use.place)},
                 static_cast<std::uint64_t>(use.load->legs), most_of_one(*use.load));
    }
    pairs_.append_to(key);
  }

  const StepGraph& graph_;
  Coloring ranks_, groups_, links_;
  std::vector<std::size_t> first_use_;  // [link] in uses_
  std::vector<Use> uses_;
  std::vector<Place> places_;
  std::vector<std::size_t> first_owned_;  // [rank] in owned_
  std::vector<std::int32_t> owned_;
  // Multisets in the making.
  Multiset<1> colors_;
  Multiset<2> pairs_;
};

}  // namespace stepsim
