#include "sim/verbs/arguments.hpp"

#include "sim/engine/engine.hpp"

namespace stepsim {
namespace {

// A file's name; an empty one would silently write nothing.
const CLI::Validator kPath([](std::string& path) { return path.empty() ? "needs a file's name, or -" : ""; }, "FILE");

}  // namespace

void InputArguments::declare(CLI::App& verb, const std::string& positional, bool scenario) {
  verb.add_option(positional, request.experiment, "an experiment's YAML, or a shipped name (stepsim list experiments)");
  verb.add_option("--model", request.model, "a model: path or shipped name");
  verb.add_option("--cluster", request.cluster, "a cluster: path or shipped name");
  verb.add_option("--plan", request.plan, "a plan: path or shipped name");
  if (scenario) verb.add_option("--scenario", request.scenario, "stragglers and slow links: path or shipped name");
  declare_set(verb);
}

void InputArguments::declare_set(CLI::App& verb) {
  verb.add_option("--set", request.overrides, "replace a key: plan.schedule=1f1b, cluster.nodes=8 (may be repeated)")
      ->allow_extra_args(false);
}

Request InputArguments::complete(const std::string& program) const {
  Request completed = request;
  completed.home = find_home(program, request.experiment);
  return completed;
}

void EngineArguments::declare(CLI::App& verb, bool with_elasticities) {
  verb.add_option("--engine", engine, "simgrid: links are shared; ideal: no contention")
      ->check(CLI::IsMember(engine_names()))
      ->capture_default_str();
  verb.add_option("--detail", detail,
                  "collectives as steady traffic on the links, as their closed form, or message by message")
      ->check(CLI::IsMember({"aggregate", "formula", "flow"}))
      ->capture_default_str();
  verb.add_option("--fold", fold, "auto: simulate one rank of each kind (exact); off: all of them")
      ->check(CLI::IsMember({"auto", "off"}))
      ->capture_default_str();
  if (!with_elasticities) return;
  verb.add_option("--elasticities", elasticities, "off: no further simulations, so no verdict")
      ->check(CLI::IsMember({"on", "off"}))
      ->capture_default_str();
}

Options EngineArguments::options() const {
  Options options;
  options.engine = engine;
  options.detail = *detail_from(detail);
  options.fold = fold == "auto";
  options.elasticities = elasticities == "on";
  return options;
}

const std::string& OutputArguments::declare(CLI::App& verb, const std::string& option, const std::string& about) {
  std::string& path = paths_[option];
  verb.add_option(option, path, about)->check(kPath);
  return path;
}

void OutputArguments::require_writable() const {
  Outputs outputs;
  for (const auto& [option, path] : paths_) outputs.want(option, path);
  outputs.require_writable();
}

bool OutputArguments::wants(const std::string& option) const { return !path(option).empty(); }

bool OutputArguments::wants_standard_output() const {
  for (const auto& [option, path] : paths_) {
    if (path == "-") return true;
  }
  return false;
}

void OutputArguments::write(const std::string& option, const std::function<std::string()>& text) const {
  if (wants(option)) write_output(path(option), text());
}

const std::string& OutputArguments::path(const std::string& option) const { return paths_.at(option); }

}  // namespace stepsim
