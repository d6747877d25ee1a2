// The algorithms behind the table: one file each. Of a family, `rounds` is 2 for an all-reduce, which is a
// reduce-scatter and then an all-gather, and 1 for either alone.
#pragma once

#include "sim/collective/algorithm.hpp"

namespace stepsim {

using Members = std::span<const RankId>;

// ring.cpp
std::vector<Part> ring_traffic(const GroupCall&, int rounds);
std::vector<Part> ring_messages(const GroupCall&, int rounds);
std::vector<Term> ring_time(const GroupShape&, const Wires&, int rounds, double payload);

// rings.cpp
std::vector<Part> rings_traffic(const GroupCall&, int rounds);
std::vector<Part> rings_messages(const GroupCall&, int rounds);
std::vector<Term> rings_time(const GroupShape&, const Wires&, int rounds, double payload);

// flat.cpp
std::vector<Part> flat_traffic(const GroupCall&, int rounds);
std::vector<Part> flat_messages(const GroupCall&, int rounds);
std::vector<Term> flat_time(const GroupShape&, const Wires&, int rounds);

// halving_doubling.cpp
std::vector<Part> halving_traffic(const GroupCall&, bool scatter, bool gather);
std::vector<Part> halving_messages(const GroupCall&, bool scatter, bool gather);
std::vector<Term> halving_time(const GroupShape&, const Wires&, int rounds);

// tree.cpp: an all-reduce
std::vector<Part> tree_traffic(const GroupCall&);
std::vector<Part> tree_messages(const GroupCall&);
std::vector<Term> tree_time(const GroupShape&, const Wires&, const TokenRouting&, double payload);

// broadcast.cpp
std::vector<Part> chain_traffic(const GroupCall&);
std::vector<Part> chain_messages(const GroupCall&);
std::vector<Term> chain_time(const GroupShape&, const Wires&, const TokenRouting&, double payload);
std::vector<Part> broadcast_tree_traffic(const GroupCall&);
std::vector<Part> broadcast_tree_messages(const GroupCall&);
std::vector<Term> broadcast_tree_time(const GroupShape&, const Wires&, const TokenRouting&, double payload);

// pairwise.cpp. By rail: every message changes rails in its sender's node.
std::vector<Part> pairwise_traffic(const GroupCall&);
std::vector<Part> pairwise_messages(const GroupCall&);
std::vector<Term> pairwise_time(const GroupShape&, const Wires&, const TokenRouting&, double payload);
std::vector<Part> rail_aligned_traffic(const GroupCall&);
std::vector<Part> rail_aligned_messages(const GroupCall&);
std::vector<Term> rail_aligned_time(const GroupShape&, const Wires&, const TokenRouting&, double payload);

// node_limited.cpp
std::vector<Part> node_limited_traffic(const GroupCall&);
std::vector<Part> node_limited_messages(const GroupCall&);
std::vector<Term> node_limited_time(const GroupShape&, const Wires&, const TokenRouting&, double payload);

// shift.cpp
std::vector<Part> shift_traffic(const GroupCall&);
std::vector<Part> shift_messages(const GroupCall&);
std::vector<Term> shift_time(const GroupShape&, const Wires&, const TokenRouting&, double payload);

// direct.cpp
std::vector<Part> direct_traffic(const GroupCall&);
std::vector<Part> direct_messages(const GroupCall&);
std::vector<Term> direct_time(const GroupShape&, const Wires&, const TokenRouting&, double payload);

// nullptr, or why the group's shape does not do: as many members on each of its nodes.
const char* needs_equal_nodes(const GroupShape&);

}  // namespace stepsim
