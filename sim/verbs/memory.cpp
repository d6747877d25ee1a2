// stepsim memory: what stands in each GPU's memory, without simulating.
#include "sim/memory_report.hpp"
#include "sim/report/guardrails.hpp"
#include "sim/verbs/arguments.hpp"
#include "sim/verbs/verb.hpp"

namespace stepsim {
namespace verb_memory {

struct Arguments {
  InputArguments inputs;
  OutputArguments outputs;
};

int run(const Arguments& args, const std::string& program) {
  args.outputs.require_writable();
  Report report = memory_report(load(args.inputs.complete(program)));
  for (std::string& warning : memory_guardrails(report)) report.warnings.push_back(std::move(warning));
  args.outputs.write("--json", [&] { return memory_to_json(report); });
  args.outputs.write("--csv", [&] { return memory_to_csv(report); });
  if (!args.outputs.wants_standard_output()) write_output("-", memory_text(report));
  return 0;
}

std::function<int()> declare(CLI::App& verb, const std::string& program) {
  const auto args = std::make_shared<Arguments>();
  args->inputs.declare(verb, "experiment", false);
  args->outputs.declare(verb, "--json", "write it as JSON to this file (-: standard output)");
  args->outputs.declare(verb, "--csv", "write a row a pipeline rank as CSV");
  return [args, program] { return run(*args, program); };
}

}  // namespace verb_memory

Verb memory_verb() {
  return {"memory", "what stands in each GPU's memory, and what would make a plan fit; simulates nothing", verb_memory::declare};
}

}  // namespace stepsim
