#include "sim/engine/layout.hpp"

#include <algorithm>
#include <map>
#include <span>
#include <tuple>

namespace stepsim {
namespace {

// Whether anything can be foretold: not where transfers take SMs away from kernels, routes change, or events vary.
bool foretellable(const StepGraph& graph) { return graph.sms == 0 && graph.reroutings.empty() && graph.jitter == Jitter{}; }

bool moves_bytes(const Part& part) {
  return !part.loads.empty() && !part.counted_only && part.bytes_per_payload > 0;
}

// Whose calls use something: a stream of a rank.
struct User {
  static constexpr std::int32_t kNobody = -1, kSeveral = -2;
  std::int32_t rank = kNobody;
  std::uint8_t stream = 0;

  void add(RankId by, std::uint8_t on) {
    if (rank == kNobody) {
      *this = {by, on};
    } else if (rank != by || stream != on) {
      rank = kSeveral;
    }
  }
};

// Which (slot, pattern, stream) a program's calls use.
using Use = std::tuple<std::int16_t, std::int16_t, std::uint8_t>;
using Uses = std::vector<Use>;  // sorted

std::vector<Uses> uses_of(const StepGraph& graph) {
  std::vector<Uses> uses;
  for (const Program& program : graph.programs) {
    Uses own;
    for (const OpSpec& op : program.ops.specs()) {
      if (op.kind == OpKind::transfer) own.emplace_back(op.slot, op.pattern, op.stream);
    }
    std::sort(own.begin(), own.end());
    own.erase(std::unique(own.begin(), own.end()), own.end());
    uses.push_back(std::move(own));
  }
  return uses;
}

// Its parts run side by side, each over links of its own that are up and stay as they are.
bool parts_keep_apart(const StepGraph& graph, const Pattern& pattern) {
  std::vector<LinkId> links;
  for (const Part& part : pattern.parts) {
    if (!part.after.empty() || part.behind >= 0) return false;
    if (!moves_bytes(part)) continue;
    for (const Load& load : part.loads) {
      const GraphLink& link = graph.links[load.link];
      if (!(link.capacity > 0) || !link.capacity_changes.empty()) return false;
      links.push_back(load.link);
    }
  }
  std::sort(links.begin(), links.end());
  return std::adjacent_find(links.begin(), links.end()) == links.end();
}

}  // namespace

SoloCalls::SoloCalls(const StepGraph& graph, bool contended) : foretellable_(foretellable(graph)) {
  if (!foretellable_) return;
  const std::vector<Uses> uses = uses_of(graph);
  std::vector<User> of_link(graph.links.size()), of_group(graph.groups.size());
  const auto for_each_use = [&](const auto& visit) {
    for (std::size_t r = 0; r < graph.ranks.size(); ++r) {
      const Rank& rank = graph.ranks[r];
      for (const auto& [slot, pattern, stream] : uses[rank.program]) {
        visit(static_cast<RankId>(r), stream, rank.slots[slot], pattern);
      }
    }
  };
  for_each_use([&](RankId r, std::uint8_t stream, GroupId g, std::int16_t p) {
    of_group[g].add(r, stream);
    for (const Part& part : graph.groups[g].patterns[p].parts) {
      if (!moves_bytes(part)) continue;
      for (const Load& load : part.loads) of_link[load.link].add(r, stream);
    }
  });
  for (const Group& group : graph.groups) times_.emplace_back(group.patterns.size());
  for_each_use([&](RankId, std::uint8_t, GroupId g, std::int16_t p) {
    const Group& group = graph.groups[g];
    const Pattern& pattern = group.patterns[p];
    Times& times = times_[g][p];
    if (group.endpoints.size() != 1 || of_group[g].rank < 0 || times.solo || !parts_keep_apart(graph, pattern)) return;
    for (const Part& part : pattern.parts) {
      PartTime& time = times.parts.emplace_back(PartTime{part.alpha, part.beta, part.bytes_per_payload, 0});
      if (!moves_bytes(part)) continue;
      for (std::size_t i = 0; i < part.loads.size(); ++i) {
        const Load& load = part.loads[i];
        if (of_link[load.link].rank < 0) {
          times.parts.clear();
          return;
        }
        const double rate = graph.links[load.link].capacity / (contended || load.alone == 0 ? load.legs : load.alone);
        time.rate = i == 0 ? rate : std::min(time.rate, rate);
      }
    }
    times.solo = true;
  });
}

double SoloCalls::end(GroupId group, std::int32_t pattern, double payload_bytes, double start) const {
  double end = start;
  for (const PartTime& part : times_[group][pattern].parts) {
    double at = start + (part.alpha + part.beta * payload_bytes);
    if (part.rate > 0) at += part.bytes_per_payload * payload_bytes / part.rate;
    end = std::max(end, at);
  }
  return end;
}

namespace {

// Whether the rank's speed stays as it is, and which of its calls are alone.
std::vector<bool> signature_of(const SoloCalls& solo, const Uses& uses, const Rank& rank) {
  std::vector<bool> signature = {rank.speed_changes.empty()};
  for (const auto& [slot, pattern, stream] : uses) signature.push_back(solo.alone(rank.slots[slot], pattern));
  return signature;
}

class LayOut {
 public:
  LayOut(const Program& program, const SoloCalls& solo, const Uses& uses, const std::vector<bool>& signature)
      : ops_(program.ops), n_(program.ops.size()), streams_(program.streams.size()), known_(n_ * streams_, 0), first_(n_, -1) {
    layout_.streams.resize(streams_);
    std::vector<std::size_t> of_stream(streams_, 0);
    for (std::size_t s = 0; s < ops_.specs().size(); ++s) of_stream[ops_.specs()[s].stream] += static_cast<std::size_t>(ops_.uses()[s]);
    for (std::size_t s = 0; s < streams_; ++s) layout_.streams[s].reserve(of_stream[s]);
    place_.reserve(n_);
    alone_.reserve(n_);
    layout_.waits.reserve(n_);
    edges_.reserve(3 * n_);
    for (std::size_t i = 0; i < n_; ++i) add(static_cast<std::int32_t>(i));
    if (!solo.anything()) return;
    std::vector<bool> spec_alone;
    for (const OpSpec& op : ops_.specs()) {
      if (op.kind != OpKind::transfer) {
        spec_alone.push_back(op.kind == OpKind::delay || signature.front());
        continue;
      }
      const auto use = std::lower_bound(uses.begin(), uses.end(), Use{op.slot, op.pattern, op.stream});
      spec_alone.push_back(signature[1 + static_cast<std::size_t>(use - uses.begin())]);
    }
    for (std::size_t i = 0; i < n_; ++i) alone_.push_back(spec_alone[ops_.spec_number(i)]);
    make_chains();
  }

