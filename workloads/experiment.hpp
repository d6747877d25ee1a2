// An experiment names a model, a cluster, a plan and, if wanted, a scenario.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "sim/base/fields.hpp"

namespace stepsim {

struct Experiment {
  std::string file;  // its own; empty: the parts were named one by one
  std::string name, description;
  std::string model, cluster, plan;  // paths
  std::string scenario;              // path; empty: none
  std::vector<Override> set;         // "plan.rates", "calibrated": keys of the parts that are other here

  bool operator==(const Experiment&) const = default;
};

enum class Document : std::uint8_t { model, cluster, plan, scenario, experiment };
std::string_view to_text(Document document);

// The folder under `home` (where stepsim's own files stand) with the shipped files of a kind, and their names, sorted.
std::string shipped_folder(const std::string& home, Document document);
std::vector<std::string> shipped(const std::string& home, Document document);

// The path that `value` means: a shipped name ("deepseek-v3"), or a path (it has a '/', or ends in .yaml, .yml, .json
// or .xml) relative to `folder`. nullopt, and what is wrong in `reason`, when there is no such file.
std::optional<std::string> locate(const std::string& home, Document document, const std::string& value,
                                  const std::string& folder, std::string& reason);

// Reads an experiment's YAML: name, description, model, cluster, plan, scenario, and set, a mapping of what --set would
// replace ("cluster.nodes: 16"). Values are names or paths relative to the experiment's folder. Problems go to `reading`; the result is only meaningful when there are none.
Experiment read_experiment(Reading& reading, const std::string& path, const std::string& home);

// Settings by the document they change; later ones win. First an experiment's own, with the document's name before their
// keys, then those of the command line, "plan.schedule=1f1b".
struct Overrides {
  std::vector<Override> model, cluster, plan, scenario;
};
Overrides split_overrides(Reading& reading, const std::vector<std::string>& sets, const std::vector<Override>& own = {});

}  // namespace stepsim
