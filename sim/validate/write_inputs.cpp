#include "sim/validate/write_inputs.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <fstream>

#include "sim/base/errors.hpp"
#include "sim/base/text_units.hpp"
#include "workloads/model.hpp"
#include "workloads/plan_yaml.hpp"

namespace stepsim {
namespace {

// Identifiers hold brackets and slashes.
std::string file_name(std::string id) {
  std::replace_if(id.begin(), id.end(), [](unsigned char c) { return !std::isalnum(c) && c != '-' && c != '.' && c != '_'; }, '_');
  return id;
}

void write(const std::filesystem::path& file, const std::string& text) {
  std::ofstream out(file);
  out << text;
  if (!out.flush()) throw InputError({{file.string(), 0, "--write", "cannot be written"}});
}

// What of the shipped cluster the run has.
std::string settings_of(const RunCluster& wanted, const ClusterSpec& cluster) {
  std::string text = fmt::format(" --set cluster.nodes={} --set cluster.gpus_per_node={}", wanted.nodes, wanted.gpus_per_node);
  if (wanted.network == 1) return text;
  for (std::size_t l = 0; l < cluster.link_tier.size(); ++l) {
    if (cluster.link_tier[l] == 0 || cluster.link_owner[l] < 0) continue;
    return text + fmt::format(" --set cluster.port_bandwidth.{}={}", cluster.tiers[static_cast<std::size_t>(cluster.link_tier[l])],
                              to_text(cluster.bandwidth[l]));
  }
  return text;
}

}  // namespace

void write_inputs(const std::string& folder, const PublishedRun& run, const Translation& translation, const Inputs& inputs) {
  const std::filesystem::path place = std::filesystem::path(folder) / file_name(run.id);
  std::error_code error;
  std::filesystem::create_directories(place, error);
  if (error) throw InputError({{place.string(), 0, "--write", "cannot be made: " + error.message()}});
  const RunCluster& cluster = translation.cluster;
  std::string head = fmt::format("# {}, {}: measured {:.6g} s a step on {} GPUs.\n", run.id, run.source, run.step_s, run.gpus);
  std::string assumed = head;
  for (const Assumption& a : run_assumptions()) {
    if (std::find(translation.assumptions.begin(), translation.assumptions.end(), a.id) != translation.assumptions.end()) {
      assumed += fmt::format("# assumption ({}): {}\n", a.id, a.about);
    }
  }
  for (const std::string& words : translation.not_understood) assumed += fmt::format("# not understood: {}\n", words);
  write(place / "model.yaml", head + to_yaml(inputs.model));
  write(place / "plan.yaml", assumed + to_yaml(inputs.plan));
  head += fmt::format("# stepsim run {}{}\n", (place / "experiment.yaml").string(), settings_of(cluster, inputs.cluster));
  write(place / "experiment.yaml", head + fmt::format("name: {}\nmodel: ./model.yaml\ncluster: {}\nplan: ./plan.yaml\n", file_name(run.id), cluster.shipped));
}

}  // namespace stepsim
