// The story: inputs -> step -> fold -> engine -> report.
#pragma once

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "sim/graph/step_graph.hpp"
#include "sim/graph/timeline.hpp"
#include "sim/inputs.hpp"
#include "sim/report/report.hpp"
#include "workloads/step.hpp"

namespace stepsim {

struct Options {
  std::string engine = "simgrid";
  Detail detail = Detail::aggregate;
  bool fold = true;
  bool elasticities = true;  // five or more further simulations
  int jobs = static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));  // of them at the same time
  bool fitting_changes = false;  // of a plan that does not fit into memory: look for changes with which it would
  bool explain_folding = false;
};

struct Simulation {
  Report report;
  StepGraph graph;  // as run: folded or not
  std::vector<std::int32_t> rank_kind;  // [real rank] -> rank of `graph`; empty when not folded
  Timeline timeline;
  std::string folding;  // explained, for people; empty unless wanted
};

// Throws InputError when the step cannot finish (a link is down for good), or when the detail cannot see what the
// scenario changes.
Simulation simulate(const Inputs& inputs, const Options& options);

// The step's time and memory alone, for searches: of the report only inputs, facts, time and each rank's memory are
// filled in. nullopt: the step takes more than limit_s, which shows already when nothing shares a link. (Every transfer
// then takes its least time, and what has to wait for what does not change: no event ends later than with contention.)
std::optional<Report> brief_report(const Inputs& inputs, const Options& options, double limit_s);

// Of what elasticities are measured: "compute", "hbm", "starts" (what kernels take beyond their work, where they do), each
// wire, "latency".
std::vector<std::string> resources_of(const ClusterSpec& cluster);

// What a resource that is faster by 1 % saves -> -(dT/T)/(dx/x). Where they do not add up to 1, since several bind at the
// same time or hide behind each other, also of each side's resources together.
struct Elasticities {
  std::map<std::string, double> single;
  std::optional<Together> together;
};
Elasticities measure_elasticities(const Inputs& inputs, const Options& options, double step_time, std::vector<std::string>* warnings = nullptr);

// Every wire and latency together.
inline constexpr std::string_view kAllCommunication = "communication";

// The cluster with a resource of those, or all communication, `factor` times as fast.
ClusterSpec with_faster(ClusterSpec cluster, const std::string& resource, double factor);

}  // namespace stepsim
