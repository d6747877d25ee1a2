// stepsim run: simulates one training step and reports.
#include <cstdio>

#include "sim/graph/dump.hpp"
#include "sim/verbs/arguments.hpp"
#include "sim/verbs/verb.hpp"

namespace stepsim {
namespace {

struct Arguments {
  InputArguments inputs;
  EngineArguments engine;
  OutputArguments outputs;
  bool explain_folding = false;
};

int run(const Arguments& args, const std::string& program) {
  args.outputs.require_writable();
  const Inputs inputs = load(args.inputs.complete(program));
  Options options = args.engine.options();
  options.explain_folding = args.explain_folding;
  options.fitting_changes = true;
  const Simulation done = simulate(inputs, options);
  args.outputs.write("--json", [&] { return to_json(done.report); });
  args.outputs.write("--csv", [&] { return to_csv(done.report); });
  args.outputs.write("--trace", [&] { return to_trace(done.graph, done.timeline); });
  args.outputs.write("--dump-graph", [&] {
    return args.outputs.path("--dump-graph").ends_with(".json") ? dump_json(done.graph) : dump_text(done.graph);
  });
  // Beside a document on standard output the explanation goes where people's text goes then.
  if (args.outputs.wants_standard_output()) {
    std::fputs(done.folding.c_str(), stderr);
  } else {
    write_output("-", to_text(done.report) + (done.folding.empty() ? "" : "\n" + done.folding));
  }
  return 0;
}

std::function<int()> declare(CLI::App& verb, const std::string& program) {
  const auto args = std::make_shared<Arguments>();
  args->inputs.declare(verb);
  args->engine.declare(verb);
  args->outputs.declare(verb, "--json", "write the report as JSON to this file (-: standard output)");
  args->outputs.declare(verb, "--csv", "write a row a rank as CSV");
  args->outputs.declare(verb, "--trace", "write a Chrome trace (JSON) that Perfetto opens");
  args->outputs.declare(verb, "--dump-graph", "write the step graph, as JSON if the name ends in .json, else as text");
  verb.add_flag("--explain-folding", args->explain_folding, "say how many kinds of rank, link and group there are, and why ranks differ");
  return [args, program] { return run(*args, program); };
}

}  // namespace

Verb run_verb() { return {"run", "simulate one training step and report", declare}; }

}  // namespace stepsim
