// Collective algorithms: what a call puts on the wires (Pattern) and its closed form. One file an algorithm; all in the
// table of algorithms(). Pure functions of a cluster and a group.
//
// Payload of a call, in bytes (docs of each operation):
//   all_gather      V = the whole gathered buffer; each of n ranks contributes V/n
//   reduce_scatter  V = the whole input buffer; each rank keeps V/n
//   all_reduce      V = the buffer
//   broadcast       V = the buffer
//   all_to_all      V = what a rank sends to all n ranks together, itself included, when every rank gets its own share
//                   (copies == 0); with token routing (copies > 0), V = one copy of each of the rank's tokens
//   point_to_point  V = the message, from members[0] to members[1]
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sim/cluster/cluster.hpp"
#include "sim/graph/step_graph.hpp"

namespace stepsim {

enum class Operation : std::uint8_t { all_gather, reduce_scatter, all_reduce, all_to_all, broadcast, point_to_point };
std::string_view to_text(Operation operation);

// formula: the closed form as a delay; aggregate: steady-state traffic on the links, so that it contends.
enum class Detail : std::uint8_t { formula, aggregate };

// Token routing of an expert all-to-all, balanced: each token goes to top_k of `experts`, on at most max_nodes nodes.
struct TokenRouting {
  double experts = 0;
  double top_k = 0;
  int max_nodes = 0;  // 0: no limit

  bool operator==(const TokenRouting&) const = default;
};

// The shape of a group on its nodes, for closed forms.
struct GroupShape {
  int size = 0;
  int nodes = 0;     // nodes it touches
  int per_node = 0;  // members on a node; 0 when not the same on all
  // NICs of different index in their nodes are not connected (a plane a GPU index): a message between two such GPUs
  // takes a hop over NVLink first.
  bool planes = false;
};
GroupShape shape_of(const ClusterSpec& cluster, std::span<const RankId> members);

// Rate and latency of the wires between two GPUs, alone on them.
struct Wire {
  BytesPerSecond bandwidth;
  Seconds latency;
};
struct Wires {
  Wire inside;   // between two GPUs of a node
  Wire between;  // between GPUs of equal index on different nodes (the worst pair of the group)
};

// One term of a closed form: a call of payload V takes the largest alpha + beta V over its terms.
struct Term {
  std::string_view wire;  // "inside" or "between"
  double alpha = 0;       // s
  double beta = 0;        // s per payload byte
};

struct Algorithm {
  Operation operation;
  std::string_view name;
  std::string_view about;  // one line for `stepsim list collectives`
  // Aggregate traffic of one call on this group.
  std::vector<Part> (*traffic)(const ClusterSpec&, std::span<const RankId> members, const TokenRouting&);
  // Closed form, written independently of `traffic`.
  std::vector<Term> (*closed_form)(const GroupShape&, const Wires&, const TokenRouting&);
  // nullptr, or why this group cannot use it.
  const char* (*refuses)(const GroupShape&);
};

const std::vector<Algorithm>& algorithms();
const Algorithm* find_algorithm(Operation operation, std::string_view name);

// The pattern of a call, in the given detail. `algorithm` must be in the table; "auto" picks by the group's shape.
Pattern make_pattern(const ClusterSpec& cluster, std::span<const RankId> members, Operation operation,
                     std::string_view algorithm, const TokenRouting& routing, Detail detail);

// Expected number of distinct GPUs (of `gpus`, each with experts/gpus experts) among which `picks` different experts,
// drawn uniformly, fall: gpus (1 - C(E - E/gpus, picks) / C(E, picks)). A token sends one copy to each such GPU.
double expected_gpus(double experts, double gpus, double picks);

}  // namespace stepsim