  Layout take() { return std::move(layout_); }

 private:
  void add(std::int32_t i) {
    const OpSpec& op = ops_.spec(i);
    const std::span<const std::int32_t> after = ops_.after(i);
    auto& stream = layout_.streams[op.stream];
    Layout::Step step{op.seconds, i, static_cast<std::int32_t>(layout_.waits.size()), 0, 0, 0, op.slot, op.sms, op.kind};
    if (!stream.empty()) follow(stream.back().op, i);
    of_stream_.assign(known(i), known(i) + streams_);
    for (const std::int32_t before : after) follow(before, i);
    // Of each stream the last op counts, and nothing that the op before in its own stream has waited for.
    for (const std::int32_t before : after) {
      const std::uint8_t other = ops_.spec(before).stream;
      const std::int32_t until = place_[before] + 1;
      const bool last = std::all_of(after.begin(), after.end(), [&](std::int32_t b) {
        return ops_.spec(b).stream != other || place_[b] <= place_[before];
      });
      if (other != op.stream && last && until > of_stream_[other]) layout_.waits.push_back({other, until});
    }
    step.last_wait = static_cast<std::int32_t>(layout_.waits.size());
    place_.push_back(static_cast<std::int32_t>(stream.size()));
    stream.push_back(step);
  }

  std::int32_t* known(std::int32_t op) { return &known_[static_cast<std::size_t>(op) * streams_]; }
  const std::int32_t* known(std::int32_t op) const { return &known_[static_cast<std::size_t>(op) * streams_]; }

