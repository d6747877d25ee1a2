// Tree all-reduce: the two trees of two_trees.hpp between the nodes of every rail, each half of the buffer up to the
// root and down again in chunks; inside a node its members share the buffer out over NVLink and put it together again.
// On one node, or with one member a node, the trees join the members themselves.
//   V (1 + the filling of the pipeline) times the messages of the busiest port over 2; 2 ceil(log2 n) latencies
#include "sim/collective/algorithms.hpp"
#include "sim/collective/levels.hpp"

namespace stepsim {
namespace {

constexpr Levels kTrees{.in_switch = false, .trees = true, .scatter = true, .gather = true};

}  // namespace

std::vector<Part> tree_traffic(const GroupCall& call) {
  return levels_traffic(call, kTrees);
}
std::vector<Part> tree_messages(const GroupCall& call) {
  return levels_messages(call, kTrees);
}

std::vector<Term> tree_time(const GroupShape& shape, const Wires& wires, const TokenRouting&, double payload) {
  return levels_time(shape, wires, payload, kTrees);
}

}  // namespace stepsim
