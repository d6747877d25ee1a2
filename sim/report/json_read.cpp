// JSON -> Report, the inverse of to_json.
#include <fmt/format.h>

#include <limits>
#include <stdexcept>

#include "sim/report/json.hpp"

namespace stepsim {
namespace {

using Json = nlohmann::ordered_json;

double number(const Json& json, const std::string& key) {
  const Json& value = json.at(key);
  return value.is_null() ? std::numeric_limits<double>::quiet_NaN() : value.get<double>();
}

// {"forward_s": 1.5} -> {"forward": 1.5}
std::vector<std::pair<std::string, double>> without_unit(const Json& json, const std::string& unit) {
  std::vector<std::pair<std::string, double>> values;
  for (const auto& [key, value] : json.items()) {
    if (!key.ends_with(unit)) throw std::invalid_argument(fmt::format("\"{}\" does not end in \"{}\"", key, unit));
    values.emplace_back(key.substr(0, key.size() - unit.size()), number(json, key));
  }
  return values;
}

std::map<std::string, double> map_of(const Json& json, const std::string& unit) {
  const auto values = without_unit(json, unit);
  return {values.begin(), values.end()};
}

std::vector<double> by_tier(const Json& json, const std::vector<std::string>& tiers, const std::string& unit) {
  std::vector<double> values;
  for (const std::string& tier : tiers) {
    if (json.contains(tier + unit)) values.push_back(number(json, tier + unit));
  }
  return values;
}

InputNames read_inputs(const Json& json) {
  InputNames in;
  json.at("experiment").get_to(in.experiment);
  json.at("model").get_to(in.model);
  json.at("cluster").get_to(in.cluster);
  json.at("plan").get_to(in.plan);
  json.at("scenario").get_to(in.scenario);
  json.at("schedule").get_to(in.schedule);
  json.at("rates").get_to(in.rates);
  json.at("detail").get_to(in.detail);
  json.at("engine").get_to(in.engine);
  json.at("overrides").get_to(in.overrides);
  json.at("gpus").get_to(in.gpus);
  json.at("nodes").get_to(in.nodes);
  json.at("parallelism").get_to(in.parallelism);
  json.at("files").get_to(in.files);
  return in;
}

StepFacts read_facts(const Json& json) {
  StepFacts facts;
  facts.tokens_per_step = number(json, "tokens_per_step");
  const Json& flops = json.at("flops");
  facts.model_flops_per_step = number(flops, "model_per_step");
  facts.hardware_flops_per_step = number(flops, "hardware_per_step");
  facts.peak_flops_per_gpu = number(flops, "peak_per_gpu_per_s");
  flops.at("convention").get_to(facts.flops_convention);
  const Json& memory = json.at("memory");
  facts.gpu_memory_bytes = number(memory, "gpu_memory_bytes");
  for (const Json& rank : memory.at("ranks")) {
    facts.memory.push_back(without_unit(rank.at("kinds"), "_bytes"));
    if (rank.contains("activations")) facts.activation_parts.push_back(without_unit(rank.at("activations"), "_bytes"));
    if (rank.contains("reserved")) facts.reserved.push_back(without_unit(rank.at("reserved"), "_bytes"));
  }
  return facts;
}

RankRow read_rank(const Json& json, const std::vector<std::string>& tiers) {
  const Json& roofline = json.at("roofline");
  return {.rank = json.at("rank").get<int>(),
          .count = json.at("count").get<int>(),
          .stage = json.at("stage").get<int>(),
          .compute_s = number(json, "compute_s"),
          .overlapped_communication_s = number(json, "overlapped_communication_s"),
          .exposed_communication_s = number(json, "exposed_communication_s"),
          .wait_s = number(json, "wait_s"),
          .bubble_s = number(json, "bubble_s"),
          .idle_s = number(json, "idle_s"),
          .wire_bytes = by_tier(json, tiers, "_bytes"),
          .flops = number(json, "flops"),
          .compute_roofline_s = number(roofline, "compute_s"),
          .hbm_roofline_s = number(roofline, "hbm_s"),
          .wire_roofline_s = by_tier(roofline, tiers, "_s"),
          .peak_memory_bytes = number(json, "peak_memory_bytes")};
}

CollectiveRow read_collective(const Json& json) {
  return {.name = json.at("name").get<std::string>(),
          .operation = json.at("op").get<std::string>(),
          .dimension = json.at("dimension").get<std::string>(),
          .algorithm = json.at("algorithm").get<std::string>(),
          .group_size = json.at("group_size").get<int>(),
          .rank = json.at("rank").get<int>(),
          .count = json.at("count").get<int>(),
          .bytes_per_rank = number(json, "bytes_per_rank"),
          .busy_s = number(json, "busy_s"),
          .exposed_s = number(json, "exposed_s"),
          .wait_s = number(json, "wait_s"),
          .bus_bandwidth = number(json, "bus_bandwidth_Bps")};
}

LinkRow read_link(const Json& json) {
  return {.name = json.at("name").get<std::string>(),
          .tier = json.at("wire").get<std::string>(),
          .rank = json.at("rank").get<int>(),
          .count = json.at("count").get<int>(),
          .bytes = number(json, "bytes"),
          .capacity = number(json, "capacity_Bps"),
          .utilisation = number(json, "utilisation")};
}

WaitRow read_wait(const Json& json) {
  return {.rank = json.at("rank").get<int>(),
          .count = json.at("count").get<int>(),
          .stage = json.at("stage").get<int>(),
          .for_rank = json.at("for_rank").get<int>(),
          .for_count = json.at("for_count").get<int>(),
          .for_stage = json.at("for_stage").get<int>(),
          .for_speed = number(json, "for_speed"),
          .wait_s = number(json, "wait_s"),
          .slow_rank = json.at("slow_rank").get<int>(),
          .slow_speed = number(json, "slow_speed")};
}

OverlapRow read_overlap(const Json& json) {
  return {.name = json.at("name").get<std::string>(),
          .dimension = json.at("dimension").get<std::string>(),
          .hidden_free_s = number(json, "hidden_free_s"),
          .hidden_critical_s = number(json, "hidden_critical_s"),
          .exposed_free_s = number(json, "exposed_free_s"),
          .exposed_critical_s = number(json, "exposed_critical_s"),
          .mean_slack_s = number(json, "mean_slack_s")};
}

std::map<int, double> read_by_number(const Json& json, const char* key) {
  std::map<int, double> values;
  for (const Json& row : json) values[row.at(key).get<int>()] = number(row, "seconds");
  return values;
}

PathChain read_chain(const Json& json) {
  PathChain chain{.rank = json.at("rank").get<int>(),
                  .begin_s = number(json, "begin_s"),
                  .seconds = number(json, "seconds"),
                  .events = {},
                  .left_out_s = number(json, "left_out_s")};
  for (const Json& e : json.at("events")) {
    chain.events.push_back({.name = e.at("name").get<std::string>(),
                            .kind = e.at("kind").get<std::string>(),
                            .dimension = e.at("dimension").get<std::string>(),
                            .wire = e.at("wire").get<std::string>(),
                            .phase = e.at("phase").get<std::string>(),
                            .stage = e.at("stage").get<int>(),
                            .layer = e.at("layer").get<int>(),
                            .microbatch = e.at("microbatch").get<int>(),
                            .count = e.at("count").get<int>(),
                            .begin_s = number(e, "begin_s"),
                            .seconds = number(e, "seconds")});
  }
  return chain;
}

CriticalPath read_path(const Json& json) {
  CriticalPath path;
  path.by_kind = map_of(json.at("by_kind"), "_s");
  path.by_dimension = map_of(json.at("by_dimension"), "_s");
  path.by_wire = map_of(json.at("by_wire"), "_s");
  path.by_phase = map_of(json.at("by_phase"), "_s");
  path.by_rank = read_by_number(json.at("by_rank"), "rank");
  path.by_stage = read_by_number(json.at("by_stage"), "stage");
  path.by_layer = read_by_number(json.at("by_layer"), "layer");
  for (const Json& chain : json.at("chains")) path.chains.push_back(read_chain(chain));
  for (const Json& part : json.at("parts")) {
    const auto word = [&](const char* key) { return path.words.number_of(part.at(key).get<std::string>()); };
    path.parts.push_back({word("kind"), word("dimension"), word("wire"), word("phase"), part.at("rank").get<int>(), number(part, "seconds")});
  }
  return path;
}

std::vector<PassRow> read_passes(const Json& json) {
  std::vector<PassRow> rows;
  const auto share = [](const Json& s) { return PassShare{s.at("count").get<int>(), number(s, "seconds")}; };
  for (const Json& row : json) {
    rows.push_back({.stage = row.at("stage").get<int>(),
                    .rank = row.at("rank").get<int>(),
                    .forward = share(row.at("forward")),
                    .backward = share(row.at("backward")),
                    .input_gradient = share(row.at("input_gradient")),
                    .weight_gradient = share(row.at("weight_gradient")),
                    .pair = share(row.at("pair")),
                    .optimizer_s = number(row, "optimizer_s"),
                    .bubble_s = number(row, "bubble_s")});
  }
  return rows;
}

// What older files do not have.
void read_memory(Report& report, const Json& json) {
  for (const Json& line : json.value("timeline", Json::array())) {
    report.memory_timeline.push_back({line.at("stage").get<int>(), line.at("rank").get<int>(),
                                      line.at("points").get<std::vector<std::pair<double, double>>>()});
  }
  for (const Json& change : json.value("fitting_changes", Json::array())) {
    report.fitting_changes.push_back({change.at("set").get<std::vector<std::string>>(), Bytes(number(change, "peak_bytes")),
                                      number(change, "slower_estimate")});
  }
}

Verdict read_verdict(const Json& json) {
  Verdict verdict;
  json.at("bound").get_to(verdict.bound);
  json.at("resource").get_to(verdict.resource);
  json.at("text").get_to(verdict.text);
  if (json.contains("elasticity_together")) {
    const Json& together = json.at("elasticity_together");
    verdict.together = {number(together, "compute"), number(together, "communication")};
  }
  for (const auto& [resource, value] : json.at("elasticity").items()) {
    verdict.elasticities.push_back(
        {resource, number(json.at("elasticity"), resource), number(json.at("saved_by_10_percent"), resource + "_s")});
  }
  return verdict;
}

EngineFacts read_engine(const Json& json) {
  return {.name = json.at("name").get<std::string>(),
          .detail = json.at("detail").get<std::string>(),
          .folded = json.at("folded").get<bool>(),
          .representatives = json.at("representatives").get<std::size_t>(),
          .events = json.at("events").get<std::uint64_t>(),
          .wall_s = json.contains("wall_s") ? number(json, "wall_s") : 0,
          .peak_rss_bytes = json.contains("peak_rss_bytes") ? number(json, "peak_rss_bytes") : 0};
}

Report read_report(const Json& json) {
  Report report;
  report.inputs = read_inputs(json.at("inputs"));
  report.step_time_s = number(json, "step_time_s");
  if (json.contains("steady_period_s") && number(json, "steady_period_s") < report.step_time_s) {
    report.steady_period_s = number(json, "steady_period_s");
  }
  report.facts = read_facts(json);
  json.at("wires").get_to(report.tiers);
  for (const Json& row : json.at("ranks")) report.ranks.push_back(read_rank(row, report.tiers));
  for (const Json& row : json.at("collectives")) report.collectives.push_back(read_collective(row));
  for (const Json& row : json.at("overlap")) report.overlap.push_back(read_overlap(row));
  for (const Json& row : json.at("links")) report.links.push_back(read_link(row));
  for (const Json& row : json.at("waits")) report.waits.push_back(read_wait(row));
  report.phases = map_of(json.at("phases"), "_s");
  report.passes = read_passes(json.value("passes", Json::array()));
  if (json.contains("speed_of_light")) {
    const Json& other = json.at("speed_of_light");
    report.speed_of_light = {number(other, "step_time_s"), read_passes(other.at("passes")), map_of(other.at("phases"), "_s"),
                             number(other, "peak_memory_bytes")};
  }
  report.critical_path = read_path(json.at("critical_path"));
  const Json& roofline = json.at("roofline");
  report.roofline = {.rank = roofline.at("rank").get<int>(),
                     .compute_s = number(roofline, "compute_s"),
                     .hbm_s = number(roofline, "hbm_s"),
                     .wire_s = by_tier(roofline, report.tiers, "_s"),
                     .bound = roofline.at("bound").get<std::string>()};
  read_memory(report, json.at("memory"));
  report.verdict = read_verdict(json.at("verdict"));
  report.engine = read_engine(json.at("engine"));
  json.at("warnings").get_to(report.warnings);
  return report;
}

}  // namespace

Report report_from_json(const std::string& text) {
  try {
    const Json json = Json::parse(text);
    const auto schema = json.at("schema").get<std::string>();
    if (schema != report_schema) throw std::invalid_argument(fmt::format("its schema is \"{}\"", schema));
    return read_report(json);
  } catch (const std::exception& error) {
    throw std::invalid_argument(fmt::format("not a {} document: {}", report_schema, error.what()));
  }
}

}  // namespace stepsim
