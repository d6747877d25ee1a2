#include "workloads/fit.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <functional>
#include <optional>

#include "workloads/check.hpp"
#include "workloads/plan_schedule.hpp"
#include "workloads/step.hpp"

namespace stepsim {
namespace {

struct Remedy {
  std::vector<std::string> sets;
  std::function<void(ParallelPlan&)> apply;
};
using Remedies = std::vector<Remedy>;

std::string list_of(const std::set<Module>& modules) {
  std::vector<std::string_view> names;
  for (const Module module : modules) names.push_back(to_text(module));
  return fmt::format("plan.recompute=[{}]", fmt::join(names, ", "));
}

void add_recompute(Remedies& changes, const ParallelPlan& plan, const ModelSpec& model) {
  if (plan.recompute.full) return;
  std::vector<Module> modules{Module::norm, Module::swiglu, Module::attention, Module::ffn};
  if (model.attention.kind == Attention::Kind::mla) modules.push_back(Module::mla_up);
  if (model.experts.count > 0) modules.push_back(Module::experts);
  std::erase_if(modules, [&](Module m) { return plan.recompute.modules.contains(m); });
  // Every one, two or three more, and everything.
  for (unsigned bits = 1; bits < 1U << modules.size(); ++bits) {
    std::set<Module> chosen = plan.recompute.modules;
    int more = 0;
    for (std::size_t i = 0; i < modules.size(); ++i) {
      if ((bits >> i & 1U) == 0) continue;
      chosen.insert(modules[i]);
      ++more;
    }
    if (more > 3) continue;
    changes.push_back({{list_of(chosen)}, [chosen](ParallelPlan& p) { p.recompute.modules = chosen; }});
  }
  changes.push_back({{"plan.recompute=full"}, [](ParallelPlan& p) { p.recompute = {.full = true, .modules = {}}; }});
}

// One degree times 2, 4, 8 and so on.
void add_degree(Remedies& changes, const ParallelPlan& plan, const char* key, int Parallel::*degree, int most = 8) {
  for (int factor = 2; factor <= most; factor *= 2) {
    const int value = plan.parallel.*degree * factor;
    changes.push_back({{fmt::format("plan.parallel.{}={}", key, value)}, [=](ParallelPlan& p) { p.parallel.*degree = value; }});
  }
}

void add_parallel(Remedies& changes, const ParallelPlan& plan, const ModelSpec& model, const ClusterSpec& cluster) {
  const Parallel& p = plan.parallel;
  for (int zero = p.zero + 1; zero <= 3; ++zero) {
    changes.push_back({{fmt::format("plan.parallel.zero={}", zero)}, [zero](ParallelPlan& q) { q.parallel.zero = zero; }});
  }
  if (p.zero_group != 0) {
    changes.push_back({{"plan.parallel.zero_group=all"}, [](ParallelPlan& q) { q.parallel.zero_group = 0; }});
  }
  if (p.tensor > 1 && !p.sequence) {
    changes.push_back({{"plan.parallel.sequence=true"}, [](ParallelPlan& q) { q.parallel.sequence = true; }});
  }
  for (int tensor = 2 * p.tensor; tensor <= cluster.gpus_per_node; tensor *= 2) {
    changes.push_back({{fmt::format("plan.parallel.tensor={}", tensor), "plan.parallel.sequence=true"},
                       [tensor](ParallelPlan& q) {
                         q.parallel.tensor = tensor;
                         q.parallel.sequence = true;
                       }});
  }
  add_degree(changes, plan, "pipeline", &Parallel::pipeline);
  add_degree(changes, plan, "context", &Parallel::context);
  if (model.experts.count > 0) add_degree(changes, plan, "expert", &Parallel::expert, 64);
  if (p.zero == 3 && plan.overlap.gather_prefetch > 0) {
    changes.push_back({{"plan.overlap.gather_prefetch=0"}, [](ParallelPlan& q) { q.overlap.gather_prefetch = 0; }});
  }
  if (p.zero == 3 && !p.reshard_after_forward) {
    changes.push_back({{"plan.parallel.reshard_after_forward=true"},
                       [](ParallelPlan& q) { q.parallel.reshard_after_forward = true; }});
  }
}

void add_batch_and_schedule(Remedies& changes, const ParallelPlan& plan) {
  for (int sequences = plan.batch.microbatch_sequences / 2; sequences >= 1; sequences /= 2) {
    changes.push_back({{fmt::format("plan.batch.microbatch_sequences={}", sequences)},
                       [sequences](ParallelPlan& p) { p.batch.microbatch_sequences = sequences; }});
  }
  if (plan.parallel.pipeline == 1) return;
  for (const ScheduleKind& kind : schedules()) {
    const std::string name(kind.name);
    if (name == plan.schedule) continue;
    const auto apply = [name](ParallelPlan& p) {
      p.schedule = name;
      p.passes.reset();
      p.passes_origin.clear();
      p.parallel.virtual_stages = 1;
    };
    std::vector<std::string> sets{"plan.schedule=" + name};
    if (plan.parallel.virtual_stages > 1) sets.emplace_back("plan.parallel.virtual_stages=1");
    changes.push_back({std::move(sets), apply});
  }
}

void add_formats(Remedies& changes, const ParallelPlan& plan) {
  const auto offer = [&](const char* key, Precision Precisions::*which, Precision to) {
    if (bytes_per_element(to) >= bytes_per_element(plan.precision.*which)) return;
    changes.push_back({{fmt::format("plan.precision.{}={}", key, to_text(to))}, [=](ParallelPlan& p) { p.precision.*which = to; }});
  };
  offer("moments", &Precisions::moments, Precision::bf16);
  offer("gradients", &Precisions::gradients, Precision::bf16);
  if (plan.precision.linear == Precision::fp8) {
    offer("activations", &Precisions::activations, Precision::fp8);
    offer("weights", &Precisions::weights, Precision::fp8);
  }
}

Remedies changes_of(const ModelSpec& model, const ClusterSpec& cluster, const ParallelPlan& plan) {
  Remedies changes;
  add_recompute(changes, plan, model);
  add_parallel(changes, plan, model, cluster);
  add_batch_and_schedule(changes, plan);
  add_formats(changes, plan);
  return changes;
}

// Two changes at once, but not of the same key. Recompute goes with others module by module, or in full.
std::vector<std::pair<const Remedy*, const Remedy*>> pairs_of(const Remedies& changes) {
  const auto key = [](const Remedy& change) { return change.sets[0].substr(0, change.sets[0].find('=')); };
  const auto many = [](const Remedy& change) { return change.sets[0].find(", ") != std::string::npos; };
  std::vector<std::pair<const Remedy*, const Remedy*>> pairs;
  for (std::size_t i = 0; i < changes.size(); ++i) {
    for (std::size_t j = i + 1; j < changes.size(); ++j) {
      if (key(changes[i]) == key(changes[j]) || many(changes[i]) || many(changes[j])) continue;
      pairs.emplace_back(&changes[i], &changes[j]);
    }
  }
  return pairs;
}

class Trials {
 public:
  Trials(const ModelSpec& model, const ClusterSpec& cluster, const ParallelPlan& plan)
      : model_(model), cluster_(cluster), plan_(plan) {
    plan_.parallel.data = 0;  // auto: changed degrees leave other ranks
    own_ = outline_step(model, cluster, plan, &known_).estimate();
  }

