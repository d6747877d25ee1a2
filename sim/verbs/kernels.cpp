// stepsim kernels: every kernel of a model's blocks, priced; nothing is simulated.
#include "sim/kernel_table.hpp"
#include "sim/verbs/arguments.hpp"
#include "sim/verbs/verb.hpp"

namespace stepsim {
namespace verb_kernels {

struct Arguments {
  InputArguments inputs;
  OutputArguments outputs;
};

int run(const Arguments& args, const std::string& program) {
  args.outputs.require_writable();
  const Inputs inputs = load(args.inputs.complete(program));
  const std::vector<KernelRow> rows = kernel_rows(inputs);
  args.outputs.write("--json", [&] { return kernels_json(inputs, rows); });
  args.outputs.write("--csv", [&] { return kernels_csv(rows); });
  if (!args.outputs.wants_standard_output()) write_output("-", kernels_text(inputs, rows));
  return 0;
}

std::function<int()> declare(CLI::App& verb, const std::string& program) {
  const auto args = std::make_shared<Arguments>();
  args->inputs.declare(verb, "experiment", false);
  args->outputs.declare(verb, "--json", "write them as JSON to this file (-: standard output)");
  args->outputs.declare(verb, "--csv", "write a row a kernel as CSV");
  return [args, program] { return run(*args, program); };
}

}  // namespace verb_kernels

Verb kernels_verb() {
  return {"kernels", "the kernels of each block, with shapes, bytes, times and what bounds them; simulates nothing", verb_kernels::declare};
}

}  // namespace stepsim
