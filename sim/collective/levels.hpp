// Collectives of two levels, rail-aligned: g members of a node share the buffer out, the members of equal place on each
// of M nodes deal with 1/g of it between the nodes, and the node's members put it together again. Both levels are
// pipelined against each other, so that a call takes the longer of the two:
//   inside, directly      V (g - 1)/g each way for the reduce-scatter and again for the all-gather
//   inside, in the switch V (1 + 1/g) each way for both together, V for either alone, at the switch's own rate
//   between, ring         V/g (M - 1)/M in M - 1 steps, for each of the two
//   between, two trees    2 V/g and the filling of the pipeline, 2 D hops, D = ceil(log2 M)
#pragma once

#include <vector>

#include "sim/collective/algorithm.hpp"
#include "sim/collective/legs.hpp"

namespace stepsim {

struct Levels {
  bool in_switch = false;  // inside: the NVSwitch reduces and multicasts; else every member sends to every other
  bool trees = false;      // between: two trees; else a ring
  bool scatter = false;    // the reduce-scatter is wanted
  bool gather = false;     // the all-gather is wanted
};

// Members by node; trees over one node's members, the switch apart, have each member for a node of its own.
Nodes levels_nodes(const GroupCall& call, const Levels& levels);

// What a call in the switch pays beside its bytes; `steps`: as measured on one node, null: not measured.
double switch_latency(Seconds of_call, const NodeSteps* steps, double payload, const Levels& levels);

std::vector<Part> levels_traffic(const GroupCall& call, const Levels& levels);
std::vector<Part> levels_messages(const GroupCall& call, const Levels& levels);
std::vector<Term> levels_time(const GroupShape& shape, const Wires& wires, double payload, const Levels& levels);

}  // namespace stepsim
