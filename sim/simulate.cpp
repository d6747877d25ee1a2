#include "sim/simulate.hpp"

#include <sys/resource.h>

#include <chrono>
#include <cmath>

#include <fmt/format.h>

#include "sim/engine/child.hpp"
#include "sim/engine/engine.hpp"
#include "sim/graph/fold.hpp"
#include "workloads/plan_schedule.hpp"

namespace stepsim {
namespace {

constexpr double kFaster = 1.01;

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
  names.schedule = in.plan.schedule;
  names.rates = in.plan.rates == Rates::speed_of_light ? "speed_of_light" : "calibrated";
  names.detail = to_text(options.detail);
  names.engine = options.engine;
  names.overrides = in.overrides;
  names.gpus = in.cluster.ranks();
  names.nodes = in.cluster.nodes;
  names.parallelism = parallelism_of(in.plan);
  for (const auto& [what, path] : in.files) names.files[what] = path;
  return names;
}

std::vector<std::pair<std::string, double>> by_kind(const MemoryUse& m) {
  return {{"weights", m.weights.value},         {"gradients", m.gradients.value}, {"master", m.master.value},
          {"moments", m.moments.value},         {"activations", m.activations.value},
          {"transient", m.transient.value},     {"unsharded", m.unsharded.value}, {"buffers", m.buffers.value}};
}

StepFacts facts_of(const Inputs& in, const Step& step, const StepGraph& graph) {
  StepFacts facts;
  facts.tokens_per_step = step.tokens;
  facts.model_flops_per_step = step.model_flops;
  facts.hardware_flops_per_step = step.hardware_flops;
  facts.peak_flops_per_gpu = in.cluster.gpu.bf16_peak.value;
  facts.flops_convention =
      fmt::format("matmul FLOPs of forward + 2 x forward, causal attention (half the scores), over the BF16 data-sheet peak "
                  "of {:.0f} TFLOP/s; HFU adds recompute",
                  in.cluster.gpu.bf16_peak.value / 1e12);
  facts.gpu_memory_bytes = in.cluster.gpu.memory.value;
  for (const Rank& rank : graph.ranks) facts.memory.push_back(by_kind(step.memory[step.pipeline_rank[rank.original]]));
  return facts;
}

double peak_rss() {
  struct rusage self{}, children{};
  getrusage(RUSAGE_SELF, &self);
  getrusage(RUSAGE_CHILDREN, &children);
  return 1024.0 * static_cast<double>(std::max(self.ru_maxrss, children.ru_maxrss));
}

StepGraph folded(StepGraph graph, bool wanted) { return wanted ? fold(graph).graph : std::move(graph); }

}  // namespace

ClusterSpec with_faster(ClusterSpec cluster, const std::string& resource, double factor) {
  Gpu& gpu = cluster.gpu;
  if (resource == "compute") {
    for (FlopsPerSecond* rate : {&gpu.bf16, &gpu.fp8, &gpu.fp32}) *rate *= factor;
  } else if (resource == "hbm") {
    gpu.hbm *= factor;
  } else if (resource == "latency") {
    for (Seconds& latency : cluster.latency) latency /= factor;
  } else {
    if (resource == cluster.tiers.front()) gpu.nvls.bus_bandwidth *= factor;
    for (std::size_t l = 0; l < cluster.bandwidth.size(); ++l) {
      if (cluster.tiers[cluster.link_tier[l]] == resource) cluster.bandwidth[l] *= factor;
    }
  }
  return cluster;
}

std::map<std::string, double> measure_elasticities(const Inputs& inputs, const Options& options, double step_time) {
  std::vector<std::string> resources = {"compute", "hbm"};
  resources.insert(resources.end(), inputs.cluster.tiers.begin(), inputs.cluster.tiers.end());
  resources.push_back("latency");
  SharedArray<double> times(resources.size());
  std::vector<std::function<void()>> works;
  for (std::size_t i = 0; i < resources.size(); ++i) {
    works.push_back([&, i] {
      const ClusterSpec faster = with_faster(inputs.cluster, resources[i], kFaster);
      const Step step = make_step(inputs.model, faster, inputs.plan, options.detail, &inputs.cluster);
      times[i] = make_engine(options.engine)->run(folded(step.graph, options.fold)).end;
    });
  }
  run_in_children(works, options.jobs);
  std::map<std::string, double> elasticities;
  for (std::size_t i = 0; i < resources.size(); ++i) {
    elasticities[resources[i]] = -std::log(times[i] / step_time) / std::log(kFaster);
  }
  return elasticities;
}

Simulation simulate(const Inputs& inputs, const Options& options) {
  const auto begin = std::chrono::steady_clock::now();
  Step step = make_step(inputs.model, inputs.cluster, inputs.plan, options.detail);
  Simulation out;
  out.graph = folded(std::move(step.graph), options.fold);
  out.timeline = make_engine(options.engine)->run(out.graph);
  out.report = analyse(out.graph, out.timeline, names_of(inputs, options), facts_of(inputs, step, out.graph));
  // What-if runs keep the passes: they need not be looked for again.
  Inputs kept = inputs;
  if (is_automatic(kept.plan)) kept.plan.passes = step.schedule;
  judge(out.report, options.elasticities ? measure_elasticities(kept, options, out.timeline.end)
                                         : std::map<std::string, double>{});
  const std::chrono::duration<double> wall = std::chrono::steady_clock::now() - begin;
  out.report.engine = {options.engine, out.report.inputs.detail, options.fold, out.graph.ranks.size(), out.timeline.events,
                       wall.count(), peak_rss()};
  return out;
}

}  // namespace stepsim
