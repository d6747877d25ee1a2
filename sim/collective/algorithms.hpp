// The algorithms behind the table: one file each.
#pragma once

#include "sim/collective/algorithm.hpp"

namespace stepsim {

using Members = std::span<const RankId>;

// ring.cpp
std::vector<Part> ring_gather_traffic(const ClusterSpec&, Members, const TokenRouting&);
std::vector<Term> ring_gather_time(const GroupShape&, const Wires&, const TokenRouting&);
std::vector<Part> ring_all_reduce_traffic(const ClusterSpec&, Members, const TokenRouting&);
std::vector<Term> ring_all_reduce_time(const GroupShape&, const Wires&, const TokenRouting&);

// flat.cpp
std::vector<Part> flat_gather_traffic(const ClusterSpec&, Members, const TokenRouting&);
std::vector<Term> flat_gather_time(const GroupShape&, const Wires&, const TokenRouting&);
std::vector<Part> flat_all_reduce_traffic(const ClusterSpec&, Members, const TokenRouting&);
std::vector<Term> flat_all_reduce_time(const GroupShape&, const Wires&, const TokenRouting&);

// hierarchical.cpp
std::vector<Part> hierarchical_gather_traffic(const ClusterSpec&, Members, const TokenRouting&);
std::vector<Term> hierarchical_gather_time(const GroupShape&, const Wires&, const TokenRouting&);
std::vector<Part> hierarchical_all_reduce_traffic(const ClusterSpec&, Members, const TokenRouting&);
std::vector<Term> hierarchical_all_reduce_time(const GroupShape&, const Wires&, const TokenRouting&);

// pairwise.cpp
std::vector<Part> pairwise_traffic(const ClusterSpec&, Members, const TokenRouting&);
std::vector<Term> pairwise_time(const GroupShape&, const Wires&, const TokenRouting&);

// node_limited.cpp
std::vector<Part> node_limited_traffic(const ClusterSpec&, Members, const TokenRouting&);
std::vector<Term> node_limited_time(const GroupShape&, const Wires&, const TokenRouting&);

// shift.cpp
std::vector<Part> shift_traffic(const ClusterSpec&, Members, const TokenRouting&);
std::vector<Term> shift_time(const GroupShape&, const Wires&, const TokenRouting&);

// direct.cpp
std::vector<Part> direct_traffic(const ClusterSpec&, Members, const TokenRouting&);
std::vector<Term> direct_time(const GroupShape&, const Wires&, const TokenRouting&);

// nullptr, or why the group's shape does not do: as many members on each of its nodes.
const char* needs_equal_nodes(const GroupShape&);

}  // namespace stepsim
