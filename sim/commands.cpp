#include "sim/commands.hpp"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>

#include "sim/collective/algorithm.hpp"
#include "sim/engine/engine.hpp"
#include "sim/graph/dump.hpp"
#include "sim/outputs.hpp"
#include "sim/vary.hpp"
#include "workloads/experiment.hpp"
#include "workloads/plan_schedule.hpp"

namespace stepsim {
namespace {

// A file's name; an empty one would silently write nothing.
const CLI::Validator kPath([](std::string& path) { return path.empty() ? "needs a file's name, or -" : ""; }, "FILE");

// Names of the shipped files of a kind; GPUs stand beside the clusters that use them.
std::vector<std::string> shipped_names(const std::string& home, const std::string& what) {
  if (what == "gpus") {
    std::vector<std::string> names;
    std::error_code none;
    for (const auto& entry : std::filesystem::directory_iterator(home + "/platforms/gpus", none)) {
      if (entry.path().extension() == ".yaml") names.push_back(entry.path().stem().string());
    }
    std::sort(names.begin(), names.end());
    return names;
  }
  if (what == "models") return shipped(home, Document::model);
  if (what == "clusters") return shipped(home, Document::cluster);
  return shipped(home, what == "plans" ? Document::plan : Document::experiment);
}

}  // namespace

void Commands::add_to(CLI::App& app) {
  app.require_subcommand(1);
  CLI::App* run = app.add_subcommand("run", "simulate one training step and report");
  run->add_option("experiment", args_.request.experiment, "an experiment's YAML, or a shipped name (stepsim list experiments)");
  add_inputs(*run);
  add_engine(*run);
  run->add_option("--json", args_.json, "write the report as JSON to this file (-: standard output)")->check(kPath);
  run->add_option("--csv", args_.csv, "write a row a rank as CSV")->check(kPath);
  run->add_option("--trace", args_.trace, "write a Chrome trace (JSON) that Perfetto opens")->check(kPath);
  run->add_option("--dump-graph", args_.dump_graph, "write the step graph, as JSON if the name ends in .json, else as text")->check(kPath);
  run->callback([this] { verb_ = &Commands::run_run; });

  CLI::App* compare = app.add_subcommand("compare", "simulate several experiments: a row each, and the winner");
  compare->add_option("experiments", args_.experiments, "experiments' YAML files or shipped names")->required();
  compare->add_option("--set", args_.request.overrides, "replace a key in all of them: plan.schedule=1f1b")->allow_extra_args(false);
  compare->add_option("--vary", args_.vary, "a row for each of the values: plan.schedule=1f1b,zb-h1 (several: every combination)")
      ->allow_extra_args(false);
  add_engine(*compare);
  compare->add_option("--json", args_.json, "write all reports as JSON to this file (-: standard output)")->check(kPath);
  compare->add_option("--csv", args_.csv, "write a row a plan as CSV")->check(kPath);
  compare->callback([this] { verb_ = &Commands::run_compare; });

  CLI::App* check = app.add_subcommand("check", "read and check the inputs, simulate nothing");
  check->add_option("experiment", args_.request.experiment, "an experiment's YAML, or a shipped name");
  add_inputs(*check);
  check->add_flag("--explain", args_.explain, "print every value, its default and where it came from");
  check->callback([this] { verb_ = &Commands::run_check; });

  CLI::App* schedule = app.add_subcommand("schedule", "the order of passes: a row a rank, a column a slot; simulates nothing");
  schedule->add_option("plan", args_.request.experiment, "an experiment or a plan by itself: a YAML file, or a shipped name");
  add_inputs(*schedule);
  schedule->add_option("--times", args_.times, "unit: all passes alike; real: of the model on the cluster")
      ->check(CLI::IsMember({"unit", "real"}))
      ->capture_default_str();
  schedule->add_option("--csv", args_.csv, "write PyTorch's schedule CSV to this file (-: standard output)")->check(kPath);
  schedule->add_option("--svg", args_.svg, "write a drawing to scale")->check(kPath);
  schedule->callback([this] { verb_ = &Commands::run_schedule; });

  CLI::App* list = app.add_subcommand("list", "what is shipped and built in");
  list->add_option("what", args_.what, "models, plans, experiments, schedules, collectives, clusters or gpus")
      ->required()
      ->check(CLI::IsMember({"models", "plans", "experiments", "schedules", "collectives", "clusters", "gpus"}));
  list->callback([this] { verb_ = &Commands::run_list; });
}

void Commands::add_inputs(CLI::App& verb) {
  verb.add_option("--model", args_.request.model, "a model: path or shipped name");
  verb.add_option("--cluster", args_.request.cluster, "a cluster: path or shipped name");
  verb.add_option("--plan", args_.request.plan, "a plan: path or shipped name");
  verb.add_option("--scenario", args_.request.scenario, "stragglers and slow links: path");
  verb.add_option("--set", args_.request.overrides, "replace a key: plan.schedule=1f1b, cluster.nodes=8 (may be repeated)")
      ->allow_extra_args(false);
}

void Commands::add_engine(CLI::App& verb) {
  verb.add_option("--engine", args_.options.engine, "simgrid: links are shared; ideal: no contention")
      ->check(CLI::IsMember(engine_names()))
      ->capture_default_str();
  verb.add_option("--detail", args_.detail, "collectives as steady traffic on the links, or as their closed form")
      ->check(CLI::IsMember({"aggregate", "formula"}))
      ->capture_default_str();
  verb.add_option("--fold", args_.fold, "auto: simulate one rank of each kind (exact); off: all of them")
      ->check(CLI::IsMember({"auto", "off"}))
      ->capture_default_str();
  verb.add_option("--elasticities", args_.elasticities, "off: no further simulations, so no verdict")
      ->check(CLI::IsMember({"on", "off"}))
      ->capture_default_str();
}

void Commands::complete() {
  args_.request.home = find_home(program_, args_.request.experiment);
  args_.options.detail = args_.detail == "formula" ? Detail::formula : Detail::aggregate;
  args_.options.fold = args_.fold == "auto";
  args_.options.elasticities = args_.elasticities == "on";
}

int Commands::run() {
  complete();
  return (this->*verb_)();
}

int Commands::run_run() {
  Outputs outputs;
  outputs.want("--json", args_.json);
  outputs.want("--csv", args_.csv);
  outputs.want("--trace", args_.trace);
  outputs.want("--dump-graph", args_.dump_graph);
  outputs.require_writable();
  const Inputs inputs = load(args_.request);
  const Simulation done = simulate(inputs, args_.options);
  write_output(args_.json, args_.json.empty() ? "" : to_json(done.report));
  write_output(args_.csv, args_.csv.empty() ? "" : to_csv(done.report));
  write_output(args_.trace, args_.trace.empty() ? "" : to_trace(done.graph, done.timeline));
  const bool as_json = args_.dump_graph.ends_with(".json");
  write_output(args_.dump_graph, args_.dump_graph.empty() ? "" : as_json ? dump_json(done.graph) : dump_text(done.graph));
  if (!outputs.wants_standard_output()) write_output("-", to_text(done.report));
  return 0;
}

int Commands::run_compare() {
  Outputs outputs;
  outputs.want("--json", args_.json);
  outputs.want("--csv", args_.csv);
  outputs.require_writable();
  std::vector<Inputs> inputs;
  std::vector<Problem> problems;
  for (const std::string& experiment : args_.experiments) {
    for (const std::vector<std::string>& varied : combinations(args_.vary)) {
      Request request = args_.request;
      request.experiment = experiment;
      request.overrides.insert(request.overrides.end(), varied.begin(), varied.end());
      try {
        inputs.push_back(load(request));
        if (!varied.empty()) inputs.back().name += " " + name_of_combination(varied);
      } catch (const InputError& e) {
        problems.insert(problems.end(), e.problems().begin(), e.problems().end());
      }
    }
  }
  if (!problems.empty()) throw InputError(problems);
  std::vector<Report> reports;
  for (const Inputs& in : inputs) {
    spdlog::info("{} of {}: {}", reports.size() + 1, inputs.size(), in.name);
    reports.push_back(simulate(in, args_.options).report);
  }
  write_output(args_.json, args_.json.empty() ? "" : compare_json(reports));
  write_output(args_.csv, args_.csv.empty() ? "" : compare_csv(reports));
  if (!outputs.wants_standard_output()) write_output("-", compare_text(reports));
  return 0;
}

int Commands::run_check() {
  const Inputs inputs = load(args_.request);
  std::string text;
  if (args_.explain) {
    std::size_t key = 0, value = 0;
    for (const Explained& e : inputs.explained) {
      key = std::max(key, e.key.size());
      value = std::max(value, std::min<std::size_t>(e.value.size(), 30));
    }
    for (const Explained& e : inputs.explained) text += fmt::format("{:<{}}  {:<{}}  {}\n", e.key, key, e.value, value, e.origin);
  }
  text += fmt::format("{}: sound; {} on {} GPUs\n", inputs.name, inputs.model.name, inputs.cluster.ranks());
  write_output("-", text);
  return 0;
}

int Commands::run_list() {
  std::vector<std::pair<std::string, std::string>> rows;
  if (args_.what == "schedules") {
    rows = schedule_choices();
  } else if (args_.what == "collectives") {
    for (const Algorithm& a : algorithms()) rows.emplace_back(fmt::format("{} {}", to_text(a.operation), a.name), a.about);
  } else {
    for (const std::string& name : shipped_names(args_.request.home, args_.what)) rows.emplace_back(name, "");
  }
  std::size_t width = 0;
  for (const auto& [name, about] : rows) width = std::max(width, name.size());
  std::string text;
  for (const auto& [name, about] : rows) text += about.empty() ? name + "\n" : fmt::format("{:<{}}  {}\n", name, width, about);
  write_output("-", text);
  return 0;
}

}  // namespace stepsim
