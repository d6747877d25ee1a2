// stepsim compare: several experiments, a row each, and the winner.
#include <spdlog/spdlog.h>

#include "sim/vary.hpp"
#include "sim/verbs/arguments.hpp"
#include "sim/verbs/pages.hpp"
#include "sim/verbs/verb.hpp"

namespace stepsim {
namespace verb_compare {

struct Arguments {
  std::vector<std::string> experiments, vary;
  InputArguments inputs;
  EngineArguments engine;
  OutputArguments outputs;
};

// Of every experiment under every combination of the varied keys. Throws InputError with the problems of all.
std::vector<Inputs> load_all(const Arguments& args, const std::string& program) {
  std::vector<Inputs> inputs;
  std::vector<Problem> problems;
  for (const std::string& experiment : args.experiments) {
    for (const std::vector<std::string>& varied : combinations(args.vary, args.inputs.request.overrides)) {
      InputArguments one = args.inputs;
      one.request.experiment = experiment;
      one.request.overrides.insert(one.request.overrides.end(), varied.begin(), varied.end());
      try {
        inputs.push_back(load(one.complete(program)));
        if (!varied.empty()) inputs.back().name += " " + name_of_combination(varied);
      } catch (const InputError& e) {
        problems.insert(problems.end(), e.problems().begin(), e.problems().end());
      }
    }
  }
  if (!problems.empty()) throw InputError(problems);
  return inputs;
}

int run(const Arguments& args, const std::string& program) {
  args.outputs.require_writable();
  require_pages(args.outputs);
  const std::vector<Inputs> inputs = load_all(args, program);
  std::vector<Report> reports;
  std::vector<PagePlan> pages;
  for (const Inputs& in : inputs) {
    spdlog::info("{} of {}: {}", reports.size() + 1, inputs.size(), in.name);
    Simulation done = simulate(in, args.engine.options());
    if (args.outputs.wants("--html")) pages.push_back(page_plan(done, in, most_page_items / inputs.size()));
    reports.push_back(std::move(done.report));
  }
  args.outputs.write("--json", [&] { return compare_json(reports); });
  args.outputs.write("--csv", [&] { return compare_csv(reports); });
  args.outputs.write("--html", [&] { return compare_html(pages); });
  if (!args.outputs.wants_standard_output()) write_output("-", compare_text(reports));
  return 0;
}

std::function<int()> declare(CLI::App& verb, const std::string& program) {
  const auto args = std::make_shared<Arguments>();
  verb.add_option("experiments", args->experiments, "experiments' YAML files or shipped names")->required();
  args->inputs.declare_set(verb);
  verb.add_option("--vary", args->vary, "a row for each of the values: plan.schedule=1f1b,zb-h1 (several: every combination)")
      ->allow_extra_args(false);
  args->engine.declare(verb);
  args->outputs.declare(verb, "--json", "write all reports as JSON to this file (-: standard output)");
  args->outputs.declare(verb, "--csv", "write a row a plan as CSV");
  args->outputs.declare(verb, "--html", "write the plans side by side as one HTML file that works offline");
  return [args, program] { return run(*args, program); };
}

}  // namespace verb_compare

Verb compare_verb() { return {"compare", "simulate several experiments: a row each, and the winner", verb_compare::declare}; }

}  // namespace stepsim