  // `i` comes after `before`.
  void follow(std::int32_t before, std::int32_t i) {
    std::int32_t* now = known(i);
    const std::int32_t* then = known(before);
    for (std::size_t s = 0; s < streams_; ++s) now[s] = std::max(now[s], then[s]);
    std::int32_t& own = now[ops_.spec(before).stream];
    own = std::max(own, place_[before] + 1);
    edges_.push_back({i, first_[before]});
    first_[before] = static_cast<std::int32_t>(edges_.size()) - 1;
  }

  template <class Visit>  // returns whether to go on
  void each_follower(std::int32_t op, const Visit& visit) const {
    for (std::int32_t e = first_[op]; e >= 0 && visit(edges_[e].op); e = edges_[e].next) {
    }
  }

  // Whether `before` has surely ended when `op` starts.
  bool ended_by(std::int32_t before, std::int32_t op) const { return place_[before] < known(op)[ops_.spec(before).stream]; }

  // When `a` ends, nothing keeps `b` from starting, and what else waits for `a` waits for `b`, too.
  bool makes_chain(std::int32_t a, std::int32_t b) const {
    const auto over = [&](std::int32_t before) { return before == a || ended_by(before, a); };
    const std::int32_t place = place_[b];
    if (place > 0 && !over(layout_.streams[ops_.spec(b).stream][place - 1].op)) return false;
    const std::span<const std::int32_t> after = ops_.after(b);
    if (!std::all_of(after.begin(), after.end(), over)) return false;
    bool others_wait = true;
    each_follower(a, [&](std::int32_t c) { return others_wait = c == b || ended_by(b, c); });
    return others_wait;
  }

  std::int32_t next_of(std::int32_t a) const {
    std::int32_t next = -1;
    each_follower(a, [&](std::int32_t b) {
      if (alone_[b] && makes_chain(a, b)) next = b;
      return next < 0;
    });
    return next;
  }

  void make_chains() {
    std::vector<bool> chained(n_, false);
    for (std::size_t i = 0; i < n_; ++i) {
      if (chained[i] || !alone_[i]) continue;
      const auto head = static_cast<std::int32_t>(i);
      Layout::Step& step = layout_.streams[ops_.spec(head).stream][place_[head]];
      step.first_link = static_cast<std::int32_t>(layout_.chained.size());
      for (std::int32_t next = next_of(head); next >= 0 && !chained[next]; next = next_of(next)) {
        chained[next] = true;
        layout_.chained.push_back(next);
      }
      step.last_link = static_cast<std::int32_t>(layout_.chained.size());
    }
  }

  struct Edge {
    std::int32_t op, next;  // a follower; the edge to another one, -1: none
  };
  const OpTable& ops_;
  std::size_t n_, streams_;
  std::vector<std::int32_t> known_;  // [op][stream] so many of its ops have surely ended when this one starts
  std::vector<Edge> edges_;
  std::vector<std::int32_t> first_;  // [op] edge
  std::vector<std::int32_t> place_;  // [op] in its stream
  std::vector<std::int32_t> of_stream_;  // what the op before in the present one's stream has known
  std::vector<bool> alone_;          // [op] its length is known when it starts
  Layout layout_;
};

}  // namespace

Layouts::Layouts(const StepGraph& graph, const SoloCalls& solo) {
  const std::vector<Uses> uses = uses_of(graph);
  std::map<std::pair<std::int32_t, std::vector<bool>>, std::size_t> known;
  for (const Rank& rank : graph.ranks) {
    const Uses& own = uses[rank.program];
    auto signature = signature_of(solo, own, rank);
    const auto [it, fresh] = known.try_emplace({rank.program, std::move(signature)}, layouts_.size());
    if (fresh) layouts_.push_back(LayOut(graph.programs[rank.program], solo, own, it->first.second).take());
    of_rank_.push_back(it->second);
  }
}

}  // namespace stepsim
