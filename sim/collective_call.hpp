// One collective by itself: what nccl-tests measures, simulated.
#pragma once

#include <string>
#include <vector>

#include "sim/cluster/cluster.hpp"
#include "sim/collective/algorithm.hpp"

namespace stepsim {

struct SingleCall {
  Operation operation = Operation::all_reduce;
  std::vector<RankId> members;
  std::string algorithm = "auto";
  TokenRouting routing = {};
  double payload = 0;  // bytes, as algorithm.hpp has it
  Detail detail = Detail::aggregate;
};

struct SingleResult {
  double seconds = 0;
  std::string algorithm;     // as chosen
  double floor_seconds = 0;  // the busiest link alone, at its full rate: no latency
  std::string wire;          // that link's
  std::size_t parts = 0;     // messages, with detail flow
  // What most of the time goes to: the wire, or latency when the floor is less than half of it.
  std::string bound() const { return floor_seconds < seconds / 2 ? "latency" : wire; }
};

// Throws InputError when the algorithm is none, or cannot serve the group.
SingleResult run_single(const ClusterSpec& cluster, const SingleCall& call);

// The first `ranks` GPUs of the cluster, `per_node` of each node (0: all). Throws InputError when it has not as many.
std::vector<RankId> first_members(const ClusterSpec& cluster, int ranks, int per_node);

// nccl-tests: bus bandwidth over algorithm bandwidth (size over time), for n ranks.
double bus_factor(Operation operation, int ranks);

}  // namespace stepsim
