// A published run -> the model, the plan and the cluster that it describes. The same words mean the same in every row;
// nothing depends on which row it is. What a row does not say is decided by the list of assumptions.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "workloads/model.hpp"
#include "workloads/plan.hpp"
#include "workloads/published/run.hpp"

namespace stepsim {

// Which cluster, and how much of it.
struct RunCluster {
  std::string shipped;    // name of a shipped cluster: "dgx-h100"
  int nodes = 0;          // domains of the innermost wire: servers, or racks of an NVL72
  int gpus_per_node = 0;  // that the run uses of each
  double network = 1;     // bandwidth between nodes a GPU, over that of the shipped cluster's data sheet

  bool operator==(const RunCluster&) const = default;
};

// Something that rows do not say. `instead` is a --set that decides otherwise, to see what the assumption is worth; empty
// where there is no key for it.
struct Assumption {
  std::string_view id, about;
  std::vector<std::string> instead;
};
const std::vector<Assumption>& run_assumptions();
// The same of the costs themselves: they concern every row.
const std::vector<Assumption>& cost_elements();

struct Translation {
  ModelSpec model;
  ParallelPlan plan;
  RunCluster cluster;
  std::vector<std::string> assumptions;    // ids, of those that this row needs
  std::vector<std::string> not_understood; // "shard: ...", words that had no effect
  std::vector<std::string> problems;       // why no model, plan or cluster can be made of the row

  void assume(std::string_view id);
};

Translation translate(const PublishedRun& run);

// The parts of translate(), one file each; each adds its problems.
void translate_model(const PublishedRun& run, Translation& out);
void translate_cluster(const PublishedRun& run, Translation& out);
void translate_plan(const PublishedRun& run, Translation& out);
// Gb/s between nodes that the text states for a whole node ("8x400Gb NDR IB"); 0 when it states none.
double node_gigabits(std::string_view interconnect);

}  // namespace stepsim
