// Reads and checks everything a simulation needs.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "sim/base/fields.hpp"
#include "sim/cluster/cluster.hpp"
#include "sim/cluster/scenario.hpp"
#include "workloads/check.hpp"
#include "workloads/model.hpp"
#include "workloads/plan.hpp"

namespace stepsim {

// What the user named: an experiment, or its parts (which also replace an experiment's own). Names or paths.
struct Request {
  std::string experiment;                        // path or shipped name; empty when the parts are given
  std::string model, cluster, plan, scenario;    // empty: the experiment's; scenario "none": none
  std::vector<std::string> overrides;            // "plan.schedule=1f1b"
  std::string home;                              // folder of the shipped files
};

struct Inputs {
  std::string name;  // of the experiment, or of model, plan and cluster
  std::string experiment;     // its file; empty: the parts were named one by one
  std::vector<Override> set;  // what it sets itself, before any overrides
  ModelSpec model;
  ClusterSpec cluster;  // under the scenario
  ClusterSpec planned_on;  // without it: the plan was made for the cluster as it is meant to be
  ParallelPlan plan;    // resolved
  std::string scenario = "none";
  std::vector<std::string> overrides;
  std::vector<std::pair<std::string, std::string>> files;  // "model" -> path, in order of reading
  std::vector<Explained> explained;
  std::vector<std::string> notes;  // what the readers say a user should know
};

// Documents that have been read before, by their path and overrides: whoever loads many requests reads each once. Files
// are taken not to change meanwhile.
class InputCache {
 public:
  template <class T>
  struct Kept {
    T value;
    Reading reading;
  };
  std::map<std::string, Kept<ModelSpec>> models;
  std::map<std::string, Kept<ClusterSpec>> clusters;  // without a scenario
};

// Throws InputError with every problem of every file, and every reason why the plan cannot run on this cluster.
Inputs load(const Request& request, InputCache* cache = nullptr);

// The same without asking whether the plan can run; it is not resolved. `source` is what check() wants to know.
Inputs read_inputs(const Request& request, PlanSource& source, InputCache* cache = nullptr);

// The folder that holds platforms/ and workloads/: $STEPSIM_HOME, or the nearest such folder above the program, above
// the current folder, or above the experiment. "" when there is none.
std::string find_home(const std::string& program, const std::string& experiment);

}  // namespace stepsim
