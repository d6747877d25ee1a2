// stepsim check: reads and checks the inputs, simulates nothing.
#include <fmt/format.h>

#include "sim/verbs/arguments.hpp"
#include "sim/verbs/verb.hpp"

namespace stepsim {
namespace verb_check {

struct Arguments {
  InputArguments inputs;
  bool explain = false;
};

std::string explanation(const std::vector<Explained>& explained) {
  std::size_t key = 0, value = 0;
  for (const Explained& e : explained) {
    key = std::max(key, e.key.size());
    value = std::max(value, std::min<std::size_t>(e.value.size(), 30));
  }
  std::string text;
  for (const Explained& e : explained) text += fmt::format("{:<{}}  {:<{}}  {}\n", e.key, key, e.value, value, e.origin);
  return text;
}

int run(const Arguments& args, const std::string& program) {
  const Inputs inputs = load(args.inputs.complete(program));
  std::string text = args.explain ? explanation(inputs.explained) : "";
  text += fmt::format("{}: sound; {} on {} GPU{}\n", inputs.name, inputs.model.name, inputs.cluster.ranks(),
                      inputs.cluster.ranks() == 1 ? "" : "s");
  write_output("-", text);
  return 0;
}

std::function<int()> declare(CLI::App& verb, const std::string& program) {
  const auto args = std::make_shared<Arguments>();
  args->inputs.declare(verb);
  verb.add_flag("--explain", args->explain, "print every value, its default and where it came from");
  return [args, program] { return run(*args, program); };
}

}  // namespace verb_check

Verb check_verb() { return {"check", "read and check the inputs, simulate nothing", verb_check::declare}; }

}  // namespace stepsim
