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
//   shift           V = what each member sends to the next in the ring
//   point_to_point  V = the message, from members[0] to members[1]
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sim/cluster/cluster.hpp"
#include "sim/graph/step_graph.hpp"

namespace stepsim {

enum class Operation : std::uint8_t {
  all_gather,
  reduce_scatter,
  all_reduce,
  all_to_all,
  broadcast,
  shift,
  point_to_point
};
std::string_view to_text(Operation operation);

// formula: the closed form as a delay; aggregate: steady-state traffic on the links, so that it contends; flow: every
// message of the algorithm by itself, in the order in which data allow, to check the other two.
enum class Detail : std::uint8_t { formula, aggregate, flow };
std::string_view to_text(Detail detail);
std::optional<Detail> detail_from(std::string_view text);

// Token routing of an expert all-to-all: each token goes to top_k of `experts`, on at most max_nodes nodes. Member i of
// the group holds the i-th part of the experts; members are in the order of their nodes.
struct TokenRouting {
  double experts = 0;
  double top_k = 0;
  int max_nodes = 0;  // 0: no limit

  // Unequal experts (empty: equal ones), as unequal_routing() works them out: probability that a token sends a copy
  std::vector<double> to_member = {};  // [member] to it, when any node may be reached (with every_copy: copies, not whether)
  std::vector<double> to_node = {};    // [node of the group] to it, under max_nodes
  std::vector<double> in_node = {};    // [member] to its node and there to it, under max_nodes
  bool back = false;                   // combine: every copy goes back from where dispatch has sent it
  bool every_copy = false;  // a copy for each expert (NCCL's all-to-all); or one for all of a token's experts on a GPU (DeepEP)

  bool operator==(const TokenRouting&) const = default;
};

// The shape of a group on its nodes, for closed forms.
struct GroupShape {
  int size = 0;
  int nodes = 0;     // nodes it touches
  int per_node = 0;  // members on a node; 0 when not the same on all
  int fewest = 0;    // members on the node that has fewest
  // NICs of different index in their nodes are not connected (a plane a GPU index): a message between two such GPUs
  // takes a hop over NVLink first.
  bool planes = false;
  bool in_switch = false;  // the node's switch can reduce and multicast (NVLS)
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
  Wire nvls;     // a GPU's port under in-switch reduction, and what a call pays
  // Where they were measured: of a group on one node; of any group's steps inside its nodes.
  const NodeSteps* node_steps = nullptr;
  const NodeSteps* steps_inside = nullptr;
};

// What a pattern is made for.
struct GroupCall {
  const ClusterSpec& cluster;
  std::span<const RankId> members;
  const TokenRouting& routing;
  double payload = 0;  // bytes; how a buffer is cut into chunks depends on it
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
  std::string_view about;                           // one line for `stepsim list collectives`
  std::vector<Part> (*traffic)(const GroupCall&);   // detail aggregate
  std::vector<Part> (*messages)(const GroupCall&);  // detail flow; throws InputError when there are too many
  // Closed form, written independently of `traffic`.
  std::vector<Term> (*closed_form)(const GroupShape&, const Wires&, const TokenRouting&, double payload);
  // nullptr, or why this group cannot use it.
  const char* (*refuses)(const GroupShape&);
  // Whether "auto" may choose it for such a group; nullptr: never.
  bool (*automatic)(const GroupShape&);
  bool chunked = false;  // patterns differ with the payload: chunks, hops that hide behind each other
};

const std::vector<Algorithm>& algorithms();
const Algorithm* find_algorithm(Operation operation, std::string_view name);

// `routing` with unequal experts: loads[e], 0 to 1, is the part of the tokens that go to expert e (their sum is top_k),
// for a group of `size` members on `nodes` nodes. Which experts are chosen together is the likeliest that has these
// loads (Picks). A node is reached by the tokens that choose one of its experts. Only where a limit of max_nodes is
// below the nodes that a token would reach so, it is used up: node n, whose experts have the loads' sum Q, is then
// reached by a part c Q of the tokens, never less than the node's largest load, never more than min(1, Q), and c makes
// the sum over nodes min(max_nodes, top_k); a member whose load is q of its node's gets as many copies of the node's as
// choose one of its experts.
TokenRouting unequal_routing(TokenRouting routing, std::span<const double> loads, int size, int nodes);

// What "auto" chooses from: the algorithms that a user of NCCL would expect on such a group. Never empty.
std::vector<const Algorithm*> automatic_choices(const GroupShape& shape, Operation operation,
                                                const TokenRouting& routing);

// "auto" for a call of this payload: the choice whose closed form is shortest (NCCL chooses by such a model too); the
// first in the table where several are.
const Algorithm& choose_algorithm(const ClusterSpec& cluster, std::span<const RankId> members, Operation operation,
                                  const TokenRouting& routing, double payload);

// Whether patterns of the algorithm, or what "auto" chooses, differ with the payload (detail flow: all do).
bool depends_on_payload(Operation operation, std::string_view algorithm);

// A buffer so large that latency does not count.
inline constexpr double kLargePayload = 1 << 30;

// The pattern of a call of so many bytes, in the given detail. `algorithm` must be in the table; "auto" chooses. Chunks
// are cut for this payload: the same pattern may be called with another, but is then not what make_pattern would give.
Pattern make_pattern(const ClusterSpec& cluster, std::span<const RankId> members, Operation operation,
                     std::string_view algorithm, const TokenRouting& routing, Detail detail,
                     double payload = kLargePayload);

// The closed form of a call without routing, and nothing on the links; none where it does not hold (nodes with different
// numbers of members).
std::optional<Pattern> make_delay(const ClusterSpec& cluster, std::span<const RankId> members, Operation operation,
                                  std::string_view algorithm, double payload);

// Seconds of a call of this payload that has its links to itself; nothing shares links within it either, so that it
// holds for the details formula and aggregate.
double seconds_alone(const ClusterSpec& cluster, const Pattern& pattern, double payload);

// Expected number of distinct GPUs (of `gpus`, each with experts/gpus experts) among which `picks` different experts,
// drawn uniformly, fall: gpus (1 - C(E - E/gpus, picks) / C(E, picks)). A token sends one copy to each such GPU.
double expected_gpus(double experts, double gpus, double picks);

}  // namespace stepsim
