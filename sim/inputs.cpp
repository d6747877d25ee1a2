#include "sim/inputs.hpp"

#include <cstdlib>
#include <filesystem>

#include "workloads/check.hpp"
#include "workloads/experiment.hpp"

namespace stepsim {
namespace {

namespace fs = std::filesystem;

bool is_home(const fs::path& folder) {
  return fs::is_directory(folder / "platforms") && fs::is_directory(folder / "workloads");
}

std::string home_above(fs::path folder) {
  std::error_code ignored;
  folder = fs::weakly_canonical(folder, ignored);
  for (; !folder.empty(); folder = folder.parent_path()) {
    if (is_home(folder)) return folder.string();
    if (folder == folder.parent_path()) break;
  }
  return "";
}

// The file a name means, or a problem.
std::string find_file(Reading& reading, const Request& request, Document document, const std::string& value) {
  std::string reason;
  const auto path = locate(request.home, document, value, ".", reason);
  if (path) return *path;
  reading.problems.push_back({"", 0, std::string(to_text(document)), reason});
  return "";
}

// Paths of the parts: the experiment's, replaced by those that were named one by one.
Experiment parts_of(Reading& reading, const Request& request) {
  Experiment parts;
  if (!request.experiment.empty()) {
    const std::string file = find_file(reading, request, Document::experiment, request.experiment);
    if (!file.empty()) parts = read_experiment(reading, file, request.home);
  }
  const auto replace = [&](Document document, const std::string& value, std::string& path) {
    if (!value.empty()) path = find_file(reading, request, document, value);
    if (path.empty() && request.experiment.empty() && value.empty() && document != Document::scenario) {
      reading.problems.push_back({"", 0, std::string(to_text(document)),
                                  "not given; name an experiment, or --model, --cluster and --plan"});
    }
  };
  replace(Document::model, request.model, parts.model);
  replace(Document::cluster, request.cluster, parts.cluster);
  replace(Document::plan, request.plan, parts.plan);
  replace(Document::scenario, request.scenario, parts.scenario);
  return parts;
}

}  // namespace

std::string find_home(const std::string& program, const std::string& experiment) {
  if (const char* home = std::getenv("STEPSIM_HOME"); home != nullptr && *home != '\0') return home;
  std::error_code ignored;
  const fs::path self = fs::read_symlink("/proc/self/exe", ignored);
  for (const fs::path& start : {self.empty() ? fs::path(program) : self, fs::path("."), fs::path(experiment)}) {
    if (const std::string home = home_above(start.parent_path().empty() ? "." : start.parent_path()); !home.empty()) return home;
  }
  return "";
}

Inputs load(const Request& request) {
  Reading reading;
  Inputs in;
  const Overrides overrides = split_overrides(reading, request.overrides);
  const Experiment parts = parts_of(reading, request);
  in.overrides = request.overrides;
  for (const auto& [what, path] : {std::pair("model", parts.model), std::pair("cluster", parts.cluster),
                                   std::pair("plan", parts.plan), std::pair("scenario", parts.scenario)}) {
    if (!path.empty()) in.files.emplace_back(what, path);
  }
  PlanSource source;
  if (!parts.plan.empty()) {
    Reading plan_reading;
    in.plan = read_plan(plan_reading, parts.plan, overrides.plan);
    source = source_of(parts.plan, plan_reading);
    reading.problems.insert(reading.problems.end(), plan_reading.problems.begin(), plan_reading.problems.end());
    for (Explained& e : plan_reading.explained) in.explained.push_back({"plan." + e.key, e.value, e.origin});
  }
  Reading rest;
  if (!parts.model.empty()) in.model = read_model(rest, parts.model, overrides.model);
  for (Explained& e : rest.explained) in.explained.push_back({"model." + e.key, e.value, e.origin});
  rest.explained.clear();
  if (!parts.cluster.empty()) in.cluster = read_cluster(rest, parts.cluster, overrides.cluster, in.plan.rates);
  const bool cluster_sound = rest.problems.empty() && !parts.cluster.empty();
  for (Explained& e : rest.explained) in.explained.push_back({"cluster." + e.key, e.value, e.origin});
  rest.explained.clear();
  if (!parts.scenario.empty()) {
    const Scenario scenario = read_scenario(rest, parts.scenario, overrides.scenario);
    for (Explained& e : rest.explained) in.explained.push_back({"scenario." + e.key, e.value, e.origin});
    in.scenario = scenario.name;
    if (cluster_sound) in.cluster = apply(rest, std::move(in.cluster), scenario);
  } else if (!overrides.scenario.empty()) {
    rest.problems.push_back({"--set", 0, "scenario", "there is no scenario to change; name one with --scenario"});
  }
  reading.problems.insert(reading.problems.end(), rest.problems.begin(), rest.problems.end());
  reading.throw_if_any();

  const auto problems = check(in.model, in.cluster, in.plan, source);
  if (!problems.empty()) throw InputError(problems);
  in.plan = resolve(in.plan, in.cluster);
  in.name = parts.name.empty() ? in.model.name + " " + in.plan.name + " on " + in.cluster.name : parts.name;
  return in;
}

}  // namespace stepsim
