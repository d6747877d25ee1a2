// The verbs of the command line: one file each, all in the table of verbs().
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace CLI {
class App;
}

namespace stepsim {

struct Verb {
  std::string_view name, about;
  // Declares the verb's arguments. What it returns runs once they are parsed: the exit code, or a throw of InputError.
  // `program` is argv[0].
  std::function<int()> (*declare)(CLI::App& verb, const std::string& program);
};

const std::vector<Verb>& verbs();

// Each in the file of its name.
Verb run_verb();
Verb compare_verb();
Verb check_verb();
Verb memory_verb();
Verb kernels_verb();
Verb model_verb();
Verb schedule_verb();
Verb whatif_verb();
Verb stress_verb();
Verb sweep_verb();
Verb search_verb();
Verb results_verb();
Verb validate_verb();
Verb collective_verb();
Verb list_verb();

}  // namespace stepsim
