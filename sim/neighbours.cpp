#include "sim/neighbours.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "workloads/plan_schedule.hpp"

namespace stepsim {
namespace {

class Neighbours {
 public:
  explicit Neighbours(const Inputs& inputs) : inputs_(inputs), plan_(inputs.plan) {}

  std::vector<Alternative> all() {
    degrees();
    schedule();
    states();
    recompute();
    precisions();
    overlap();
    algorithms();
    batch();
    return std::move(changes_);
  }

 private:
  void add(const std::string& kind, const std::string& text, std::vector<std::string> overrides) {
    Alternative change;
    change.kind = kind;
    change.text = text;
    for (std::string& o : overrides) change.overrides.push_back("plan." + std::move(o));
    changes_.push_back(std::move(change));
  }
  void set(const std::string& kind, const std::string& key, const std::string& value) {
    const std::string name = key.substr(key.find('.') + 1);
    add(kind, fmt::format("{} {}", name, value), {fmt::format("{}={}", key, value)});
  }
  template <class Values>
  void others(const std::string& kind, const std::string& key, const std::string& now, const Values& values) {
    for (const std::string& value : values) {
      if (value != now) set(kind, key, value);
    }
  }

  // Data parallelism takes up what the others leave; layers are spread anew.
  void degree(const std::string& name, int now) {
    for (const int value : {now * 2, now / 2}) {
      if (value < 1 || value == now) continue;
      std::vector<std::string> overrides = {fmt::format("parallel.{}={}", name, value), "parallel.data=auto"};
      if (!plan_.stage_layers.empty() && (name == "pipeline" || name == "virtual_stages")) overrides.emplace_back("stage_layers=auto");
      add(name, fmt::format("{} {} instead of {}", name, value, now), overrides);
    }
  }
  void degrees() {
    const Parallel& p = plan_.parallel;
    degree("pipeline", p.pipeline);
    degree("tensor", p.tensor);
    degree("context", p.context);
    if (inputs_.model.experts.count > 0) {
      degree("expert", p.expert);
      degree("expert_tensor", p.expert_tensor);
    }
    if (p.pipeline > 1) degree("virtual_stages", p.virtual_stages);
    if (p.tensor > 1) set("tensor", "parallel.sequence", p.sequence ? "false" : "true");
    if (p.context > 1) {
      for (const std::string_view method : kContextMethods) {
        if (method != to_text(p.context_method)) set("context", "parallel.context_method", std::string(method));
      }
    }
  }

  // Pairs of passes exist only in some schedules: with another one, experts go on asynchronously, as far as they can.
  void schedule() {
    if (plan_.parallel.pipeline == 1) return;
    const bool paired = plan_.overlap.expert == Overlap::Policy::paired;
    for (const auto& [name, about] : schedule_choices()) {
      if (name == plan_.schedule || names_a_file(name)) continue;
      if (paired) add("schedule", fmt::format("schedule {}, experts async", name), {"schedule=" + name, "overlap.expert=async"});
      add("schedule", fmt::format("schedule {}", name), {"schedule=" + name});
    }
  }

  void states() {
    const Parallel& p = plan_.parallel;
    others("zero", "parallel.zero", std::to_string(p.zero), std::vector<std::string>{"0", "1", "2", "3"});
    if (p.zero > 0) {
      const std::string now = p.zero_group == 0 ? "all" : p.zero_group == -1 ? "node" : std::to_string(p.zero_group);
      others("zero", "parallel.zero_group", now, std::vector<std::string>{"all", "node"});
    }
    if (p.zero < 3) return;
    set("zero", "parallel.reshard_after_forward", p.reshard_after_forward ? "false" : "true");
    const int ahead = plan_.overlap.gather_prefetch;
    set("prefetch", "overlap.gather_prefetch", std::to_string(ahead + 1));
    if (ahead > 0) set("prefetch", "overlap.gather_prefetch", std::to_string(ahead - 1));
  }

  void recompute() {
    const Recompute& now = plan_.recompute;
    if (now.full || !now.modules.empty()) set("recompute", "recompute", "none");
    if (!now.full) set("recompute", "recompute", "full");
    if (now.full) return;
    for (const Module module : {Module::norm, Module::attention, Module::mla_up, Module::swiglu, Module::ffn, Module::experts}) {
      std::vector<std::string_view> modules;
      for (const Module kept : now.modules) {
        if (kept != module) modules.push_back(to_text(kept));
      }
      const bool drops = now.modules.contains(module);
      if (!drops) modules.push_back(to_text(module));
      const std::string list = modules.empty() ? "none" : fmt::format("[{}]", fmt::join(modules, ", "));
      add("recompute", fmt::format("{} {} recomputed", to_text(module), drops ? "not" : "also"), {"recompute=" + list});
    }
  }