  // nullopt when the changed plan cannot run, or does not fit.
  std::optional<FittingChange> attempt(const std::vector<const Remedy*>& changes) {
    ParallelPlan plan = plan_;
    FittingChange result;
    for (const Remedy* change : changes) {
      change->apply(plan);
      result.sets.insert(result.sets.end(), change->sets.begin(), change->sets.end());
    }
    if (!check(model_, cluster_, plan, {}).empty()) return std::nullopt;
    plan = resolve(plan, cluster_);
    for (const MemoryUse& use : plan_memory(model_, cluster_, plan)) result.peak = std::max(result.peak, use.total());
    if (result.peak > cluster_.gpu.memory) return std::nullopt;
    result.slower = outline_step(model_, cluster_, plan, &known_).estimate() / own_ - 1;
    return result;
  }

 private:
  const ModelSpec& model_;
  const ClusterSpec& cluster_;
  ParallelPlan plan_;
  StatePatterns known_;
  Seconds own_;
};

}  // namespace

std::vector<FittingChange> fitting_changes(const ModelSpec& model, const ClusterSpec& cluster, const ParallelPlan& plan,
                                           std::size_t most) {
  const Remedies changes = changes_of(model, cluster, plan);
  Trials trials(model, cluster, plan);
  std::vector<FittingChange> fitting;
  const auto attempt = [&](const std::vector<const Remedy*>& chosen) {
    if (std::optional<FittingChange> change = trials.attempt(chosen)) fitting.push_back(std::move(*change));
  };
  for (const Remedy& change : changes) attempt({&change});
  if (fitting.empty()) {
    for (const auto& [first, second] : pairs_of(changes)) attempt({first, second});
  }
  std::stable_sort(fitting.begin(), fitting.end(), [](const auto& a, const auto& b) { return a.slower < b.slower; });
  if (fitting.size() > most) fitting.resize(most);
  return fitting;
}

}  // namespace stepsim
