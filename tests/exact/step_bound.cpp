// The bound of a plan is never more than its simulated step, and its memory is the step's. Seeds are printed on
// failure.
#include "workloads/step_bound.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "sim/engine/engine.hpp"
#include "sim/graph/fold.hpp"
#include "support/shipped.hpp"
#include "workloads/plan_schedule.hpp"
#include "workloads/step.hpp"

namespace stepsim::step_bound_test {
template <class T>
T one_of(std::vector<T> values) {
  return *rc::gen::elementOf(std::move(values));
}

double simulated(const Step& step) {
  return make_simgrid_engine()->run(fold(step.graph).graph).end;
}

double peak(const Step& step) {
  double most = 0;
  for (const MemoryUse& use : step.memory) most = std::max(most, use.total().value);
  return most;
}

// A small model on 1 to 4 nodes; nullopt when the plan is refused.
std::optional<Inputs> random_inputs() {
  std::vector<std::string> schedules_known;
  for (const ScheduleKind& s : schedules()) schedules_known.emplace_back(s.name);
  const bool experts = *rc::gen::arbitrary<bool>();
  const int tensor = one_of<int>({1, 1, 2, 4});
  const std::string schedule = one_of(schedules_known);
  const bool pairs = schedule.starts_with("dualpipe");
  std::vector<std::string> sets = {
      fmt::format("cluster.nodes={}", one_of<int>({1, 2, 4})),
      "model.hidden=512",
      "model.ffn=1024",
      "model.vocabulary=4096",
      "model.heads=8",
      "model.kv_heads=8",
      fmt::format("model.layers={}", *rc::gen::inRange(8, 13)),
      fmt::format("plan.parallel.pipeline={}", one_of<int>({1, 2, 4})),
      fmt::format("plan.parallel.tensor={}", tensor),
      fmt::format("plan.parallel.sequence={}", tensor > 1 && *rc::gen::arbitrary<bool>()),
      fmt::format("plan.parallel.context={}", one_of<int>({1, 1, 2})),
      fmt::format("plan.parallel.expert={}", experts ? one_of<int>({1, 2, 4, 8}) : 1),
      fmt::format("plan.parallel.expert_tensor={}", experts ? one_of<int>({1, 1, 2}) : 1),
      fmt::format("plan.parallel.virtual_stages={}", schedule == "interleaved" ? one_of<int>({1, 2}) : 1),
      fmt::format("plan.parallel.zero={}", one_of<int>({0, 1, 2, 3})),
      fmt::format("plan.parallel.zero_group={}", one_of<std::string>({"all", "all", "2", "node"})),
      fmt::format("plan.batch.global_sequences={}", one_of<int>({32, 64})),
      fmt::format("plan.batch.microbatch_sequences={}", one_of<int>({1, 1, 2})),
      fmt::format("plan.batch.sequence_length={}", one_of<int>({512, 2048})),
      "plan.collectives={all_gather: auto, reduce_scatter: auto, all_reduce: auto, all_to_all: auto}",
      "plan.schedule=" + schedule,
      fmt::format("plan.recompute={}",
                  one_of<std::string>({"none", "full", experts ? "[norm, mla_up, swiglu]" : "[swiglu]"})),
      fmt::format("plan.overlap.expert={}",
                  pairs ? one_of<std::string>({"paired", "async"}) : one_of<std::string>({"blocking", "async"})),
      fmt::format("plan.overlap.tensor={}", one_of<std::string>({"blocking", "async"})),
      fmt::format("plan.overlap.pipeline={}", one_of<std::string>({"blocking", "async"})),
      fmt::format("plan.overlap.reduce={}", one_of<std::string>({"async", "at_end"})),
      fmt::format("plan.sms.policy={}", one_of<std::string>({"partition", "shared"})),
  };
  if (experts) {
    sets.push_back(
        "model.experts={count: 16, top_k: 4, ffn: 256, shared: 1, shared_ffn: 256, dense_layers: 1, every: 1, groups: "
        "4}");
  } else {
    sets.push_back("plan.routing.max_nodes=0");
  }
  try {
    return testing::shipped("deepseek-v3-1f1b", sets, experts ? "" : "llama-3.1-405b");
  } catch (const InputError& e) {
    RC_LOG() << e.what() << "\n";
    return std::nullopt;
  }
}

TEST(StepBound, IsNeverMoreThanTheStep) {
  int ran = 0;
  EXPECT_TRUE(rc::check("bound <= simulated", [&ran] {
    if (ran == 40) return;
    const std::optional<Inputs> in = random_inputs();
    RC_PRE(in.has_value());
    const Step step = make_step(in->model, in->cluster, in->plan, Detail::aggregate);
    Bounds bounds(in->model, in->cluster);
    const StepBound bound = bounds.of(in->plan);
    const double time = simulated(step);
    RC_LOG() << bound.seconds << " (" << bound.by << ") of " << time << "\n";
    RC_ASSERT(bound.seconds > 0);
    RC_ASSERT(bound.seconds <= time);
    RC_ASSERT(bound.memory_bytes == peak(step));
    const bool pairs = has_pairs(step.schedule) && in->plan.overlap.expert == Overlap::Policy::paired;
    for (const StepBound& least : {bounds.least(in->plan), bounds.least_with_wires(in->plan, pairs), bounds.least_of_passes(in->plan, pairs)}) {
      RC_ASSERT(least.seconds <= bound.seconds);
      RC_ASSERT(least.memory_bytes <= bound.memory_bytes);
    }
    // Without contention no step is longer (a search asks this before it simulates), where compute does not depend on
    // what moves beside it.
    if (step.graph.sms == 0) RC_ASSERT(make_ideal_engine()->run(fold(step.graph).graph).end <= time * (1 + 1e-9));
    RC_CLASSIFY(bound.seconds > 0.9 * time, "within 10 %");
    RC_CLASSIFY(bound.seconds > 0.5 * time, "within a factor of 2");
    ++ran;
  }));
  EXPECT_GT(ran, 20);
}

TEST(StepBound, IsNearWhereTheScheduleBinds) {
  for (const char* name : {"deepseek-v3-dualpipe", "deepseek-v3-1f1b"}) {
    const Inputs in = testing::shipped(name, {"plan.batch.global_sequences=4096"});  // 32 microbatches
    const Step step = make_step(in.model, in.cluster, in.plan, Detail::aggregate);
    const StepBound bound = Bounds(in.model, in.cluster).of(in.plan);
    const double time = simulated(step);
    EXPECT_LE(bound.seconds, time) << name;
    EXPECT_GT(bound.seconds, 0.7 * time) << name << ": " << bound.by;
    EXPECT_EQ(bound.memory_bytes, peak(step)) << name;
  }
}

}  // namespace stepsim::step_bound_test
