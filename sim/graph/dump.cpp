#include "sim/graph/dump.hpp"

#include <fmt/format.h>

#include <iterator>
#include <nlohmann/json.hpp>
#include <set>

#include "sim/graph/fold.hpp"

namespace stepsim {
namespace {

using Json = nlohmann::ordered_json;
using Out = std::back_insert_iterator<std::string>;

void dump_op(Out out, const StepGraph& graph, const Program& program, std::size_t index) {
  const OpView op = program.ops[index];
  fmt::format_to(out, "  {:>5} {:<18}", index, program.streams[op.stream].name);
  switch (op.kind) {
    case OpKind::compute: fmt::format_to(out, " compute {:.9g} s", op.seconds); break;
    case OpKind::delay: fmt::format_to(out, " delay {:.9g} s", op.seconds); break;
    case OpKind::transfer:
      fmt::format_to(out, " transfer {:.12g} B, slot {} pattern {}", op.payload_bytes, op.slot, op.pattern);
      break;
  }
  if (op.sms > 0) fmt::format_to(out, ", {} SMs", op.sms);
  fmt::format_to(out, "  {}", to_text(op.tags.phase));
  if (!graph.labels[op.tags.label].empty()) fmt::format_to(out, " {}", graph.labels[op.tags.label]);
  if (op.tags.stage >= 0) fmt::format_to(out, " stage {}", op.tags.stage);
  if (op.tags.layer >= 0) fmt::format_to(out, " block {}", op.tags.layer);
  if (op.tags.microbatch >= 0) fmt::format_to(out, " microbatch {}", op.tags.microbatch);
  if (!op.after.empty()) fmt::format_to(out, "  after {}", fmt::join(op.after, ","));
  *out++ = '\n';
}

void dump_group(Out out, const StepGraph& graph, std::size_t index) {
  const Group& group = graph.groups[index];
  fmt::format_to(out, "group {} \"{}\" {} of {} ranks, x{}: endpoints", index, group.name, to_text(group.dimension), group.size,
                 group.count);
  for (const Endpoint& e : group.endpoints) fmt::format_to(out, " {}/{}", e.rank, e.slot);
  *out++ = '\n';
  for (std::size_t p = 0; p < group.patterns.size(); ++p) {
    const Pattern& pattern = group.patterns[p];
    fmt::format_to(out, "  pattern {} {} {}\n", p, pattern.operation, pattern.algorithm);
    for (const Part& part : pattern.parts) {
      fmt::format_to(out, "    alpha {:.9g} s, beta {:.9g} s/B, {:.9g} B a leg{}:", part.alpha, part.beta, part.bytes_per_payload,
                     part.counted_only ? ", counted only" : "");
      if (!part.after.empty()) fmt::format_to(out, " (after {})", fmt::join(part.after, ","));
      if (part.behind >= 0) fmt::format_to(out, " (behind {})", part.behind);
      for (const Load& load : part.loads) fmt::format_to(out, " {}x{:.9g}", graph.links[load.link].name, load.legs);
      *out++ = '\n';
      for (std::size_t d = 0; d < part.detours.size(); ++d) {
        fmt::format_to(out, "      routing {}: alpha {:.9g} s:", d + 1, part.detours[d].alpha);
        for (const Load& load : part.detours[d].loads) fmt::format_to(out, " {}x{:.9g}", graph.links[load.link].name, load.legs);
        *out++ = '\n';
      }
    }
  }
}

// "; 0.5 from 2 s, 1 from 4 s"
std::string changes_text(const std::vector<Change>& changes) {
  std::string text;
  for (const Change& c : changes) text += fmt::format("{}{:.6g} from {:.9g} s", text.empty() ? "; " : ", ", c.value, c.time);
  return text;
}

Json changes_json(const std::vector<Change>& changes) {
  Json json = Json::array();
  for (const Change& change : changes) json.push_back({{"time_s", change.time}, {"value", change.value}});
  return json;
}

Json loads_json(const std::vector<Load>& loads) {
  Json json = Json::array();
  for (const Load& load : loads) json.push_back({{"link", load.link}, {"legs", load.legs}});
  return json;
}

Json op_json(const StepGraph& graph, const OpView& op) {
  static constexpr const char* kKinds[] = {"compute", "transfer", "delay"};
  Json json = {{"kind", kKinds[static_cast<int>(op.kind)]}, {"stream", op.stream}};
  if (op.kind == OpKind::transfer) {
    json.update({{"payload_bytes", op.payload_bytes}, {"slot", op.slot}, {"pattern", op.pattern}, {"sms", op.sms}});
  } else {
    json["seconds"] = op.seconds;
    if (op.kind == OpKind::compute) json["sm_seconds"] = op.sm_seconds;
  }
  json.update({{"phase", to_text(op.tags.phase)}, {"dimension", to_text(op.tags.dimension)}, {"label", graph.labels[op.tags.label]},
               {"stage", op.tags.stage}, {"chunk", op.tags.chunk}, {"block", op.tags.layer}, {"microbatch", op.tags.microbatch},
               {"after", std::vector<std::int32_t>(op.after.begin(), op.after.end())}});
  return json;
}

Json group_json(const Group& group) {
  Json endpoints = Json::array(), patterns = Json::array();
  for (const Endpoint& e : group.endpoints) endpoints.push_back({{"rank", e.rank}, {"slot", e.slot}});
  for (const Pattern& pattern : group.patterns) {
    Json parts = Json::array();
    for (const Part& part : pattern.parts) {
      Json detours = Json::array();
      for (const Detour& d : part.detours) detours.push_back({{"alpha_s", d.alpha}, {"loads", loads_json(d.loads)}});
      parts.push_back({{"alpha_s", part.alpha},
                       {"beta_s_per_byte", part.beta},
                       {"bytes_per_payload", part.bytes_per_payload},
                       {"counted_only", part.counted_only},
                       {"loads", loads_json(part.loads)},
                       {"detours", detours},
                       {"after", part.after},
                       {"behind", part.behind}});
    }
    patterns.push_back({{"operation", pattern.operation}, {"algorithm", pattern.algorithm}, {"parts", parts}});
  }
  return {{"name", group.name}, {"dimension", to_text(group.dimension)}, {"size", group.size}, {"count", group.count},
          {"endpoints", endpoints}, {"patterns", patterns}};
}

}  // namespace

std::string dump_text(const StepGraph& graph) {
  std::string text;
  Out out(text);
  std::vector<std::string> ranks(graph.programs.size());
  for (std::size_t r = 0; r < graph.ranks.size(); ++r) {
    const Rank& rank = graph.ranks[r];
    fmt::format_to(Out(ranks[rank.program]), "  rank {} (real rank {}, x{}), speed {:g}{}, slots {}\n", r, rank.original, rank.count,
                   rank.speed, changes_text(rank.speed_changes), fmt::join(rank.slots, ","));
  }
  for (std::size_t p = 0; p < graph.programs.size(); ++p) {
    fmt::format_to(out, "program {} \"{}\", run by\n{}", p, graph.programs[p].name, ranks[p]);
    for (std::size_t i = 0; i < graph.programs[p].ops.size(); ++i) dump_op(out, graph, graph.programs[p], i);
  }
  for (std::size_t g = 0; g < graph.groups.size(); ++g) dump_group(out, graph, g);
  std::set<LinkId> used;
  for (const Group& group : graph.groups) {
    for (const Pattern& pattern : group.patterns) {
      for (const Part& part : pattern.parts) {
        for (const Load& load : part.loads) used.insert(load.link);
        for (const Detour& detour : part.detours) {
          for (const Load& load : detour.loads) used.insert(load.link);
        }
      }
    }
  }
  for (const LinkId l : used) {
    const GraphLink& link = graph.links[l];
    fmt::format_to(out, "link {} {} {:.6g} B/s{} {} x{}\n", l, link.name, link.capacity,
                   changes_text(link.capacity_changes), link.tier >= 0 ? graph.tiers[link.tier] : "no tier", link.count);
  }
  for (const Rerouting& r : graph.reroutings) fmt::format_to(out, "routing {} from {:.9g} s\n", r.routing, r.time);
  if (!folds(graph)) {
    fmt::format_to(out, "jitter: compute {:g}, communication {:g}, seed {}\n", graph.jitter.compute_sigma,
                   graph.jitter.communication_sigma, graph.jitter.seed);
  }
  return text;
}

std::string dump_json(const StepGraph& graph) {
  Json programs = Json::array(), ranks = Json::array(), groups = Json::array(), links = Json::array();
  for (const Program& program : graph.programs) {
    Json streams = Json::array(), ops = Json::array();
    for (const Stream& s : program.streams) streams.push_back({{"name", s.name}, {"dimension", to_text(s.dimension)}});
    for (const OpView op : program.ops) ops.push_back(op_json(graph, op));
    programs.push_back({{"name", program.name}, {"streams", streams}, {"ops", ops}});
  }
  for (const Rank& r : graph.ranks) {
    ranks.push_back({{"program", r.program}, {"speed", r.speed}, {"slots", r.slots}, {"count", r.count}, {"real_rank", r.original},
                     {"speed_changes", changes_json(r.speed_changes)}});
  }
  for (const Group& group : graph.groups) groups.push_back(group_json(group));
  for (const GraphLink& l : graph.links) {
    links.push_back({{"name", l.name}, {"capacity_Bps", l.capacity}, {"tier", l.tier}, {"owner", l.owner}, {"count", l.count},
                     {"capacity_changes", changes_json(l.capacity_changes)}});
  }
  Json reroutings = Json::array();
  for (const Rerouting& r : graph.reroutings) reroutings.push_back({{"time_s", r.time}, {"routing", r.routing}});
  const Json jitter = {{"compute_sigma", graph.jitter.compute_sigma},
                       {"communication_sigma", graph.jitter.communication_sigma}, {"seed", graph.jitter.seed}};
  return Json{{"schema", "stepsim.graph/1"}, {"programs", programs}, {"ranks", ranks}, {"groups", groups},
              {"links", links}, {"tiers", graph.tiers}, {"sms", graph.sms}, {"reroutings", reroutings},
              {"jitter", jitter}}.dump(1) + "\n";
}

}  // namespace stepsim
