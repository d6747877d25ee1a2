// The table of algorithms.
#include "sim/collective/algorithms.hpp"
#include "sim/collective/levels.hpp"

namespace stepsim {
namespace {

using Shape = const GroupShape&;

// Which of them "auto" may take.
bool always(Shape) {
  return true;
}
bool several_rails(Shape s) {
  return s.nodes > 1 && s.per_node > 1;
}
bool several_rings(Shape s) {
  return s.nodes > 1 && s.fewest > 1;
}
bool equal_nodes(Shape s) {
  return s.per_node > 0;
}
// NCCL keeps to rings inside a node.
bool several_equal_nodes(Shape s) {
  return s.nodes > 1 && s.per_node > 0;
}
// All-gather and reduce-scatter leave the switch alone unless buffers are registered with NCCL: 361 and 363 GB/s on 8 x
// H200, a ring's, where an all-reduce has 480 (platforms/measured/collectives.csv).
bool one_switch(Shape s) {
  return s.in_switch && s.nodes == 1 && s.per_node > 2;
}
bool several_switches(Shape s) {
  return s.in_switch && s.nodes > 1 && s.per_node > 2;
}
bool one_rail(Shape s) {
  return !several_rails(s);
}  // or members unequally spread
bool one_ring(Shape s) {
  return !several_rings(s);
}

const char* needs_power_of_two(Shape shape) {
  if ((shape.size & (shape.size - 1)) != 0) return "it needs a power of two members";
  return needs_equal_nodes(shape);
}

const char* needs_switch(Shape shape) {
  if (const char* why = needs_equal_nodes(shape); why != nullptr) return why;
  if (!shape.in_switch) return "the GPU's file has no nvls, so that its NVSwitch does not reduce";
  return shape.per_node > 2 ? nullptr : "it needs three or more members on a node";
}

template <auto Function, auto... Extra>
std::vector<Part> parts(const GroupCall& call) {
  return Function(call, Extra...);
}
template <auto Function, auto... Extra>
std::vector<Term> terms(Shape shape, const Wires& wires, const TokenRouting&, double) {
  return Function(shape, wires, Extra...);
}
template <bool InSwitch, bool Trees, bool Scatter, bool Gather>
struct TwoLevels {
  static constexpr Levels kLevels{InSwitch, Trees, Scatter, Gather};
  static std::vector<Part> traffic(const GroupCall& call) { return levels_traffic(call, kLevels); }
  static std::vector<Part> messages(const GroupCall& call) { return levels_messages(call, kLevels); }
  static std::vector<Term> time(Shape shape, const Wires& wires, const TokenRouting&, double payload) {
    return levels_time(shape, wires, payload, kLevels);
  }
};

// Lines of the table: what differs between the operations of a family.
template <int Rounds>
Algorithm ring_line(Operation operation, std::string_view about) {
  const auto time = [](Shape shape, const Wires& wires, const TokenRouting&, double payload) {
    return ring_time(shape, wires, Rounds, payload);
  };
  return {operation, "ring",   about, parts<ring_traffic, Rounds>, parts<ring_messages, Rounds>, time,
          nullptr,   one_ring, true};
}
template <int Rounds>
Algorithm rings_line(Operation operation) {
  const auto time = [](Shape shape, const Wires& wires, const TokenRouting&, double payload) {
    return rings_time(shape, wires, Rounds, payload);
  };
  return {operation, "rings", "a ring a rail, each through all GPUs", parts<rings_traffic, Rounds>, parts<rings_messages, Rounds>,
          time,      nullptr, several_rings, true};
}
template <int Rounds>
Algorithm flat_line(Operation operation, std::string_view about) {
  return {operation,
          "flat",
          about,
          parts<flat_traffic, Rounds>,
          parts<flat_messages, Rounds>,
          terms<flat_time, Rounds>,
          needs_equal_nodes,
          nullptr};
}
template <bool Scatter, bool Gather>
Algorithm halving_line(Operation operation, std::string_view about) {
  return {operation,
          "halving_doubling",
          about,
          parts<halving_traffic, Scatter, Gather>,
          parts<halving_messages, Scatter, Gather>,
          terms<halving_time, Scatter + Gather>,
          needs_power_of_two,
          nullptr};
}
template <bool InSwitch, bool Trees, bool Scatter, bool Gather>
Algorithm levels_line(Operation operation, std::string_view name, std::string_view about, const char* (*refuses)(Shape),
                      bool (*automatic)(Shape)) {
  using L = TwoLevels<InSwitch, Trees, Scatter, Gather>;
  return {operation, name, about, L::traffic, L::messages, L::time, refuses, automatic, Trees || InSwitch};
}

}  // namespace

const std::vector<Algorithm>& algorithms() {
  using O = Operation;
  static const std::vector<Algorithm> table = {
      flat_line<1>(O::all_gather, "each GPU pulls every share over its own NIC"),
      ring_line<1>(O::all_gather, "one ring in rank order"),
      rings_line<1>(O::all_gather),
      halving_line<false, true>(O::all_gather, "recursive doubling: log2 n exchanges, the far ones first"),
      levels_line<false, false, false, true>(O::all_gather, "hierarchical", "rings along rails, NVLink spreads",
                                             needs_equal_nodes, nullptr),
      levels_line<true, false, false, true>(O::all_gather, "nvls", "rings along rails, the NVSwitch multicasts",
                                            needs_switch, nullptr),
      flat_line<1>(O::reduce_scatter, "each GPU pushes every share over its own NIC"),
      ring_line<1>(O::reduce_scatter, "one ring in rank order"),
      rings_line<1>(O::reduce_scatter),
      halving_line<true, false>(O::reduce_scatter, "recursive halving: log2 n exchanges, the near ones first"),
      levels_line<false, false, true, false>(O::reduce_scatter, "hierarchical", "NVLink collects, rings along rails",
                                             needs_equal_nodes, nullptr),
      levels_line<true, false, true, false>(O::reduce_scatter, "nvls", "the NVSwitch reduces, rings along rails",
                                            needs_switch, nullptr),
      flat_line<2>(O::all_reduce, "flat reduce-scatter, then flat all-gather"),
      ring_line<2>(O::all_reduce, "one ring in rank order, twice around"),
      rings_line<2>(O::all_reduce),
      {O::all_reduce, "tree", "double binary trees along rails, NVLink inside nodes", tree_traffic, tree_messages,
       tree_time, needs_equal_nodes, several_equal_nodes, true},
      halving_line<true, true>(O::all_reduce, "recursive halving, then doubling"),
      levels_line<false, false, true, true>(O::all_reduce, "hierarchical",
                                            "NVLink and rings along rails, there and back", needs_equal_nodes,
                                            nullptr),
      levels_line<true, false, true, true>(
          O::all_reduce, "nvls", "the NVSwitch reduces and multicasts, rings along rails", needs_switch, one_switch),
      levels_line<true, true, true, true>(O::all_reduce, "nvls_tree", "the NVSwitch, double binary trees along rails",
                                          needs_switch, several_switches),
      {O::all_to_all, "pairwise", "each share goes to its GPU directly", pairwise_traffic, pairwise_messages,
       pairwise_time, nullptr, one_rail},
      {O::all_to_all, "rail_aligned", "NVLink to the receiver's rail first, then its NIC (PXN)", rail_aligned_traffic,
       rail_aligned_messages, rail_aligned_time, needs_equal_nodes, several_rails},
      {O::all_to_all, "node_limited", "one copy of a token a remote node, NVLink spreads", node_limited_traffic,
       node_limited_messages, node_limited_time, needs_equal_nodes, nullptr},
      {O::broadcast, "ring", "a chain in rank order", chain_traffic, chain_messages, chain_time, nullptr, always, true},
      {O::broadcast, "tree", "two binary trees along rails, NVLink inside nodes", broadcast_tree_traffic,
       broadcast_tree_messages, broadcast_tree_time, needs_equal_nodes, equal_nodes, true},
      {O::shift, "ring", "each member sends to the next", shift_traffic, shift_messages, shift_time, nullptr, always},
      {O::point_to_point, "direct", "one message", direct_traffic, direct_messages, direct_time, nullptr, always},
  };
  return table;
}

const char* needs_equal_nodes(const GroupShape& shape) {
  return shape.per_node > 0 ? nullptr : "it needs as many members on each of its nodes";
}

const Algorithm* find_algorithm(Operation operation, std::string_view name) {
  for (const Algorithm& a : algorithms()) {
    if (a.operation == operation && a.name == name) return &a;
  }
  return nullptr;
}

}  // namespace stepsim
