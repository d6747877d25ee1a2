// Arguments that several verbs share.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

#include "sim/inputs.hpp"
#include "sim/outputs.hpp"
#include "sim/simulate.hpp"

namespace stepsim {

// EXPERIMENT, or --model, --cluster, --plan, --scenario, and --set.
struct InputArguments {
  Request request;

  void declare(CLI::App& verb, const std::string& positional = "experiment", bool scenario = true);
  void declare_set(CLI::App& verb);  // only --set
  // With the folder of the shipped files found.
  Request complete(const std::string& program) const;
};

// --engine, --detail, --fold, --elasticities.
struct EngineArguments {
  std::string engine = "simgrid", detail = "aggregate", fold = "auto", elasticities = "on";

  void declare(CLI::App& verb, bool with_elasticities = true);
  Options options() const;
};

// Files that a verb writes. What is wanted is known before anything is simulated, and `fill` runs only for that.
class OutputArguments {
 public:
  // Declares an option that takes a file's name; the path stays readable in the returned string.
  const std::string& declare(CLI::App& verb, const std::string& option, const std::string& about);
  // Throws InputError with every file that cannot be written. To be called before simulating.
  void require_writable() const;
  bool wants(const std::string& option) const;
  bool wants_standard_output() const;
  // Writes `text()` to the file that `option` names, if it was given.
  void write(const std::string& option, const std::function<std::string()>& text) const;
  const std::string& path(const std::string& option) const;

 private:
  std::map<std::string, std::string> paths_;
};

}  // namespace stepsim
