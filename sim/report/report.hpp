// Timeline -> numbers. Report is plain data; text, JSON, CSV and HTML are written from it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/graph/step_graph.hpp"
#include "sim/graph/timeline.hpp"
#include "sim/report/chain.hpp"
#include "workloads/activations.hpp"
#include "workloads/fit.hpp"
#include "workloads/schedule.hpp"

namespace stepsim {

// Names of what was simulated, printed at the head of every report.
struct InputNames {
  std::string experiment, model, cluster, plan, scenario;  // scenario: "none"
  std::string schedule, rates, detail, engine;
  std::vector<std::string> overrides;  // "plan.schedule=1f1b"
  int gpus = 0;
  int nodes = 0;
  std::string parallelism;                   // "PP16 x EP64 x DP128"
  std::map<std::string, std::string> files;  // "model" -> file read
};

// What a pipeline rank's passes add to its memory and free.
struct PassMemory {
  double constant = 0;  // bytes, all step long
  std::vector<ChunkActivations> chunks;
  std::vector<Pass> order;
};

// Memory of one rank over the step: from each time on so many bytes.
struct MemoryTimeline {
  int stage = 0, rank = 0;  // pipeline rank; lowest real rank of the kind
  std::vector<std::pair<double, double>> points;

  bool operator==(const MemoryTimeline&) const = default;
};

// Facts of the step that a timeline does not hold.
struct StepFacts {
  double tokens_per_step = 0;
  double model_flops_per_step = 0;     // whole cluster
  double hardware_flops_per_step = 0;  // whole cluster, recompute included
  double peak_flops_per_gpu = 0;       // denominator of MFU and HFU, FLOP/s
  std::string flops_convention;        // how they were counted, and over which peak
  double gpu_memory_bytes = 0;
  // Memory of each rank of the graph by kind ("weights", "activations", ...), bytes.
  std::vector<std::vector<std::pair<std::string, double>>> memory;  // [rank of the graph]
  // The same of its activations by part, and of what is needed beside what it counts (context, communicators, ...).
  std::vector<std::vector<std::pair<std::string, double>>> activation_parts = {}, reserved = {};
  std::vector<PassMemory> passes = {};  // [pipeline rank]
  std::vector<std::string> warnings;                                // from the checks of the inputs
};

struct RankRow {
  int rank = 0;   // lowest real rank of this kind
  int count = 1;  // real ranks of this kind
  int stage = 0;  // pipeline rank
  double compute_s = 0, overlapped_communication_s = 0, exposed_communication_s = 0, wait_s = 0, bubble_s = 0,
         idle_s = 0;
  std::vector<double> wire_bytes = {};  // [tier] through the rank's busiest port of that wire, all its ranks' together
                                        // where ranks share it
  double flops = 0;                     // hardware
  double compute_roofline_s = 0, hbm_roofline_s = 0;
  std::vector<double> wire_roofline_s = {};  // [tier] bytes over capacity, the largest of the rank's ports of that wire
  double peak_memory_bytes = 0;

  bool operator==(const RankRow&) const = default;
};

// Calls of one kind of collective, as the rank that spends most time in them sees them over a step.
struct CollectiveRow {
  std::string name, operation, dimension, algorithm;
  int group_size = 0;
  int rank = 0;               // that rank
  int count = 0;              // its calls
  double bytes_per_rank = 0;  // its payloads, summed over the calls (nccl-tests' "size"; all_to_all: bytes sent)
  double busy_s = 0;          // transfers moving, summed
  double exposed_s = 0;       // moving while its compute stream is idle, summed
  double wait_s = 0;          // ready but waiting for another member, summed
  double bus_bandwidth = 0;   // bytes/s, nccl-tests' convention

  bool operator==(const CollectiveRow&) const = default;
};

struct LinkRow {
  std::string name, tier;
  int rank = -1;  // whose own port it is (lowest real rank of its kind); -1: shared
  int count = 1;
  double bytes = 0;
  double capacity = 0;     // its mean over the step
  double utilisation = 0;  // bytes / (capacity T)

  bool operator==(const LinkRow&) const = default;
};

// Time that ranks of one kind spend waiting in collectives for ranks of another: the members that came last (of several
// at the same moment the slowest, then the lowest). Only wait that the rank's row counts, so that the rows of a rank sum
// to its wait_s.
struct WaitRow {
  int rank = 0, count = 1, stage = 0;              // who waits: lowest real rank of the kind, ranks of it, pipeline rank
  int for_rank = 0, for_count = 1, for_stage = 0;  // for whom
  double for_speed = 1;                            // their mean speed over the step
  double wait_s = 0;                               // of each rank that waits
  // The slowest rank on the chain of events that made it late (its own kernels, or those it waited for before) and how
  // slow it was then; -1: none was slower than full speed.
  int slow_rank = -1;
  double slow_speed = 1;

