#include "sim/simulate.hpp"

#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <cmath>

#include <fmt/format.h>

#include "sim/engine/child.hpp"
#include "sim/engine/engine.hpp"
#include "sim/folded_step.hpp"
#include "sim/graph/fold.hpp"
#include "sim/graph/repeat.hpp"
#include "sim/memory_report.hpp"
#include "sim/report/derived.hpp"
#include "sim/report/text_folding.hpp"
#include "sim/settle.hpp"

namespace stepsim {
namespace {

constexpr double kFaster = 1.01, kMuchFaster = 1.1;

std::string parallelism_of(const ParallelPlan& plan) {
  const Parallel& p = plan.parallel;
  std::string text;
  const auto add = [&](const char* name, int degree) {
    if (degree > 1) text += fmt::format("{}{}{}", text.empty() ? "" : " x ", name, degree);
  };
  add("TP", p.tensor);
  add("CP", p.context);
  add("PP", p.pipeline);
  add("EP", p.expert);
  add("ETP", p.expert_tensor);
  add("DP", p.data);
  return fmt::format("{}{}ZeRO-{}", text, text.empty() ? "" : ", ", p.zero);
}

InputNames names_of(const Inputs& in, const Options& options) {
  InputNames names;
  names.experiment = in.name;
  names.model = in.model.name;
  names.cluster = in.cluster.name;
  names.plan = in.plan.name;
  names.scenario = in.scenario;
  const std::string& found = in.plan.passes_origin;
  names.schedule = found.empty() || found == in.plan.schedule ? in.plan.schedule : fmt::format("{} ({})", in.plan.schedule, found);
  names.rates = in.plan.rates == Rates::speed_of_light ? "speed_of_light" : "calibrated";
  names.detail = to_text(options.detail);
  names.engine = options.engine;
  for (const Override& set : in.set) {
    const bool replaced = std::any_of(in.overrides.begin(), in.overrides.end(), [&](const std::string& o) { return o.starts_with(set.key + "="); });
    if (!replaced) names.overrides.push_back(set.key + "=" + set.value);
  }
  names.overrides.insert(names.overrides.end(), in.overrides.begin(), in.overrides.end());
  names.gpus = in.cluster.ranks();
  names.nodes = in.cluster.nodes;
  names.parallelism = parallelism_of(in.plan);
  for (const auto& [what, path] : in.files) names.files[what] = path;
  return names;
}

StepFacts facts_of(const Inputs& in, const Step& step, const StepGraph& graph) {
  StepFacts facts;
  facts.tokens_per_step = step.tokens;
  facts.model_flops_per_step = step.model_flops;
  facts.hardware_flops_per_step = step.hardware_flops;
  facts.peak_flops_per_gpu = in.cluster.gpu.bf16_peak.value;
  facts.flops_convention =
      fmt::format("matmul FLOPs of forward + 2 x forward, causal attention (half the scores), over the BF16 data-sheet peak "
                  "of {:.0f} TFLOP/s; HFU adds what is computed again (recompute, flash attention's backward)",
                  in.cluster.gpu.bf16_peak.value / 1e12);
  facts.warnings = in.notes;
  std::vector<int> pipeline_ranks;
  for (const Rank& rank : graph.ranks) pipeline_ranks.push_back(step.pipeline_rank[rank.original]);
  add_memory(facts, in, step.schedule, step.memory, pipeline_ranks);
  return facts;
}

double peak_rss() {
  struct rusage self{}, children{};
  getrusage(RUSAGE_SELF, &self);
  getrusage(RUSAGE_CHILDREN, &children);
  return 1024.0 * static_cast<double>(std::max(self.ru_maxrss, children.ru_maxrss));
}

std::string explained(const StepGraph& graph) {
  return folds(graph) ? folding_text(explain_folding(graph))
                      : "Folding: with jitter every event has a length of its own, so all ranks are simulated.\n";
}

// Closed forms price a call once, with links as they are at the start.
void refuse_blind_detail(const Inputs& in, const Options& options) {
  if (options.detail != Detail::formula) return;
  const bool down = std::any_of(in.cluster.bandwidth.begin(), in.cluster.bandwidth.end(), [](BytesPerSecond b) { return b.value <= 0; });
  if (!down && in.cluster.bandwidth_changes.empty() && in.cluster.reroutings.empty()) return;
  throw InputError({{"", 0, "scenario.links",
                     "links are down or change during the step, which --detail formula cannot see; use --detail aggregate"}});
}

Timeline run(const StepGraph& graph, const std::string& engine) {
  try {
    return make_engine(engine)->run(graph);
  } catch (const StuckError& e) {
    throw InputError({{"", 0, "scenario.links", e.what()}});
  }
}

// Whether contention can only make a step longer: not where what runs depends on when (SMs that transfers take away from
// whatever computes then, links and speeds that change).
bool grows_with_contention(const StepGraph& graph) {
  const bool changes = std::any_of(graph.links.begin(), graph.links.end(), [](const GraphLink& l) { return !l.capacity_changes.empty(); }) ||
                       std::any_of(graph.ranks.begin(), graph.ranks.end(), [](const Rank& r) { return !r.speed_changes.empty(); });
  return graph.sms == 0 && !changes && graph.reroutings.empty() && graph.jitter == Jitter{};
}

}  // namespace

std::optional<Report> brief_report(const Inputs& inputs, const Options& options, double limit_s) {
  constexpr double kRounding = 1 - 1e-9;
  refuse_blind_detail(inputs, options);
  const Step step = folded_step(inputs, options);
  const StepGraph& graph = step.graph;
  if (std::isfinite(limit_s) && grows_with_contention(graph) && run(graph, "ideal").end * kRounding > limit_s) return std::nullopt;
  Report report;
  report.step_time_s = run(graph, options.engine).end;
  report.inputs = names_of(inputs, options);
  report.facts = facts_of(inputs, step, graph);
  report.tiers = graph.tiers;
  for (std::size_t r = 0; r < graph.ranks.size(); ++r) {
    RankRow& row = report.ranks.emplace_back();
    row.rank = graph.ranks[r].original;
    row.count = graph.ranks[r].count;
    for (const auto& [kind, bytes] : report.facts.memory[r]) row.peak_memory_bytes += bytes;
  }
  return report;
}

std::vector<std::string> resources_of(const ClusterSpec& cluster) {
  std::vector<std::string> names{"compute", "hbm"};
  if (cluster.gpu.rates == Rates::calibrated || cluster.gpu.launch_gap.value > 0) names.emplace_back("starts");
  names.insert(names.end(), cluster.tiers.begin(), cluster.tiers.end());
  names.emplace_back("latency");
  return names;
}

ClusterSpec with_faster(ClusterSpec cluster, const std::string& resource, double factor) {
  if (resource == kAllCommunication) {
    for (const std::string& one : resources_of(cluster)) {
      if (!is_compute_resource(one)) cluster = with_faster(std::move(cluster), one, factor);
    }
    return cluster;
  }
  Gpu& gpu = cluster.gpu;
  if (resource == "compute") {
    gpu.compute_speed *= factor;
  } else if (resource == "hbm") {
    gpu.hbm *= factor;
  } else if (resource == "starts") {
    CalibratedRates& c = gpu.calibrated;
    for (Seconds* start : {&gpu.launch_gap, &c.memory_start}) *start /= factor;
    for (GemmRates* rates : {&c.bf16, &c.fp8, &c.grouped_bf16, &c.grouped_fp8}) {
      rates->start /= factor;
      rates->group /= factor;
    }
    for (AttentionPasses* passes : {&c.flash, &c.flash2}) {
      passes->forward.start /= factor;
      passes->backward.start /= factor;
    }
  } else if (resource == "latency") {
    for (Seconds& latency : cluster.latency) latency /= factor;
    for (Seconds* latency : {&gpu.nvls.latency, &gpu.calibrated.node_steps.step, &gpu.calibrated.node_steps.fill}) *latency /= factor;
    for (RouteState& routing : cluster.routings) {
      for (Seconds& latency : routing.latency) latency /= factor;
    }
  } else {
    if (resource == cluster.tiers.front()) gpu.nvls.bus_bandwidth *= factor;
    for (std::size_t l = 0; l < cluster.bandwidth.size(); ++l) {
      if (cluster.tiers[cluster.link_tier[l]] == resource) cluster.bandwidth[l] *= factor;
    }
    for (auto& [link, changes] : cluster.bandwidth_changes) {
      if (cluster.tiers[cluster.link_tier[link]] != resource) continue;
      for (Change& change : changes) change.value *= factor;
    }
  }
  return cluster;
}

namespace {

// Of each group of resources at once.
std::vector<double> elasticities_at(const Inputs& inputs, const Options& options, double step_time, double factor,
                                    const std::vector<std::vector<std::string>>& groups) {
  SharedArray<double> times(groups.size());
  std::vector<std::function<void()>> works;
  for (std::size_t i = 0; i < groups.size(); ++i) {
    works.push_back([&, i] {
      simulate_here_next();
      ClusterSpec faster = inputs.cluster;
      for (const std::string& resource : groups[i]) faster = with_faster(std::move(faster), resource, factor);
      times[i] = make_engine(options.engine)->run(folded_step(inputs, options, faster, inputs.planned_on).graph).end;
    });
  }
  run_in_children(works, options.jobs);
  std::vector<double> elasticities;
  for (std::size_t i = 0; i < groups.size(); ++i) elasticities.push_back(-std::log(times[i] / step_time) / std::log(factor));
  return elasticities;
}

std::map<std::string, double> single_elasticities(const Inputs& inputs, const Options& options, double step_time, double factor) {
  const std::vector<std::string> resources = resources_of(inputs.cluster);
  std::vector<std::vector<std::string>> groups;
  for (const std::string& resource : resources) groups.push_back({resource});
  const std::vector<double> values = elasticities_at(inputs, options, step_time, factor, groups);
  std::map<std::string, double> single;
  for (std::size_t i = 0; i < resources.size(); ++i) single[resources[i]] = values[i];
  return single;
}

double sum_of(const std::map<std::string, double>& elasticities) {
  double sum = 0;
  for (const auto& [resource, value] : elasticities) sum += value;
  return sum;
}

// Everything faster by a factor makes a step faster by it: elasticities sum to 1, but for what is not scaled. Where events
// change their order the step jumps, and a small change says little about a large one.
bool jumps(const std::map<std::string, double>& elasticities) {
  const bool negative = std::any_of(elasticities.begin(), elasticities.end(), [](const auto& e) { return e.second < -0.02; });
  return negative || std::abs(sum_of(elasticities) - 1) > 0.15;
}

}  // namespace

Elasticities measure_elasticities(const Inputs& inputs, const Options& options, double step_time, std::vector<std::string>* warnings) {
  constexpr double kAddUp = 0.02, kSidesAddUp = 0.1;
  double factor = kFaster;
  Elasticities measured{single_elasticities(inputs, options, step_time, factor), {}};
  if (jumps(measured.single)) {
    factor = kMuchFaster;
    if (warnings != nullptr) {
      warnings->emplace_back("events change their order when resources become 1 % faster, so that the step jumps: elasticities are measured with "
                             "10 % instead");
    }
    measured.single = single_elasticities(inputs, options, step_time, factor);
  }
  if (std::abs(sum_of(measured.single) - 1) <= kAddUp) return measured;
  std::vector<std::vector<std::string>> sides(2);  // compute, communication
  for (const auto& [resource, value] : measured.single) sides[is_compute_resource(resource) ? 0 : 1].push_back(resource);
  // A side may jump where its resources one by one did not; what then adds up no better says nothing.
  std::vector<double> together;
  for (const double by : {factor, kMuchFaster}) {
    together = elasticities_at(inputs, options, step_time, by, sides);
    const double off = std::abs(together[0] + together[1] - 1);
    if (off <= kSidesAddUp && off < std::abs(sum_of(measured.single) - 1)) {
      measured.together = {together[0], together[1]};
      break;
    }
    if (factor == kMuchFaster) break;  // that was it
  }
  if (measured.together && warnings != nullptr) {
    warnings->push_back(fmt::format("the elasticities add up to {:.2f}: where that is not 1, resources bind together or hide behind each other; the "
                                    "verdict weighs all of compute ({:.2f}) against all of communication ({:.2f})",
                                    sum_of(measured.single), together[0], together[1]));
  }
  return measured;
}

namespace {

// When the first of the changes comes that happen at a time; nothing where there are none.
std::optional<double> first_change(const ClusterSpec& cluster) {
  std::optional<double> first;
  const auto see = [&](double time) { first = first ? std::min(*first, time) : time; };
  for (const auto& [link, changes] : cluster.bandwidth_changes) see(changes.front().time);
  for (const auto& [rank, changes] : cluster.speed_changes) see(changes.front().time);
  for (const Rerouting& rerouting : cluster.reroutings) see(rerouting.time);
  return first;
}

// Seconds a step when steps follow one another, where nothing makes all ranks wait for each other between two; 0 where it
// is the step's own time: with a norm of all gradients, or without a pipeline. Of four steps the mean of the last two, since
// the first ones still fill the pipeline. 0 as well where a step cannot end: whoever runs the step says why.
// In a process of its own, before this one simulates anything: it may be one that simulates only once.
double steady_period(const Inputs& inputs, const Options& options, const StepGraph& graph) {
  constexpr int kSteps = 4, kFirst = 2;
  if (inputs.plan.clip_gradients || inputs.plan.parallel.pipeline == 1 || !repeats(graph)) return 0;
  SharedArray<double> period(1);
  const std::function<void()> work = [&] {
    simulate_here_next();
    const StepGraph row = repeated(graph, kSteps);
    Timeline timeline;
    try {
      timeline = make_engine(options.engine)->run(row);
    } catch (const StuckError&) {
      return;
    }
    double before = 0;  // the end of the first ones
    for (std::size_t r = 0; r < row.ranks.size(); ++r) {
      const std::size_t ops = timeline.spans[r].size() / kSteps * kFirst;
      for (std::size_t i = 0; i < ops; ++i) before = std::max(before, timeline.spans[r][i].end);
    }
    period[0] = (timeline.end - before) / (kSteps - kFirst);
  };
  run_in_children({work}, 1);
  return period[0];
}

}  // namespace

Simulation simulate(const Inputs& given, const Options& options) {
  const auto begin = std::chrono::steady_clock::now();
  refuse_blind_detail(given, options);
  const Inputs inputs = settle(given, options);  // what-if runs keep the passes, too
  Simulation out;
  if (options.explain_folding) {
    out.folding = explained(make_step(inputs.model, inputs.cluster, inputs.plan, options.detail, &inputs.planned_on).graph);
  }
  Step step = folded_step(inputs, options);
  out.graph = std::move(step.graph);
  const bool folds_exactly = folds(out.graph);
  if (options.fold && folds_exactly) out.rank_kind = step.graph_rank;
  const double period = steady_period(inputs, options, out.graph);
  out.timeline = run(out.graph, options.engine);
  out.report = analyse(out.graph, out.timeline, names_of(inputs, options), facts_of(inputs, step, out.graph));
  out.report.steady_period_s = period < out.timeline.end * (1 - 1e-9) ? period : 0;
  if (const std::optional<double> first = first_change(inputs.cluster); first && *first > out.timeline.end) {
    out.report.warnings.push_back(fmt::format("what the scenario changes at {:.4g} s and later comes after the step's end: it is not felt", *first));
  }
  if (options.fold && !folds_exactly) {
    out.report.warnings.emplace_back("per-event jitter makes every rank its own: nothing was folded");
  }
  if (options.fitting_changes && !fits_in_memory(out.report)) {
    out.report.fitting_changes = fitting_changes(inputs.model, inputs.cluster, inputs.plan);
  }
  const Elasticities elasticities =
      options.elasticities ? measure_elasticities(inputs, options, out.timeline.end, &out.report.warnings) : Elasticities{};
  judge(out.report, elasticities.single, elasticities.together);
  const std::chrono::duration<double> wall = std::chrono::steady_clock::now() - begin;
  out.report.engine = {options.engine, out.report.inputs.detail, options.fold && folds_exactly, out.graph.ranks.size(), out.timeline.events,
                       wall.count(), peak_rss()};
  return out;
}

}  // namespace stepsim
