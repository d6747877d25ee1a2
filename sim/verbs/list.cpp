// stepsim list: what is shipped and built in.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "sim/collective/algorithm.hpp"
#include "sim/verbs/arguments.hpp"
#include "sim/verbs/verb.hpp"
#include "workloads/experiment.hpp"
#include "workloads/plan_schedule.hpp"

namespace stepsim {
namespace verb_list {

using Rows = std::vector<std::pair<std::string, std::string>>;  // name, about

// GPUs stand beside the clusters that use them.
std::vector<std::string> gpu_names(const std::string& home) {
  std::vector<std::string> names;
  std::error_code none;
  for (const auto& entry : std::filesystem::directory_iterator(home + "/platforms/gpus", none)) {
    if (entry.path().extension() == ".yaml") names.push_back(entry.path().stem().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

Rows collectives() {
  Rows rows;
  for (const Algorithm& a : algorithms()) rows.emplace_back(fmt::format("{} {}", to_text(a.operation), a.name), a.about);
  return rows;
}

Rows named(const std::vector<std::string>& names) {
  Rows rows;
  for (const std::string& name : names) rows.emplace_back(name, "");
  return rows;
}

// A cluster's file begins with a line of what it is: "# dgx-h100: 2048 nodes of 8 GPUs, 16384 GPUs."
Rows clusters(const std::string& home) {
  Rows rows = named(shipped(home, Document::cluster));
  for (auto& [name, about] : rows) {
    std::ifstream file(shipped_folder(home, Document::cluster) + "/" + name + ".yaml");
    const std::string start = "# " + name + ": ";
    std::string line;
    if (std::getline(file, line) && line.starts_with(start)) about = line.substr(start.size());
  }
  return rows;
}

struct Kind {
  std::string name;
  Rows (*rows)(const std::string& home);
};
const std::vector<Kind>& kinds() {
  static const std::vector<Kind> table = {
      {"models", [](const std::string& home) { return named(shipped(home, Document::model)); }},
      {"plans", [](const std::string& home) { return named(shipped(home, Document::plan)); }},
      {"experiments", [](const std::string& home) { return named(shipped(home, Document::experiment)); }},
      {"scenarios", [](const std::string& home) { return named(shipped(home, Document::scenario)); }},
      {"clusters", clusters},
      {"gpus", [](const std::string& home) { return named(gpu_names(home)); }},
      {"schedules", [](const std::string&) { return schedule_choices(); }},
      {"collectives", [](const std::string&) { return collectives(); }},
  };
  return table;
}

int run(const std::string& what, const std::string& program) {
  const Kind& kind = *std::find_if(kinds().begin(), kinds().end(), [&](const Kind& k) { return k.name == what; });
  const Rows rows = kind.rows(find_home(program, ""));
  std::size_t width = 0;
  for (const auto& [name, about] : rows) width = std::max(width, name.size());
  std::string text;
  for (const auto& [name, about] : rows) text += about.empty() ? name + "\n" : fmt::format("{:<{}}  {}\n", name, width, about);
  write_output("-", text);
  return 0;
}

std::function<int()> declare(CLI::App& verb, const std::string& program) {
  const auto what = std::make_shared<std::string>();
  std::vector<std::string> names;
  for (const Kind& kind : kinds()) names.push_back(kind.name);
  verb.add_option("what", *what, "models, plans, experiments, scenarios, clusters, gpus, schedules or collectives")
      ->required()
      ->check(CLI::IsMember(names));
  return [what, program] { return run(*what, program); };
}

}  // namespace verb_list

Verb list_verb() { return {"list", "what is shipped and built in", verb_list::declare}; }

}  // namespace stepsim
