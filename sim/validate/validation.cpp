#include "sim/validate/validation.hpp"

#include <fmt/format.h>

#include <regex>

#include "sim/cluster/glob.hpp"
#include "sim/validate/run_inputs.hpp"
#include "sim/validate/simulate_runs.hpp"
#include "sim/validate/write_inputs.hpp"
#include "workloads/published/run.hpp"

namespace stepsim {
namespace {

struct Filter {
  std::string key, pattern;
};

std::string value_of(const RunResult& r, const std::string& key) {
  if (key == "family") return r.family;
  if (key == "gpu") return r.run.gpu;
  if (key == "model") return r.run.model;
  if (key == "id") return r.run.id;
  if (key == "source") return r.run.source;
  if (key == "cluster") return r.cluster;
  if (key == "precision") return r.run.precision;
  return "";
}

std::vector<Filter> filters_of(const std::vector<std::string>& texts) {
  std::vector<Filter> filters;
  std::vector<Problem> problems;
  for (const std::string& text : texts) {
    const std::size_t equals = text.find('=');
    const std::string key = text.substr(0, equals);
    const std::vector<std::string> known = {"family", "gpu", "model", "id", "source", "cluster", "precision"};
    if (equals == std::string::npos || std::find(known.begin(), known.end(), key) == known.end()) {
      problems.push_back({"--filter", 0, text, "write KEY=PATTERN (* any characters, ? any one) with family, gpu, model, id, "
                                               "source, cluster or precision as the key"});
      continue;
    }
    filters.push_back({key, text.substr(equals + 1)});
  }
  if (!problems.empty()) throw InputError(problems);
  return filters;
}

bool fits(const RunResult& r, const std::vector<Filter>& filters) {
  return std::all_of(filters.begin(), filters.end(), [&](const Filter& f) { return glob_matches(f.pattern, value_of(r, f.key)); });
}

struct Row {
  RunResult result;
  Translation translation;
};

Row prepare(const RunRow& read) {
  Row row;
  row.result.run = read.run;
  row.result.family = family_of(read.run);
  row.result.problems = read.problems;
  if (!read.problems.empty()) return row;
  row.translation = translate(read.run);
  row.result.cluster = row.translation.cluster.shipped;
  return row;
}

std::vector<std::string> settings_of(const ValidationRequest& request) {
  std::vector<std::string> settings = {request.only_high ? "usability high" : "usability all"};
  for (const std::string& filter : request.filters) settings.push_back("filter " + filter);
  for (const std::string& set : request.overrides) settings.push_back("set " + set);
  return settings;
}

void take(RunResult& into, const SimulatedRun& run) {
  if (!run.error.empty()) {
    into.problems.push_back("simulation failed: " + run.error);
    return;
  }
  into.predicted_s = run.step_s;
  into.error = run.step_s / into.run.step_s - 1;
  if (into.run.memory_gb) into.predicted_memory_gb = run.memory_gb;
  into.parts = run.parts;
}

}  // namespace

std::string family_of(const PublishedRun& run) {
  static const std::regex version(R"( v?\d+(\.\d+)+\b)");
  return std::regex_replace(run.source, version, "");
}

Validation validate(const ValidationRequest& request) {
  const RunFile file = read_runs(request.file);
  const std::vector<Filter> filters = filters_of(request.filters);
  Reading reading;
  const Overrides overrides = split_overrides(reading, request.overrides);
  if (!overrides.scenario.empty()) reading.problems.push_back({"--set", 0, "scenario", "published runs have no scenario"});
  reading.throw_if_any();

  Validation out;
  out.file = request.file;
  out.settings = settings_of(request);
  out.unread_columns = file.unread_columns;
  std::vector<Row> rows;
  for (const RunRow& read : file.rows) {
    if (request.only_high && read.run.usability != "high") continue;
    if (!request.ids.empty() && std::find(request.ids.begin(), request.ids.end(), read.run.id) == request.ids.end()) continue;
    Row row = prepare(read);
    if (fits(row.result, filters)) rows.push_back(std::move(row));
  }
  if (rows.empty()) throw InputError({{request.file, 0, "", "no row is left by --usability and --filter"}});

  RunClusters clusters(request.home, overrides.cluster);
  std::vector<std::size_t> sound;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    Row& row = rows[i];
    if (row.result.problems.empty()) {
      const std::optional<Inputs> inputs = inputs_of(row.translation, overrides, clusters);
      row.result.gpu = inputs ? inputs->cluster.gpu.name : row.result.run.gpu;
      row.result.problems = row.translation.problems;
      if (inputs) sound.push_back(i);
      if (inputs && !request.write.empty()) write_inputs(request.write, row.result.run, row.translation, *inputs);
    }
    row.result.assumptions = row.translation.assumptions;
    row.result.not_understood = row.translation.not_understood;
  }
  const auto make = [&](std::size_t i) { return *inputs_of(rows[sound[i]].translation, overrides, clusters); };
  const std::vector<SimulatedRun> simulated = simulate_runs(sound.size(), make, request.jobs);
  for (std::size_t i = 0; i < sound.size(); ++i) take(rows[sound[i]].result, simulated[i]);
  for (Row& row : rows) out.results.push_back(std::move(row.result));
  summarise(out);
  judge_causes(out);
  return out;
}

}  // namespace stepsim
