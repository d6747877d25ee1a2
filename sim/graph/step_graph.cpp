#include "sim/graph/step_graph.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace stepsim {
namespace {

constexpr std::array<std::string_view, 7> kDimensions = {"none",     "tensor", "context", "expert",
                                                         "pipeline", "gather", "reduce"};
constexpr std::array<std::string_view, 7> kPhases = {"forward",        "recompute", "backward", "input_gradient",
                                                     "weight_gradient", "optimizer", "other"};

// One call as its group sees it.
struct Call {
  std::int16_t pattern;
  double payload;
  bool operator==(const Call&) const = default;
};

// Calls of each slot of a program, in order.
std::vector<std::vector<Call>> calls_by_slot(const Program& program) {
  std::vector<std::vector<Call>> calls;
  for (const OpView op : program.ops) {
    if (op.kind != OpKind::transfer || op.slot < 0) continue;
    if (calls.size() <= static_cast<std::size_t>(op.slot)) calls.resize(op.slot + 1);
    calls[op.slot].push_back({op.pattern, op.payload_bytes});
  }
  return calls;
}

void check_program(const Program& program, std::vector<std::string>& problems) {
  std::vector<int> slot_stream;
  for (std::size_t i = 0; i < program.ops.size(); ++i) {
    const OpView op = program.ops[i];
    const auto bad = [&](std::string_view why) {
      problems.push_back(fmt::format("{}, op {}: {}", program.name, i, why));
    };
    if (op.stream >= program.streams.size()) bad(fmt::format("no stream {}", op.stream));
    if (!(op.seconds >= 0) || !(op.payload_bytes >= 0)) bad("a negative duration or size");
    if (op.sm_seconds < 0 || op.sm_seconds > op.seconds * (1 + 1e-12)) bad("sm_seconds outside its duration");
    for (const std::int32_t before : op.after) {
      if (before < 0 || before >= static_cast<std::int32_t>(i)) bad(fmt::format("waits for op {}, not an earlier one", before));
    }
    if (op.kind != OpKind::transfer) continue;
    if (op.slot < 0) {
      bad("a transfer without a slot");
      continue;
    }
    if (slot_stream.size() <= static_cast<std::size_t>(op.slot)) slot_stream.resize(op.slot + 1, -1);
    int& stream = slot_stream[op.slot];
    if (stream >= 0 && stream != op.stream) bad(fmt::format("slot {} is called on two streams", op.slot));
    stream = op.stream;
  }
}

bool in_order(const std::vector<Change>& changes) {
  double before = 0;
  for (const Change& change : changes) {
    if (!(change.time > before)) return false;
    before = change.time;
  }
  return true;
}

// What changes at times: in order, speeds more than zero, capacities not below it, as many detours as routings.
void check_changes(const StepGraph& graph, std::vector<std::string>& problems) {
  const auto is_slow = [](const Change& c) { return !(c.value > 0); };
  for (std::size_t r = 0; r < graph.ranks.size(); ++r) {
    const auto& changes = graph.ranks[r].speed_changes;
    if (!in_order(changes)) problems.push_back(fmt::format("rank {}: its speed's changes are not in order of time", r));
    if (std::any_of(changes.begin(), changes.end(), is_slow)) problems.push_back(fmt::format("rank {}: a speed of zero", r));
  }
  for (const GraphLink& link : graph.links) {
    if (!in_order(link.capacity_changes)) problems.push_back(fmt::format("link {}: its changes are not in order of time", link.name));
    const bool negative = std::any_of(link.capacity_changes.begin(), link.capacity_changes.end(),
                                      [](const Change& c) { return !(c.value >= 0); });
    if (negative || !(link.capacity >= 0)) problems.push_back(fmt::format("link {}: a negative capacity", link.name));
  }
  std::int32_t routings = 0;
  double before = 0;
  for (const Rerouting& rerouting : graph.reroutings) {
    if (!(rerouting.time > before) || rerouting.routing < 0) problems.emplace_back("reroutings are not in order of time");
    before = rerouting.time;
    routings = std::max(routings, rerouting.routing);
  }
  for (const Group& group : graph.groups) {
    for (const Pattern& pattern : group.patterns) {
      for (const Part& part : pattern.parts) {
        if (part.detours.empty() || part.detours.size() >= static_cast<std::size_t>(routings)) continue;
        problems.push_back(fmt::format("group {}: {} detours for {} routings", group.name, part.detours.size(), routings));
      }
    }
  }
}

void check_loads(const StepGraph& graph, const Group& group, const std::vector<Load>& loads, std::vector<std::string>& problems) {
  for (const Load& load : loads) {
    if (load.link >= 0 && load.link < static_cast<int>(graph.links.size())) continue;
    problems.push_back(fmt::format("group {}: no link {}", group.name, load.link));
  }
}

void check_part(const StepGraph& graph, const Group& group, const Pattern& pattern, std::size_t index,
                std::vector<std::string>& problems) {
  const Part& part = pattern.parts[index];
  check_loads(graph, group, part.loads, problems);
  for (const Detour& detour : part.detours) check_loads(graph, group, detour.loads, problems);
  const auto number = static_cast<std::int32_t>(index);
  const bool earlier =
      std::all_of(part.after.begin(), part.after.end(), [&](std::int32_t p) { return p >= 0 && p < number; });
  if (!earlier || part.behind < -1 || part.behind >= number) {
    problems.push_back(fmt::format("group {}, {} {}, part {}: waits for a part that is not an earlier one", group.name,
                                   pattern.operation, pattern.algorithm, index));
  }
}

}  // namespace

