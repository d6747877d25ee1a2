#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "sim/graph/step_graph.hpp"
#include "sim/validate/validation.hpp"

namespace stepsim {
namespace {

using Json = nlohmann::ordered_json;

Json json_of(const ErrorSummary& s) {
  Json j = {{"name", s.name}, {"rows", s.rows}, {"simulated", s.simulated}};
  if (s.simulated > 0) {
    j["signed_median"] = s.signed_median;
    j["mean_absolute"] = s.mean_absolute;
    j["percentile_90"] = s.percentile_90;
  }
  if (s.memory_rows > 0) {
    j["memory"] = {{"rows", s.memory_rows}, {"signed_median", s.memory_signed_median}, {"mean_absolute", s.memory_mean_absolute}};
  }
  return j;
}

Json json_of(const std::vector<ErrorSummary>& summaries) {
  Json j = Json::array();
  for (const ErrorSummary& s : summaries) j.push_back(json_of(s));
  return j;
}

Json json_of(const StepParts& p) {
  Json exposed = Json::object();
  for (std::size_t d = 0; d < p.exposed_by_dimension.size(); ++d) {
    if (p.exposed_by_dimension[d] > 0) exposed[std::string(to_text(static_cast<Dimension>(d)))] = p.exposed_by_dimension[d];
  }
  return {{"compute_s", p.compute_s}, {"exposed_communication_s", p.exposed_s}, {"wait_s", p.wait_s}, {"bubble_s", p.bubble_s},
          {"exposed_by_dimension_s", exposed}};
}

Json json_of(const RunResult& r) {
  Json j = {{"id", r.run.id},           {"line", r.run.line},   {"family", r.family},       {"source", r.run.source},
            {"usability", r.run.usability}, {"model", r.run.model}, {"gpu", r.gpu}, {"cluster", r.cluster},
            {"gpus", r.run.gpus},       {"simulated", r.simulated()}, {"measured_step_s", r.run.step_s}};
  if (r.simulated()) {
    j["predicted_step_s"] = r.predicted_s;
    j["error"] = r.error;
    j["parts"] = json_of(r.parts);
    j["cause"] = r.cause;
  } else {
    j["problems"] = r.problems;
  }
  if (r.run.memory_gb) j["measured_memory_gb"] = *r.run.memory_gb;
  if (r.predicted_memory_gb) j["predicted_memory_gb"] = *r.predicted_memory_gb;
  j["assumptions"] = r.assumptions;
  j["not_understood"] = r.not_understood;
  return j;
}

Json columns_of(const std::vector<RunColumn>& columns) {
  Json j = Json::object();
  for (const RunColumn& c : columns) j[c.name] = c.about;
  return j;
}

}  // namespace

std::string to_json(const Validation& v) {
  Json j = {{"schema", "stepsim.validation/1"}, {"file", v.file}, {"settings", v.settings}};
  j["overall"] = {{"families_alike", json_of(v.families_alike)}, {"rows_alike", json_of(v.rows_alike)}};
  j["families"] = json_of(v.families);
  j["gpus"] = json_of(v.gpus);
  j["models"] = json_of(v.models);
  j["rows"] = Json::array();
  for (const RunResult& r : v.results) j["rows"].push_back(json_of(r));
  j["assumptions"] = Json::object();
  for (const Assumption& a : run_assumptions()) j["assumptions"][std::string(a.id)] = a.about;
  j["ablations"] = Json::array();
  for (const Ablation& a : v.ablations) {
    Json of = {{"id", a.id}, {"about", a.about}, {"instead", a.instead}, {"rows", a.rows}, {"refused", a.refused}};
    if (!a.instead.empty() && a.rows > 0) of["families_alike"] = json_of(a.families_alike);
    j["ablations"].push_back(std::move(of));
  }
  j["columns"] = {{"read", columns_of(used_run_columns())}, {"known_but_not_read", columns_of(unused_run_columns())},
                  {"not_read", v.unread_columns}};
  return j.dump(1) + "\n";
}

}  // namespace stepsim
