// StepGraph: the one thing engines see. Three kinds of event and edges between them, stored compactly: ranks that do
// the same thing share one Program, so that memory grows with what differs and not with the number of ranks.
//
// An event is one Op of a rank's program. A program has streams (stream 0 computes); the ops of a stream run in the
// order in which they stand; an op also waits for the ops of its own rank in `after`. An op of kind transfer is a call
// on the group in one of the rank's slots: it starts when the group's last endpoint is ready (rendezvous) and ends for
// all endpoints together. The n-th call of one endpoint meets the n-th call of every other endpoint of its group.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "sim/base/units.hpp"
#include "sim/graph/op_table.hpp"

namespace stepsim {

using RankId = std::int32_t;
using GroupId = std::int32_t;
using LinkId = std::int32_t;

// From `time` on (seconds since the step began, more than 0) something has another value.
struct Change {
  double time = 0;
  double value = 0;

  bool operator==(const Change&) const = default;
};

struct Stream {
  std::string name;  // "compute", "expert", "pipeline send 3>4", ...
  Dimension dimension = Dimension::none;

  bool operator==(const Stream&) const = default;
};

struct Program {
  std::string name;             // "pipeline rank 3"
  std::vector<Stream> streams;  // [0] computes
  OpTable ops;                  // `after` may only name earlier ops
  std::int32_t pipeline_rank = 0;

  bool operator==(const Program&) const = default;
};

// `legs` messages of a lockstep transfer cross this link at the same time.
struct Load {
  LinkId link;
  std::uint32_t alone;  // in a folded graph: legs of one of the groups that this one stands for; 0: the same
  double legs;          // whole numbers

  explicit(false) Load(LinkId of = 0, double n = 1, std::uint32_t of_one = 0) : link(of), alone(of_one), legs(n) {}
  bool operator==(const Load&) const = default;
};

// Where a part's bytes go, and which latency its calls pay, under another routing (StepGraph::reroutings).
struct Detour {
  std::vector<Load> loads;
  double alpha = 0;

  bool operator==(const Detour&) const = default;
};

// One lockstep stream of traffic. It takes alpha seconds of latency, then moves bytes_per_payload x payload bytes along
// each leg, all legs at one rate r; a link of capacity C gives it at most r = C / legs. `beta` (seconds per payload
// byte) is paid as a fixed time before the bytes move: a part without loads is a pure closed form.
struct Part {
  std::vector<Load> loads;
  double bytes_per_payload = 0;
  double alpha = 0;
  double beta = 0;
  bool counted_only = false;  // takes no time: its loads only say which links carried its bytes (a closed form's traffic)
  std::vector<Detour> detours = {};  // [routing - 1]; empty: the same under every routing
  std::vector<std::int32_t> after = {};  // earlier parts of the pattern that end before this one's latency begins
  std::int32_t behind = -1;  // an earlier part that goes first on the same connection: this one's latency may pass
                             // meanwhile, but its bytes move only when that one's have; -1: none

  bool operator==(const Part&) const = default;
};

// What a call does on the wires: parts run side by side, unless they name others that come first; the call ends with
// the last of them.
struct Pattern {
  std::string operation;  // all_gather, reduce_scatter, all_reduce, all_to_all, broadcast, point_to_point
  std::string algorithm;  // flat, ring, hierarchical, node_limited, ...
  std::vector<Part> parts;
  double copies = 1;      // of its payload that a member sends, to itself included: of routed tokens one for each destination

  bool operator==(const Pattern&) const = default;
};

struct Endpoint {
  RankId rank = 0;
  std::int32_t slot = 0;  // the rank's slot that refers to this group

  auto operator<=>(const Endpoint&) const = default;
};

struct Group {
  std::string name;  // "expert 0-63"
  Dimension dimension = Dimension::none;
  std::vector<Endpoint> endpoints;  // in a folded graph one for each kind of endpoint
  std::vector<Pattern> patterns;
  int size = 0;   // ranks of the real group
  int count = 1;  // real groups that this one stands for

  bool operator==(const Group&) const = default;
};

struct Rank {
  std::int32_t program = 0;
  double speed = 1;            // of compute; 0.8 takes 1.25 times as long
  std::vector<GroupId> slots;  // -1: unused
  int count = 1;               // real ranks that this one stands for
  RankId original = 0;         // the (lowest) real rank it stands for
  std::vector<Change> speed_changes = {};  // in order of time

  bool operator==(const Rank&) const = default;
};

struct GraphLink {
  std::string name;
  double capacity = 0;       // bytes/s; 0: down, nothing moves over it
  std::int16_t tier = -1;    // index into StepGraph::tiers
  RankId owner = -1;         // rank whose own port this is; -1: shared
  int count = 1;             // real links that this one stands for
  std::vector<Change> capacity_changes = {};  // in order of time

  bool operator==(const GraphLink&) const = default;
};

// From `time` on, `routing` holds: 0 are the parts' own loads and alphas, n their detours[n - 1]. What is moving then
// goes on with the bytes that are left; latency is paid once, by the routing that holds when it begins.
struct Rerouting {
  double time = 0;
  std::int32_t routing = 0;

  bool operator==(const Rerouting&) const = default;
};

// Random variation of single events: a compute op takes exp(s z - s^2/2) times as long (mean 1), z standard normal and
// drawn for each op of each rank; a call is as if it had so many times its latency and bytes. s: the sigma of its kind.
struct Jitter {
  double compute_sigma = 0;
  double communication_sigma = 0;
  std::uint64_t seed = 0;

  bool operator==(const Jitter&) const = default;
};

// A port that several ranks have in common: GPUs at one network card. The link itself has no owner.
struct SharedPort {
  std::int32_t link = 0;
  RankId rank = 0;

  auto operator<=>(const SharedPort&) const = default;
};

struct StepGraph {
  std::vector<Program> programs;
  std::vector<Rank> ranks;
  std::vector<Group> groups;
  std::vector<GraphLink> links;
  std::vector<std::string> tiers;       // names of the wires: nvlink, infiniband, ...
  std::vector<std::string> labels{""};  // texts of Tags::label
  int sms = 0;                          // SMs of a GPU, for transfers that hold some
  std::vector<SharedPort> shared_ports = {};
  std::vector<Rerouting> reroutings = {};  // in order of time
  Jitter jitter = {};                      // a graph with jitter does not fold

  bool operator==(const StepGraph&) const = default;
};

// Number of events: ops over all ranks.
std::uint64_t count_events(const StepGraph& graph);

// Every reason why the graph cannot run, each naming its event: ops that wait for a later op, slots or patterns that do
// not exist, parts that wait for a later one, endpoints of a group whose calls do not match. Empty when sound.
// (Deadlocks across ranks show when an engine runs.)
std::vector<std::string> problems_of(const StepGraph& graph);

// "rank 3 op 12 all_to_all dispatch (expert, stage 2, microbatch 5)": how errors and dumps name an event.
std::string name_of(const StepGraph& graph, RankId rank, std::int32_t op);

}  // namespace stepsim