std::string_view to_text(Dimension dimension) { return kDimensions[static_cast<std::size_t>(dimension)]; }
std::string_view to_text(Phase phase) { return kPhases[static_cast<std::size_t>(phase)]; }

std::uint64_t count_events(const StepGraph& graph) {
  std::uint64_t events = 0;
  for (const Rank& rank : graph.ranks) events += graph.programs[rank.program].ops.size();
  return events;
}

std::vector<std::string> problems_of(const StepGraph& graph) {
  std::vector<std::string> problems;
  std::vector<std::vector<std::vector<Call>>> calls;  // [program][slot]
  for (const Program& program : graph.programs) {
    check_program(program, problems);
    calls.push_back(calls_by_slot(program));
  }
  for (std::size_t r = 0; r < graph.ranks.size(); ++r) {
    const Rank& rank = graph.ranks[r];
    if (rank.program < 0 || rank.program >= static_cast<int>(graph.programs.size())) {
      problems.push_back(fmt::format("rank {}: no program {}", r, rank.program));
      continue;
    }
    for (std::size_t slot = 0; slot < calls[rank.program].size(); ++slot) {
      if (calls[rank.program][slot].empty()) continue;
      if (slot >= rank.slots.size() || rank.slots[slot] < 0 || rank.slots[slot] >= static_cast<int>(graph.groups.size())) {
        problems.push_back(fmt::format("rank {}: its program calls slot {}, which has no group", r, slot));
        continue;
      }
      const Group& group = graph.groups[rank.slots[slot]];
      for (const Call& call : calls[rank.program][slot]) {
        if (call.pattern < 0 || call.pattern >= static_cast<int>(group.patterns.size())) {
          problems.push_back(fmt::format("rank {}: calls pattern {} of group {}, which has {}", r, call.pattern, group.name,
                                         group.patterns.size()));
          break;
        }
      }
    }
  }
  check_changes(graph, problems);
  if (!problems.empty()) return problems;
  for (const Group& group : graph.groups) {
    for (const Pattern& pattern : group.patterns) {
      for (std::size_t p = 0; p < pattern.parts.size(); ++p) check_part(graph, group, pattern, p, problems);
    }
    static const std::vector<Call> kNone;
    const auto calls_of = [&](const Endpoint& e) -> const std::vector<Call>& {
      const auto& slots = calls[graph.ranks[e.rank].program];
      return static_cast<std::size_t>(e.slot) < slots.size() ? slots[e.slot] : kNone;
    };
    for (const Endpoint& e : group.endpoints) {
      if (calls_of(e) != calls_of(group.endpoints[0])) {
        problems.push_back(fmt::format("group {}: the calls of rank {} ({}) do not match those of rank {} ({})", group.name,
                                       e.rank, calls_of(e).size(), group.endpoints[0].rank,
                                       calls_of(group.endpoints[0]).size()));
        break;
      }
    }
  }
  return problems;
}

std::string name_of(const StepGraph& graph, RankId rank, std::int32_t index) {
  const Rank& r = graph.ranks[rank];
  const OpView op = graph.programs[r.program].ops[index];
  std::string text = fmt::format("rank {} op {}", r.original, index);
  if (op.kind == OpKind::transfer) {
    const Group& group = graph.groups[r.slots[op.slot]];
    text += fmt::format(" {} in group {}", group.patterns[op.pattern].operation, group.name);
  }
  if (!graph.labels[op.tags.label].empty()) text += " \"" + graph.labels[op.tags.label] + "\"";
  text += fmt::format(" ({}", to_text(op.tags.phase));
  if (op.tags.stage >= 0) text += fmt::format(", stage {}", op.tags.stage);
  if (op.tags.layer >= 0) text += fmt::format(", block {}", op.tags.layer);
  if (op.tags.microbatch >= 0) text += fmt::format(", microbatch {}", op.tags.microbatch);
  return text + ")";
}

}  // namespace stepsim
