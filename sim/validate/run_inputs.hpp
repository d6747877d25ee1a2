// A translated run -> everything a simulation needs.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "sim/inputs.hpp"
#include "workloads/experiment.hpp"
#include "workloads/published/translation.hpp"

namespace stepsim {

// Shipped clusters, each read once.
class RunClusters {
 public:
  RunClusters(std::string home, std::vector<Override> overrides) : home_(std::move(home)), overrides_(std::move(overrides)) {}
  // The part of a shipped cluster that a run had, with its network as fast as the run's. nullopt, and why, when there is
  // no such cluster or it is too small.
  std::optional<ClusterSpec> get(const RunCluster& wanted, Rates rates, std::vector<std::string>& problems);

 private:
  struct Known {
    ClusterSpec cluster;
    std::vector<std::string> problems;
  };
  const Known& shipped(const std::string& name, Rates rates);

  std::string home_;
  std::vector<Override> overrides_;
  std::map<std::pair<std::string, Rates>, Known> known_;
};

// The model and the plan under overrides ("plan.rates=speed_of_light"), on the cluster, checked and resolved. Problems
// are added to the translation's own.
std::optional<Inputs> inputs_of(Translation& run, const Overrides& overrides, RunClusters& clusters);

}  // namespace stepsim
