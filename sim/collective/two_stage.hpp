// Messages of an all-to-all in two stages, one inside a node and one along a rail, in chunks. Every node deals with the
// others in the order of their distance, so that each port sends and receives one rail's messages at a time.
#pragma once

#include <functional>

#include "sim/collective/algorithm.hpp"

namespace stepsim {

// Bytes a payload byte; nodes and places (in the node) are numbered in the order of the members.
struct TwoStages {
  bool inside_first = false;  // else the rail comes first
  // Between the GPUs of a place on two nodes.
  std::function<double(int from_node, int to_node, int place)> rail;
  // Inside a node, from place to place, of what comes from (or, with inside_first, goes to) the other node.
  std::function<double(int node, int other_node, int from_place, int to_place)> inside;
};

std::vector<Part> two_stage_messages(const GroupCall& call, const TwoStages& stages);

}  // namespace stepsim