  void precisions() {
    const Precisions& p = plan_.precision;
    const std::vector<std::string> compute = {"bf16", "fp8"}, wire = {"bf16", "fp8"}, sums = {"fp32", "bf16"};
    const auto of = [&](const std::string& key, Precision now, const std::vector<std::string>& values) {
      for (const std::string& value : values) {
        if (value != to_text(now)) add("precision", fmt::format("{} in {}", key, value), {fmt::format("precision.{}={}", key, value)});
      }
    };
    of("linear", p.linear, compute);
    of("activations", p.activations, compute);
    of("gather", p.gather, wire);
    of("reduce", p.reduce, sums);
    of("pipeline", p.pipeline, wire);
    of("gradients", p.gradients, sums);
    of("moments", p.moments, sums);
    if (inputs_.model.experts.count == 0) return;
    of("dispatch", p.dispatch, wire);
    of("combine", p.combine, wire);
  }

  void policy(const std::string& key, Overlap::Policy now, bool pairs) {
    std::vector<std::string> values = {"blocking", "async"};
    if (pairs) values.emplace_back("paired");
    const std::vector<std::string> names = {"blocking", "async", "paired"};
    for (const std::string& value : values) {
      if (value != names[static_cast<std::size_t>(now)]) {
        add("overlap", fmt::format("overlap of {} {}", key, value), {fmt::format("overlap.{}={}", key, value)});
      }
    }
  }
  void overlap() {
    const Overlap& o = plan_.overlap;
    const Parallel& p = plan_.parallel;
    if (p.tensor > 1) {
      policy("tensor", o.tensor, false);
      for (const int chunks : {1, 4}) {
        if (chunks == o.tensor_chunks) continue;
        add("overlap", chunks == 1 ? "tensor GEMMs whole" : "tensor GEMMs in 4 pieces, async",
            {fmt::format("overlap.tensor_chunks={}", chunks), "overlap.tensor=async"});
      }
    }
    if (p.context > 1) policy("context", o.context, false);
    if (p.expert > 1) policy("expert", o.expert, true);
    if (p.pipeline > 1) policy("pipeline", o.pipeline, false);
    const bool async = o.reduce == Overlap::Reduce::async;
    add("overlap", fmt::format("overlap of reduce {}", async ? "at_end" : "async"),
        {fmt::format("overlap.reduce={}", async ? "at_end" : "async")});
    if (plan_.sms.communication == 0) return;
    const bool shared = plan_.sms.policy == SmUse::Sharing::shared;
    add("SMs", fmt::format("SMs {}", shared ? "partitioned" : "shared"), {fmt::format("sms.policy={}", shared ? "partition" : "shared")});
    add("SMs", "no SMs for communication", {"sms.communication=0"});
  }

  void algorithms() {
    const auto of = [&](Operation operation, const std::string& now) {
      const std::string key(to_text(operation));
      for (const Algorithm& a : stepsim::algorithms()) {
        if (a.operation != operation || a.name == now) continue;
        add("algorithm", fmt::format("{} {}", key, a.name), {fmt::format("collectives.{}={}", key, a.name)});
      }
    };
    of(Operation::all_gather, plan_.collectives.all_gather);
    of(Operation::reduce_scatter, plan_.collectives.reduce_scatter);
    of(Operation::all_reduce, plan_.collectives.all_reduce);
    if (plan_.parallel.expert > 1 || plan_.parallel.context > 1) of(Operation::all_to_all, plan_.collectives.all_to_all);
  }

  void batch() {
    const int now = plan_.batch.microbatch_sequences;
    for (const int value : {now * 2, now / 2}) {
      if (value >= 1) add("batch", fmt::format("{} sequences a microbatch", value), {fmt::format("batch.microbatch_sequences={}", value)});
    }
  }

  const Inputs& inputs_;
  const ParallelPlan& plan_;
  std::vector<Alternative> changes_;
};

}  // namespace

std::vector<Alternative> neighbours(const Inputs& inputs) { return Neighbours(inputs).all(); }

}  // namespace stepsim
