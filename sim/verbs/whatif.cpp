// stepsim whatif: what would help, by simulating it.
#include "sim/crossover.hpp"
#include "sim/verbs/arguments.hpp"
#include "sim/verbs/verb.hpp"
#include "sim/whatif.hpp"

namespace stepsim {
namespace verb_whatif {

struct Arguments {
  InputArguments inputs;
  EngineArguments engine;
  OutputArguments outputs;
  std::vector<std::string> crossovers;
  bool all = false;
};

int run_crossovers(const Arguments& args, const Inputs& inputs) {
  std::vector<Crossover> found;
  for (const std::string& what : args.crossovers) found.push_back(find_crossover(inputs, args.engine.options(), what));
  args.outputs.write("--json", [&] { return to_json(found, inputs); });
  if (!args.outputs.wants_standard_output()) write_output("-", to_text(found, inputs));
  return 0;
}

int run(const Arguments& args, const std::string& program) {
  args.outputs.require_writable();
  const Inputs inputs = load(args.inputs.complete(program));
  if (!args.crossovers.empty()) return run_crossovers(args, inputs);
  const WhatIf result = what_if(inputs, args.engine.options());
  args.outputs.write("--json", [&] { return to_json(result, inputs); });
  if (!args.outputs.wants_standard_output()) write_output("-", to_text(result, inputs, args.all));
  return 0;
}

std::function<int()> declare(CLI::App& verb, const std::string& program) {
  const auto args = std::make_shared<Arguments>();
  args->inputs.declare(verb);
  args->engine.declare(verb, false);
  verb.add_option("--crossover", args->crossovers,
                  "where the verdict flips: compute, hbm, latency, a wire (infiniband, or cluster.nic, cluster.nvlink), "
                  "tokens (a GPU and microbatch), precision")
      ->allow_extra_args(false);
  verb.add_flag("--all", args->all, "also changes that make no difference, and why others cannot run");
  args->outputs.declare(verb, "--json", "write the result as JSON to this file (-: standard output)");
  return [args, program] { return run(*args, program); };
}

}  // namespace verb_whatif

Verb whatif_verb() { return {"whatif", "what would help: one change at a time, simulated and ranked", verb_whatif::declare}; }

}  // namespace stepsim
