// Report -> JSON, schema "stepsim.report/1". Keys end in their unit; their order never changes.
#include "sim/report/json.hpp"

#include <algorithm>

#include "sim/report/derived.hpp"

namespace stepsim {
namespace {

using Json = nlohmann::ordered_json;

Json with_unit(const std::map<std::string, double>& values, const std::string& unit) {
  Json json = Json::object();
  for (const auto& [name, value] : values) json[name + unit] = value;
  return json;
}

Json inputs_json(const InputNames& in) {
  return {{"experiment", in.experiment},   {"model", in.model},         {"cluster", in.cluster}, {"plan", in.plan},
          {"scenario", in.scenario},       {"schedule", in.schedule},   {"rates", in.rates},     {"detail", in.detail},
          {"engine", in.engine},           {"overrides", in.overrides}, {"gpus", in.gpus},       {"nodes", in.nodes},
          {"parallelism", in.parallelism}, {"files", in.files}};
}

Json flops_json(const Report& report) {
  return {{"model_per_step", report.facts.model_flops_per_step},
          {"hardware_per_step", report.facts.hardware_flops_per_step},
          {"peak_per_gpu_per_s", report.facts.peak_flops_per_gpu},
          {"mfu", model_utilisation(report)},
          {"hfu", hardware_utilisation(report)},
          {"convention", report.facts.flops_convention}};
}

Json verdict_json(const Verdict& verdict) {
  Json elasticity = Json::object(), saved = Json::object();
  for (const Elasticity& e : verdict.elasticities) {
    elasticity[e.resource] = e.value;
    saved[e.resource + "_s"] = e.saved_by_10_percent_s;
  }
  Json json{{"bound", verdict.bound},
            {"resource", verdict.resource},
            {"elasticity", elasticity},
            {"saved_by_10_percent", saved},
            {"text", verdict.text}};
  if (verdict.together) {
    json["elasticity_together"] = {{"compute", verdict.together->compute}, {"communication", verdict.together->communication}};
  }
  return json;
}

Json roofline_json(const Report& report) {
  const Roofline& roofline = report.roofline;
  Json json{{"rank", roofline.rank}, {"compute_s", roofline.compute_s}, {"hbm_s", roofline.hbm_s}};
  for (std::size_t t = 0; t < roofline.wire_s.size(); ++t) json[report.tiers[t] + "_s"] = roofline.wire_s[t];
  json["bound"] = roofline.bound;
  return json;
}

Json rank_json(const Report& report, const RankRow& row) {
  Json json{{"rank", row.rank},
            {"count", row.count},
            {"stage", row.stage},
            {"compute_s", row.compute_s},
            {"overlapped_communication_s", row.overlapped_communication_s},
            {"exposed_communication_s", row.exposed_communication_s},
            {"wait_s", row.wait_s},
            {"bubble_s", row.bubble_s},
            {"idle_s", row.idle_s}};
  for (std::size_t t = 0; t < row.wire_bytes.size(); ++t) json[report.tiers[t] + "_bytes"] = row.wire_bytes[t];
  json["peak_memory_bytes"] = row.peak_memory_bytes;
  json["flops"] = row.flops;
  Json roofline{{"compute_s", row.compute_roofline_s}, {"hbm_s", row.hbm_roofline_s}};
  for (std::size_t t = 0; t < row.wire_roofline_s.size(); ++t)
    roofline[report.tiers[t] + "_s"] = row.wire_roofline_s[t];
  json["roofline"] = std::move(roofline);
  return json;
}

Json collective_json(const CollectiveRow& row) {
  return {{"name", row.name},
          {"op", row.operation},
          {"dimension", row.dimension},
          {"algorithm", row.algorithm},
          {"group_size", row.group_size},
          {"count", row.count},
          {"bytes_per_rank", row.bytes_per_rank},
          {"busy_s", row.busy_s},
          {"exposed_s", row.exposed_s},
          {"wait_s", row.wait_s},
          {"rank", row.rank},
          {"bus_bandwidth_Bps", row.bus_bandwidth}};
}

Json link_json(const LinkRow& row) {
  return {{"name", row.name},
          {"wire", row.tier},
          {"rank", row.rank},
          {"count", row.count},
          {"bytes", row.bytes},
          {"capacity_Bps", row.capacity},
          {"utilisation", row.utilisation}};
}

Json wait_json(const WaitRow& row) {
  return {{"rank", row.rank},           {"count", row.count},         {"stage", row.stage},         {"for_rank", row.for_rank},
          {"for_count", row.for_count}, {"for_stage", row.for_stage}, {"for_speed", row.for_speed}, {"wait_s", row.wait_s},
          {"slow_rank", row.slow_rank}, {"slow_speed", row.slow_speed}};
}

// {"norm_bytes": 1.5, ...} of a rank; empty where nothing is known.
Json with_unit(const std::vector<std::vector<std::pair<std::string, double>>>& ranks, std::size_t rank) {
  Json json = Json::object();
  if (rank >= ranks.size()) return json;
  for (const auto& [kind, bytes] : ranks[rank]) json[kind + "_bytes"] = bytes;
  return json;
}

Json memory_json(const Report& report) {
  const RankRow* fullest = fullest_rank(report);
  Json ranks = Json::array();
  for (std::size_t r = 0; r < report.facts.memory.size(); ++r) {
    Json kinds = Json::object();
    for (const auto& [kind, bytes] : report.facts.memory[r]) kinds[kind + "_bytes"] = bytes;
    const bool known = r < report.ranks.size();
    ranks.push_back({{"rank", known ? report.ranks[r].rank : 0},
                     {"count", known ? report.ranks[r].count : 0},
                     {"stage", known ? report.ranks[r].stage : 0},
                     {"peak_bytes", known ? report.ranks[r].peak_memory_bytes : 0},
                     {"kinds", std::move(kinds)},
                     {"activations", with_unit(report.facts.activation_parts, r)},
                     {"reserved", with_unit(report.facts.reserved, r)}});
  }
  Json timeline = Json::array(), changes = Json::array();
  for (const MemoryTimeline& line : report.memory_timeline) {
    timeline.push_back({{"stage", line.stage}, {"rank", line.rank}, {"points", line.points}});
  }
  for (const FittingChange& change : report.fitting_changes) {
    changes.push_back({{"set", change.sets}, {"peak_bytes", change.peak.value}, {"slower_estimate", change.slower}});
  }
  return {{"fits", fits_in_memory(report)},
          {"gpu_memory_bytes", report.facts.gpu_memory_bytes},
          {"peak_bytes", fullest == nullptr ? 0 : fullest->peak_memory_bytes},
          {"ranks", std::move(ranks)},
          {"timeline", std::move(timeline)},
          {"fitting_changes", std::move(changes)}};
}

Json overlap_json(const OverlapRow& row) {
  return {{"name", row.name},
          {"dimension", row.dimension},
          {"hidden_free_s", row.hidden_free_s},
          {"hidden_critical_s", row.hidden_critical_s},
          {"exposed_free_s", row.exposed_free_s},
          {"exposed_critical_s", row.exposed_critical_s},
          {"mean_slack_s", row.mean_slack_s}};
}

Json passes_json(const std::vector<PassRow>& rows) {
  Json json = Json::array();
  const auto share = [](const PassShare& s) { return Json{{"count", s.count}, {"seconds", s.seconds}}; };
  for (const PassRow& row : rows) {
    json.push_back({{"stage", row.stage},
                    {"rank", row.rank},
                    {"forward", share(row.forward)},
                    {"backward", share(row.backward)},
                    {"input_gradient", share(row.input_gradient)},
                    {"weight_gradient", share(row.weight_gradient)},
                    {"pair", share(row.pair)},
                    {"optimizer_s", row.optimizer_s},
                    {"bubble_s", row.bubble_s}});
  }
  return json;
}

Json speed_of_light_json(const SpeedOfLight& other) {
  return {{"step_time_s", other.step_time_s},
          {"phases", with_unit(other.phases, "_s")},
          {"passes", passes_json(other.passes)},
          {"peak_memory_bytes", other.peak_memory_bytes}};
}

// {3: 1.5} -> [{"rank": 3, "seconds": 1.5}]
Json by_number(const std::map<int, double>& values, const char* key) {
  Json json = Json::array();
  for (const auto& [number, seconds] : values) json.push_back({{key, number}, {"seconds", seconds}});
  return json;
}

Json chain_json(const PathChain& chain) {
  Json events = Json::array();
  for (const PathEvent& e : chain.events) {
    events.push_back({{"name", e.name},
                      {"kind", e.kind},
                      {"dimension", e.dimension},
                      {"wire", e.wire},
                      {"phase", e.phase},
                      {"stage", e.stage},
                      {"layer", e.layer},
                      {"microbatch", e.microbatch},
                      {"count", e.count},
                      {"begin_s", e.begin_s},
                      {"seconds", e.seconds}});
  }
  return {{"rank", chain.rank},
          {"begin_s", chain.begin_s},
          {"seconds", chain.seconds},
          {"left_out_s", chain.left_out_s},
          {"events", std::move(events)}};
}

Json path_json(const CriticalPath& path) {
  Json parts = Json::array(), chains = Json::array();
  for (const PathChain& chain : path.chains) chains.push_back(chain_json(chain));
  for (const PathPart& part : path.parts) {
    parts.push_back({{"kind", path.words[part.kind]},
                     {"dimension", path.words[part.dimension]},
                     {"wire", path.words[part.wire]},
                     {"phase", path.words[part.phase]},
                     {"rank", part.rank},
                     {"seconds", part.seconds}});
  }
  return {{"by_kind", with_unit(path.by_kind, "_s")},
          {"by_dimension", with_unit(path.by_dimension, "_s")},
          {"by_wire", with_unit(path.by_wire, "_s")},
          {"by_phase", with_unit(path.by_phase, "_s")},
          {"by_rank", by_number(path.by_rank, "rank")},
          {"by_stage", by_number(path.by_stage, "stage")},
          {"by_layer", by_number(path.by_layer, "layer")},
          {"chains", std::move(chains)},
          {"parts", std::move(parts)}};
}

Json engine_json(const EngineFacts& engine) {
  return {{"name", engine.name},
          {"detail", engine.detail},
          {"folded", engine.folded},
          {"representatives", engine.representatives},
          {"events", engine.events},
          {"wall_s", engine.wall_s},
          {"peak_rss_bytes", engine.peak_rss_bytes}};
}

constexpr std::size_t longest_list = 100;  // characters that a list may take on one line

bool is_flat(const Json& json) {
  return std::none_of(json.begin(), json.end(), [](const Json& value) { return value.is_structured(); });
}

void write(const Json& json, std::size_t indent, std::string& text) {
  if (!json.is_structured() || json.empty() || is_flat(json)) {
    const std::string compact = json.dump(-1, ' ', false, Json::error_handler_t::replace);
    if (!json.is_array() || compact.size() <= longest_list) {
      text += compact;
      return;
    }
  }
  const std::string line = "\n" + std::string(indent + 2, ' ');
  text += json.is_object() ? '{' : '[';
  bool first = true;
  for (const auto& [key, value] : json.items()) {
    text += (first ? "" : ",") + line;
    if (json.is_object()) text += Json(key).dump(-1, ' ', false, Json::error_handler_t::replace) + ": ";
    write(value, indent + 2, text);
    first = false;
  }
  text += "\n" + std::string(indent, ' ') + (json.is_object() ? '}' : ']');
}

}  // namespace

Json json_of(const Report& report) {
  Json ranks = Json::array(), collectives = Json::array(), links = Json::array(), waits = Json::array();
  for (const WaitRow& row : report.waits) waits.push_back(wait_json(row));
  for (const RankRow& row : report.ranks) ranks.push_back(rank_json(report, row));
  for (const CollectiveRow& row : report.collectives) collectives.push_back(collective_json(row));
  for (const LinkRow& row : report.links) links.push_back(link_json(row));
  Json overlap = Json::array();
  for (const OverlapRow& row : report.overlap) overlap.push_back(overlap_json(row));
  Json json{{"schema", report_schema},
          {"inputs", inputs_json(report.inputs)},
          {"step_time_s", report.step_time_s},
          {"steady_period_s", report.steady_period_s > 0 ? report.steady_period_s : report.step_time_s},
          {"tokens_per_step", report.facts.tokens_per_step},
          {"tokens_per_s_per_gpu", tokens_per_second_per_gpu(report)},
          {"flops", flops_json(report)},
          {"verdict", verdict_json(report.verdict)},
          {"roofline", roofline_json(report)},
          {"wires", report.tiers},
          {"ranks", std::move(ranks)},
          {"phases", with_unit(report.phases, "_s")},
          {"passes", passes_json(report.passes)},
          {"collectives", std::move(collectives)},
          {"overlap", std::move(overlap)},
          {"memory", memory_json(report)},
          {"critical_path", path_json(report.critical_path)},
          {"links", std::move(links)},
          {"waits", std::move(waits)},
          {"warnings", report.warnings},
          {"engine", engine_json(report.engine)}};
  if (report.speed_of_light) json["speed_of_light"] = speed_of_light_json(*report.speed_of_light);
  return json;
}

std::string lines_of(const Json& json) {
  std::string text;
  write(json, 0, text);
  return text += '\n';
}

std::string memory_to_json(const Report& report) {
  const Json json = {{"schema", "stepsim.memory/1"}, {"inputs", inputs_json(report.inputs)}, {"memory", memory_json(report)},
                     {"warnings", report.warnings}};
  return json.dump(2) + "\n";
}

std::string to_json(const Report& report) {
  return lines_of(json_of(report));
}

}  // namespace stepsim