  bool operator==(const WaitRow&) const = default;
};

// How the first rank of a pipeline stage spends the step, by what runs: a pass from the start of its first kernel to the
// end of its last, communication in between included. All sum to the step.
struct PassShare {
  int count = 0;
  double seconds = 0;

  bool operator==(const PassShare&) const = default;
};
struct PassRow {
  int stage = 0, rank = 0;                                          // pipeline rank; lowest real rank of its kind
  PassShare forward, backward, input_gradient, weight_gradient;     // by themselves
  PassShare pair;                                                   // overlapped, one under the other
  double optimizer_s = 0;  // before the first and after the last pass, while something computes or moves: gradients,
                           // their norm, the optimizer, parameters
  double bubble_s = 0;     // nothing of these

  bool operator==(const PassRow&) const = default;
};

// The same step with `rates: speed_of_light`, beside a calibrated one.
struct SpeedOfLight {
  double step_time_s = 0;
  std::vector<PassRow> passes;
  std::map<std::string, double> phases;
  double peak_memory_bytes = 0;
};

// A path has as many parts as the step has events, and few different texts: each is kept once.
class Words {
 public:
  std::uint16_t number_of(std::string_view text) {
    const auto known = std::find(texts_.begin(), texts_.end(), text);
    if (known == texts_.end()) return texts_.emplace_back(text), static_cast<std::uint16_t>(texts_.size() - 1);
    return static_cast<std::uint16_t>(known - texts_.begin());
  }
  const std::string& operator[](std::uint16_t number) const { return texts_[number]; }

 private:
  std::vector<std::string> texts_;
};

struct PathPart {  // texts: numbers in CriticalPath::words
  std::uint16_t kind = 0;       // compute | transfer | delay | other (a gap, which no engine leaves)
  std::uint16_t dimension = 0;  // of a transfer, else "none"
  // Of a transfer: "latency" while it pays its latency, then the wire that limits it when it has its links to itself, or
  // "formula" (a closed form names no link). "" for the others.
  std::uint16_t wire = 0;
  std::uint16_t phase = 0;
  int rank = 0;
  double seconds = 0;
};

// Events of the path in succession that do the same: one of them, or several of one name and layer.
struct PathEvent {
  std::string name, kind, dimension, wire, phase;  // wire: the one that takes most of it
  int stage = -1, layer = -1, microbatch = -1;  // -1: does not apply, or differs among them
  int count = 1;
  double begin_s = 0, seconds = 0;

  bool operator==(const PathEvent&) const = default;
};

// A stretch of the path on one rank: where it leaves, another rank was waited for.
struct PathChain {
  int rank = 0;
  double begin_s = 0, seconds = 0;
  std::vector<PathEvent> events;  // the longest, in order of time
  double left_out_s = 0;          // of its other events

  bool operator==(const PathChain&) const = default;
};

struct CriticalPath {
  Words words;
  std::vector<PathPart> parts;  // from the first to the last event; seconds sum to the step time
  std::map<std::string, double> by_kind, by_dimension, by_wire, by_phase;
  std::map<int, double> by_rank, by_stage, by_layer;  // stage and layer of the op, -1: it has none
  std::vector<PathChain> chains;                      // the longest first
};

// Communication of one kind, s, mean over GPUs: whether it moves under compute (hidden) or not (exposed), and whether
// the end of the step depends on it. Slack: how long an event could grow without moving the end. A hidden transfer with
// slack costs nothing; a hidden one without slack only moves the waiting: what it delays waits elsewhere.
struct OverlapRow {
  std::string name, dimension;
  double hidden_free_s = 0, hidden_critical_s = 0;
  double exposed_free_s = 0, exposed_critical_s = 0;
  double mean_slack_s = 0;  // of its calls

  bool operator==(const OverlapRow&) const = default;
};

struct Roofline {  // of the worst rank; a wire's seconds are those of its busiest shared link where that needs more
  int rank = 0;
  double compute_s = 0, hbm_s = 0;
  std::vector<double> wire_s;  // [tier]
  std::string bound;           // "compute", "hbm", or a tier's name
};

// What a resource that is faster by 1 % does to the step: -(dT/T)/(dx/x), measured by simulating again.
struct Elasticity {
  std::string resource;  // "compute", "hbm", each tier's name, "latency"
  double value = 0;
  double saved_by_10_percent_s = 0;  // estimate: elasticity x T x (1 - 1/1.1)
};

// Elasticity to compute, HBM and kernel starts together, and to all wires and latency together.
struct Together {
  double compute = 0, communication = 0;

