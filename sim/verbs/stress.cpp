// stepsim stress: how much of a plan's speed survives stragglers, slow and dead links, unequal experts.
#include "sim/stress.hpp"

#include <spdlog/spdlog.h>

#include "sim/verbs/arguments.hpp"
#include "sim/verbs/pages.hpp"
#include "sim/verbs/verb.hpp"

namespace stepsim {
namespace verb_stress {

struct Arguments {
  std::vector<std::string> experiments;
  std::string spec;
  InputArguments inputs;
  EngineArguments engine;
  OutputArguments outputs;
};

int run(const Arguments& args, const std::string& program) {
  args.outputs.require_writable();
  require_pages(args.outputs);
  std::vector<Inputs> inputs;
  std::vector<Problem> problems;
  for (const std::string& experiment : args.experiments) {
    InputArguments one = args.inputs;
    one.request.experiment = experiment;
    try {
      inputs.push_back(load(one.complete(program)));
      if (inputs.back().scenario != "none") {
        problems.push_back({"", 0, "scenario", experiment + " has one of its own; stress draws them"});
      }
    } catch (const InputError& e) {
      problems.insert(problems.end(), e.problems().begin(), e.problems().end());
    }
  }
  Reading reading{std::move(problems), {}};
  const StressSpec spec = read_stress_spec(reading, args.spec);
  reading.throw_if_any();
  std::vector<StressResult> results;
  for (const Inputs& in : inputs) {
    const std::vector<Draw> draws = draws_of(reading, spec, in.planned_on, in.model);
    reading.throw_if_any();
    spdlog::info("{} of {}: {}, {} runs", results.size() + 1, inputs.size(), in.name, draws.size());
    results.push_back(stress(in, args.engine.options(), draws));
  }
  args.outputs.write("--json", [&] { return to_json(results, spec); });
  args.outputs.write("--csv", [&] { return to_csv(results, spec); });
  args.outputs.write("--html", [&] { return to_html(results, spec); });
  if (!args.outputs.wants_standard_output()) write_output("-", to_text(results, spec));
  return 0;
}

std::function<int()> declare(CLI::App& verb, const std::string& program) {
  const auto args = std::make_shared<Arguments>();
  verb.add_option("experiments", args->experiments, "experiments' YAML files or shipped names: the same draws for each")->required();
  verb.add_option("--spec", args->spec, "what to draw from: a YAML file (workloads/stress/bad-days.yaml is one)")->required();
  args->inputs.declare_set(verb);
  args->engine.declare(verb, false);
  args->outputs.declare(verb, "--json", "write every run as JSON to this file (-: standard output)");
  args->outputs.declare(verb, "--csv", "write a row a run as CSV");
  args->outputs.declare(verb, "--html", "write a page with the distribution and every run to this file");
  return [args, program] { return run(*args, program); };
}

}  // namespace verb_stress

Verb stress_verb() { return {"stress", "many random scenarios: distribution of the step, worst case, who suffers least", verb_stress::declare}; }

}  // namespace stepsim
