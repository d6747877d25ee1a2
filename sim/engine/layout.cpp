#include "sim/engine/layout.hpp"

#include <algorithm>
#include <set>
#include <tuple>

namespace stepsim {
namespace {

bool nothing_changes(const StepGraph& graph) {
  return graph.sms == 0 && graph.reroutings.empty() && graph.jitter == Jitter{} &&
         std::all_of(graph.ranks.begin(), graph.ranks.end(), [](const Rank& r) { return r.speed_changes.empty(); }) &&
         std::all_of(graph.links.begin(), graph.links.end(),
                     [](const GraphLink& l) { return l.capacity_changes.empty(); });
}

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
    std::set<Use> own;
    for (const Op& op : program.ops) {
      if (op.kind == OpKind::transfer) own.emplace(op.slot, op.pattern, op.stream);
    }
    uses.emplace_back(own.begin(), own.end());
  }
  return uses;
}

// Its parts run side by side, each over links of its own that are up.
bool parts_keep_apart(const StepGraph& graph, const Pattern& pattern) {
  std::vector<LinkId> links;
  for (const Part& part : pattern.parts) {
    if (!part.after.empty() || part.behind >= 0) return false;
    if (!moves_bytes(part)) continue;
    for (const Load& load : part.loads) {
      if (!(graph.links[load.link].capacity > 0)) return false;
      links.push_back(load.link);
    }
  }
  std::sort(links.begin(), links.end());
  return std::adjacent_find(links.begin(), links.end()) == links.end();
}

}  // namespace

SoloCalls::SoloCalls(const StepGraph& graph) : undisturbed_(nothing_changes(graph)) {
  if (!undisturbed_) return;
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
        const double rate = graph.links[load.link].capacity / load.legs;
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

// Which of the rank's calls are alone, [slot][pattern] in a row.
std::vector<bool> signature_of(const SoloCalls& solo, const Uses& uses, const Rank& rank) {
  std::vector<bool> signature;
  for (const auto& [slot, pattern, stream] : uses) signature.push_back(solo.alone(rank.slots[slot], pattern));
  return signature;
}

Layout lay_out(const Program& program, const SoloCalls& solo, const Uses& uses, const std::vector<bool>& signature) {
  Layout layout;
  layout.streams.resize(program.streams.size());
  std::vector<std::int32_t> position;  // [op] place in its stream
  std::vector<std::int32_t> until(program.streams.size(), 0);
  // [stream][other] what the stream has waited for already
  std::vector<std::vector<std::int32_t>> waited(program.streams.size(), until);
  std::vector<std::vector<bool>> watched(program.streams.size());  // [stream][position] another stream waits for its end
  std::vector<std::vector<bool>> alone(program.streams.size());    // [stream][position] its length is known beforehand
  const auto is_alone = [&](const Op& op) {
    if (op.kind != OpKind::transfer) return solo.anything();
    const auto found = std::lower_bound(uses.begin(), uses.end(), Use{op.slot, op.pattern, op.stream});
    return static_cast<bool>(signature[static_cast<std::size_t>(found - uses.begin())]);
  };
  for (std::size_t i = 0; i < program.ops.size(); ++i) {
    const Op& op = program.ops[i];
    auto& stream = layout.streams[op.stream];
    position.push_back(static_cast<std::int32_t>(stream.size()));
    Layout::Step step{op.seconds, static_cast<std::int32_t>(i), static_cast<std::int32_t>(layout.waits.size()), 0, 1, op.slot, op.sms, op.kind};
    // Of each stream the last op counts; its own stream goes in order anyway.
    for (const std::int32_t before : op.after) until[program.ops[before].stream] = std::max(until[program.ops[before].stream], position[before] + 1);
    for (const std::int32_t before : op.after) {
      const std::uint8_t other = program.ops[before].stream;
      std::int32_t& known = waited[op.stream][other];
      if (until[other] > known && other != op.stream) {
        layout.waits.push_back({other, until[other]});
        watched[other][until[other] - 1] = true;
        known = until[other];
      }
      until[other] = 0;
    }
    step.last_wait = static_cast<std::int32_t>(layout.waits.size());
    stream.push_back(step);
    watched[op.stream].push_back(false);
    alone[op.stream].push_back(is_alone(op));
  }
  for (std::size_t s = 0; s < layout.streams.size(); ++s) {
    auto& steps = layout.streams[s];
    for (std::size_t i = steps.size(); i-- > 1;) {
      if (alone[s][i - 1] && alone[s][i] && !watched[s][i - 1] && steps[i].first_wait == steps[i].last_wait) {
        steps[i - 1].chain = steps[i].chain + 1;
      }
    }
  }
  return layout;
}

}  // namespace

Layouts::Layouts(const StepGraph& graph, const SoloCalls& solo) {
  const std::vector<Uses> uses = uses_of(graph);
  std::map<std::pair<std::int32_t, std::vector<bool>>, std::size_t> known;
  for (const Rank& rank : graph.ranks) {
    const Uses& own = uses[rank.program];
    auto signature = signature_of(solo, own, rank);
    const auto [it, fresh] = known.try_emplace({rank.program, std::move(signature)}, layouts_.size());
    if (fresh) layouts_.push_back(lay_out(graph.programs[rank.program], solo, own, it->first.second));
    of_rank_.push_back(it->second);
  }
}

}  // namespace stepsim
