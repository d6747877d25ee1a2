#include "sim/validate/run_inputs.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "sim/cluster/part.hpp"
#include "workloads/check.hpp"
#include "workloads/plan_yaml.hpp"

namespace stepsim {
namespace {

// The text through a document's reader, so that overrides mean what they mean everywhere.
template <class Spec, class Read>
Spec reread(const std::string& text, const std::vector<Override>& overrides, Read read, Reading& reading) {
  const std::filesystem::path path =
      std::filesystem::temp_directory_path() / fmt::format("stepsim-run-{}.yaml", getpid());
  std::ofstream(path) << text;
  Spec spec = read(reading, path.string(), overrides);
  std::filesystem::remove(path);
  return spec;
}

void tell(const std::vector<Problem>& from, std::vector<std::string>& to) {
  for (const Problem& p : from) to.push_back((p.key.empty() ? "" : p.key + ": ") + p.reason);
}

void scale_network(ClusterSpec& cluster, double scale) {
  for (std::size_t l = 0; l < cluster.bandwidth.size(); ++l) {
    if (cluster.link_tier[l] > 0) cluster.bandwidth[l] *= scale;
  }
}

}  // namespace

const RunClusters::Known& RunClusters::shipped(const std::string& name, Rates rates) {
  const auto [at, fresh] = known_.try_emplace({name, rates});
  if (!fresh) return at->second;
  std::string reason;
  const auto path = locate(home_, Document::cluster, name, ".", reason);
  if (!path) {
    at->second.problems.push_back("gpu: " + reason);
    return at->second;
  }
  Reading reading;
  at->second.cluster = read_cluster(reading, *path, overrides_, rates);
  tell(reading.problems, at->second.problems);
  return at->second;
}

std::optional<ClusterSpec> RunClusters::get(const RunCluster& wanted, Rates rates, std::vector<std::string>& problems) {
  const Known& known = shipped(wanted.shipped, rates);
  problems.insert(problems.end(), known.problems.begin(), known.problems.end());
  if (!known.problems.empty()) return std::nullopt;
  if (wanted.nodes > known.cluster.nodes || wanted.gpus_per_node > known.cluster.gpus_per_node) {
    problems.push_back(fmt::format("gpus: {} nodes of {} GPUs are more than the shipped cluster {} has ({} of {})",
                                   wanted.nodes, wanted.gpus_per_node, wanted.shipped, known.cluster.nodes,
                                   known.cluster.gpus_per_node));
    return std::nullopt;
  }
  ClusterSpec cluster = part_of(known.cluster, wanted.nodes, wanted.gpus_per_node);
  scale_network(cluster, wanted.network);
  return cluster;
}

std::optional<Inputs> inputs_of(Translation& run, const Overrides& overrides, RunClusters& clusters) {
  if (!run.problems.empty()) return std::nullopt;
  Reading reading;
  Inputs in;
  in.name = run.plan.name;
  in.model = reread<ModelSpec>(to_yaml(run.model), overrides.model, read_model, reading);
  in.plan = reread<ParallelPlan>(to_yaml(run.plan), overrides.plan, read_plan, reading);
  tell(reading.problems, run.problems);
  if (!run.problems.empty()) return std::nullopt;
  std::optional<ClusterSpec> cluster = clusters.get(run.cluster, in.plan.rates, run.problems);
  if (!cluster) return std::nullopt;
  in.cluster = std::move(*cluster);
  tell(check(in.model, in.cluster, in.plan, {}), run.problems);
  if (!run.problems.empty()) return std::nullopt;
  in.plan = resolve(in.plan, in.cluster);
  return in;
}

}  // namespace stepsim
