// Inside make_step: what its parts share. Not for others.
#pragma once

#include <array>
#include <map>
#include <string>
#include <vector>

#include "sim/cluster/cluster.hpp"
#include "sim/collective/algorithm.hpp"
#include "sim/graph/step_graph.hpp"
#include "workloads/layers.hpp"
#include "workloads/model.hpp"
#include "workloads/plan.hpp"
#include "workloads/schedule.hpp"
#include "workloads/segments.hpp"

namespace stepsim {

// A rank's groups that every program knows; the channels of the pipeline follow.
enum Slot : std::int16_t {
  kTensor, kContext, kExpert, kExpertTensor,  // as GroupKind
  kGatherDense, kGatherExpert,                // parameter gathers: the ranks that shard a state
  kReduceDense, kReduceExpert,                // gradient reductions: the same ranks
  kReplicaDense, kReplicaExpert,              // all-reduce across the shard groups of hybrid sharding
  kTied,                                      // the two ends of the pipeline, with tied embeddings
  kNorm,                                      // all ranks that hold a part of one gradient's norm
  kFixedSlots,
};

enum StreamId : std::uint8_t { kCompute, kTensorStream, kContextStream, kExpertStream, kGatherStream, kReduceStream, kFixedStreams };

struct PatternKey {
  Operation operation;
  std::string algorithm;
  bool routed = false;
  bool back = false;  // of unequal experts, as CollectiveCall has it
  int routing = 0;
  double payload = 0;  // bytes, where the pattern depends on them; else 0

  auto operator<=>(const PatternKey&) const = default;
};
// The plan's algorithm for a block's collective.
PatternKey pattern_key(const ParallelPlan& plan, const CollectiveCall& call);

Overlap::Policy policy_of(const ParallelPlan& plan, GroupKind kind);

// Activations between two stages, of one rank: its tokens of a microbatch, sharded by context and, with sequence
// parallelism, by tensor.
double message_bytes(const ModelSpec& model, const ParallelPlan& plan);

// Patterns that the programs call on each slot, and texts of labels: filled while programs are made.
class Book {
 public:
  // `every_payload`: patterns are made for each payload even where their algorithm does not depend on it.
  explicit Book(bool every_payload) : every_payload_(every_payload) {}

  std::int16_t pattern(std::int16_t slot, PatternKey key, double payload);
  std::int32_t label(const std::string& text);
  const std::vector<PatternKey>& patterns(std::int16_t slot) const { return patterns_[slot]; }
  const std::vector<std::string>& labels() const { return labels_; }

 private:
  bool every_payload_;
  std::array<std::vector<PatternKey>, kFixedSlots> patterns_;
  std::vector<std::string> labels_ = {""};
};

// Messages of one kind between the holders of two neighbouring stages.
struct Channel {
  int from_rank = 0, to_rank = 0;    // pipeline ranks
  int from_stage = 0, to_stage = 0;  // +1: activations, -1: their gradients
  int direction = 0;
  std::vector<int> microbatches;     // in the order in which they are sent

  bool operator==(const Channel&) const = default;
};
std::vector<Channel> channels_of(const Schedule& schedule);

struct StepContext {
  const ModelSpec& model;
  const ClusterSpec& cluster;
  const ParallelPlan& plan;
  const Schedule& schedule;
  const BlockList& blocks;
  const std::vector<std::vector<int>>& stage_blocks;
  const std::vector<Channel>& channels;
  int copies = 1;           // of each stage's parameters in the pipeline
  int dense_replicas = 1;   // ranks that hold the same dense parameters (copies included)
  int expert_replicas = 1;
  int dense_shards = 1;     // ranks over which their states are cut
  int expert_shards = 1;
  int compute_sms = 0;      // SMs that compute is priced with
  int norm_ranks = 1;       // that hold a part of one gradient's norm
  bool tied = false;        // the embedding's matrix is the head's too, on two ranks of the pipeline
  int held_sms = 0;         // SMs a transfer takes while it moves (shared policy)
  // Priced segments: [kind of block][pass kind].
  std::vector<std::array<std::vector<Segment>, 4>> segments = {};

  // What whoever wrote the plan's kernels down expected: compute seconds and collectives' times, alone on their wires,
  // on the planned cluster. They decide orders, never times.
  std::vector<std::array<std::vector<Segment>, 4>> planned_segments = {};
  std::map<const CollectiveCall*, double> planned_seconds = {};

  const std::vector<Segment>& segments_of_block(int block, PassKind pass) const {
    return segments[blocks.kind_of[block]][static_cast<std::size_t>(pass)];
  }
  double planned_seconds_of(int block, PassKind pass, int segment) const {
    const Segment& s = planned_segments[blocks.kind_of[block]][static_cast<std::size_t>(pass)][segment];
    if (s.call == nullptr) return s.seconds;
    const auto known = planned_seconds.find(s.call);
    return known == planned_seconds.end() ? 0 : known->second;
  }
};

// The program of a pipeline rank; slot of channel c is kFixedSlots + c (an index into StepContext::channels).
Program make_program(const StepContext& context, int pipeline_rank, Book& book);

}  // namespace stepsim