  bool operator==(const Together&) const = default;
};

struct Verdict {
  std::string bound;     // "compute" | "communication" | "unknown" (when elasticities were not asked for)
  std::string resource;  // the resource of the largest elasticity on the side that binds
  std::vector<Elasticity> elasticities;
  std::string text;  // one or two sentences, in words
  // Elasticity to all of a side at once, where it was measured; else what its resources' add up to stands for it.
  std::optional<Together> together = {};
};

struct EngineFacts {
  std::string name, detail;
  bool folded = false;
  std::size_t representatives = 0;
  std::uint64_t events = 0;
  double wall_s = 0;
  double peak_rss_bytes = 0;
};

struct Report {
  InputNames inputs;
  double step_time_s = 0;
  double steady_period_s = 0;  // of steps in a row, where it is less than one alone takes; 0: it is not
  StepFacts facts;
  std::vector<std::string> tiers;
  std::vector<RankRow> ranks;
  std::vector<CollectiveRow> collectives;
  std::vector<LinkRow> links;            // busiest first
  std::vector<WaitRow> waits;            // by rank, the longest first
  std::map<std::string, double> phases;  // seconds of compute by phase, summed over ranks weighted by count / GPUs
  std::vector<PassRow> passes;           // by stage
  std::optional<SpeedOfLight> speed_of_light;  // where it was asked for
  CriticalPath critical_path;
  std::vector<OverlapRow> overlap;  // most communication first
  Roofline roofline;
  std::vector<MemoryTimeline> memory_timeline;  // of the first rank of each stage
  std::vector<FittingChange> fitting_changes;   // of a plan that does not fit, where they were looked for
  Verdict verdict;
  EngineFacts engine;
  std::vector<std::string> warnings;  // guardrails included
};

// Everything but the verdict's elasticities, which need further simulations (see judge).
Report analyse(const StepGraph& graph, const Timeline& timeline, const InputNames& inputs, const StepFacts& facts);

// The split of a step for each rank of the graph (compute + exposed + wait + bubble = T): metrics.cpp.
std::vector<RankRow> split_ranks(const StepGraph& graph, const Timeline& timeline);
std::vector<CollectiveRow> collect_collectives(const StepGraph& graph, const Timeline& timeline);
std::vector<WaitRow> who_waits(const StepGraph& graph, const Timeline& timeline, const StepIndex& index);
std::vector<LinkRow> collect_links(const StepGraph& graph, const Timeline& timeline);
CriticalPath critical_path(const StepGraph& graph, const Timeline& timeline, const StepIndex& index);
std::vector<OverlapRow> collect_overlap(const StepGraph& graph, const Timeline& timeline, const StepIndex& index);
Roofline roofline_of(const std::vector<RankRow>& ranks, const std::vector<std::string>& tiers);
inline std::vector<WaitRow> who_waits(const StepGraph& graph, const Timeline& timeline) { return who_waits(graph, timeline, StepIndex(graph)); }
inline CriticalPath critical_path(const StepGraph& graph, const Timeline& timeline) { return critical_path(graph, timeline, StepIndex(graph)); }
inline std::vector<OverlapRow> collect_overlap(const StepGraph& graph, const Timeline& timeline) { return collect_overlap(graph, timeline, StepIndex(graph)); }
// An oversubscribed switch can bind although no port does: takes links without owner into account.
void add_shared_links(Roofline& roofline, const StepGraph& graph, const Timeline& timeline);

// Compute, HBM and kernel starts; the others are communication.
bool is_compute_resource(const std::string& resource);

// Fills in report.verdict from measured elasticities (resource -> value); an empty map leaves it "unknown".
void judge(Report& report, const std::map<std::string, double>& elasticities, const std::optional<Together>& together = {});

// Memory of each stage's first rank over the step, from the times of its passes: states and buffers throughout, what a
// forward pass keeps from its start until its backward pass has ended. At most `most_points` points a stage; of points
// that lie closer, the highest and the lowest stay, so that peaks are never lost.
std::vector<MemoryTimeline> memory_timeline(const StepGraph& graph, const Timeline& timeline, const std::vector<PassMemory>& passes,
                                            int most_points = 500);

std::vector<PassRow> pass_rows(const StepGraph& graph, const Timeline& timeline, const std::vector<PassMemory>& passes);

// Writers.
std::string to_text(const Report& report);                     // fits 100 columns
std::string to_json(const Report& report);                     // schema stepsim.report/1
std::string to_csv(const Report& report);                      // a row a rank
std::string memory_text(const Report& report);                 // of a memory_report: tables of what stands in memory
std::string memory_to_json(const Report& report);              // schema stepsim.memory/1
std::string memory_to_csv(const Report& report);               // a row a pipeline rank
std::string compare_text(const std::vector<Report>& reports);  // a row a plan, the verdict of each, the winner
std::string compare_json(const std::vector<Report>& reports);  // {"schema": "stepsim.compare/1", "reports": [...], ...}
std::string compare_csv(const std::vector<Report>& reports);
// Inverse of to_json, for reports that cross processes or files. Throws std::invalid_argument on any other text.
Report report_from_json(const std::string& text);

}  // namespace stepsim
