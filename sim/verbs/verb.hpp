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

// run.cpp, compare.cpp, check.cpp, schedule.cpp, list.cpp
Verb run_verb();
Verb compare_verb();
Verb check_verb();
Verb schedule_verb();
Verb list_verb();
Verb collective_verb();  // collective.cpp

}  // namespace stepsim
