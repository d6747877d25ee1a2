// Any plan that passes check() builds, runs, splits its step, and folds exactly. Seeds are printed on failure.
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <fmt/format.h>

#include "sim/engine/engine.hpp"
#include "sim/graph/fold.hpp"
#include "sim/report/report.hpp"
#include "support/shipped.hpp"
#include "support/shipped_cluster.hpp"
#include "workloads/schedule.hpp"
#include "workloads/step.hpp"

namespace stepsim::random_plans_test {
template <class T>
T one_of(std::vector<T> values) {
  return *rc::gen::elementOf(std::move(values));
}

// A small DeepSeek-like model on 1 to 4 nodes; nullopt when the plan is refused.
std::optional<Inputs> random_inputs() {
  std::vector<std::string> schedules_known;
  for (const ScheduleKind& s : schedules()) schedules_known.emplace_back(s.name);
  const bool experts = *rc::gen::arbitrary<bool>();
  const int pipeline = one_of<int>({1, 2, 4});
  const char* recompute = experts ? "[norm, mla_up, swiglu]" : "[norm, swiglu]";
  std::vector<std::string> sets = {
      fmt::format("cluster.nodes={}", one_of<int>({1, 2, 4})),
      "model.hidden=512",
      "model.ffn=1024",
      "model.vocabulary=4096",
      "model.heads=8",
      "model.kv_heads=8",
      fmt::format("model.layers={}", *rc::gen::inRange(8, 13)),
      fmt::format("plan.parallel.pipeline={}", pipeline),
      fmt::format("plan.parallel.tensor={}", one_of<int>({1, 1, 2, 4})),
      fmt::format("plan.parallel.context={}", one_of<int>({1, 1, 2})),
      fmt::format("plan.parallel.expert={}", experts ? one_of<int>({1, 2, 4, 8}) : 1),
      "plan.parallel.expert_tensor=1",
      fmt::format("plan.parallel.virtual_stages={}", one_of<int>({1, 1, 2})),
      fmt::format("plan.parallel.zero={}", one_of<int>({0, 1, 2, 3})),
      fmt::format("plan.parallel.reshard_after_forward={}", *rc::gen::arbitrary<bool>()),
      fmt::format("plan.batch.global_sequences={}", one_of<int>({64, 128})),
      fmt::format("plan.parallel.context_method={}", one_of<std::string>({"ring", "all_to_all", "all_gather"})),
      fmt::format("plan.parallel.zero_group={}", one_of<std::string>({"all", "all", "2", "node"})),
      "plan.batch.sequence_length=512",
      fmt::format("plan.schedule={}", one_of(schedules_known)),
      fmt::format("plan.recompute={}", one_of<std::string>({"none", "full", recompute})),
      fmt::format("plan.overlap.expert={}", one_of<std::string>({"blocking", "async"})),
      fmt::format("plan.overlap.tensor={}", one_of<std::string>({"blocking", "async"})),
      fmt::format("plan.overlap.reduce={}", one_of<std::string>({"async", "at_end"})),
      fmt::format("plan.overlap.gather_prefetch={}", *rc::gen::inRange(0, 3)),
      "model.prediction_layers=1",
      fmt::format("plan.multi_token_prediction={}", *rc::gen::arbitrary<bool>()),
      fmt::format("plan.sms.policy={}", one_of<std::string>({"partition", "shared"})),
  };
  if (experts) {
    sets.push_back(
        "model.experts={count: 16, top_k: 4, ffn: 256, shared: 1, shared_ffn: 256, dense_layers: 1, every: 1, groups: "
        "4}");
  } else {
    sets.insert(sets.end(), {"plan.routing.max_nodes=0", "plan.collectives.all_to_all=auto"});
  }
  try {
    return testing::shipped("deepseek-v3-1f1b", sets, experts ? "" : "llama-3.1-405b");
  } catch (const InputError& e) {
    RC_LOG() << e.what() << "\n";
    return std::nullopt;
  }
}

TEST(RandomPlans, SplitAndFoldExactly) {
  int ran = 0;
  EXPECT_TRUE(rc::check("what check() accepts runs", [&ran] {
    const std::optional<Inputs> in = random_inputs();
    RC_PRE(in.has_value());
    const Step step = make_step(in->model, in->cluster, in->plan, Detail::aggregate);
    const Folding folding = fold(step.graph);
    const Timeline folded = make_simgrid_engine()->run(folding.graph);
    const Timeline full = make_simgrid_engine()->run(step.graph);
    RC_ASSERT(std::abs(folded.end - full.end) <= 1e-9 * full.end);
    for (const RankRow& row : split_ranks(folding.graph, folded)) {
      const double sum = row.compute_s + row.exposed_communication_s + row.wait_s + row.bubble_s;
      RC_ASSERT(std::abs(sum - folded.end) <= 1e-9 * folded.end);
    }
    for (std::size_t r = 0; r < full.spans.size(); ++r) {
      for (std::size_t op = 0; op < full.spans[r].size(); ++op) {
        RC_ASSERT(std::abs(full.spans[r][op].end - folded.spans[folding.rank_color[r]][op].end) <= 1e-9 * full.end);
      }
    }
    ++ran;
  }));
  EXPECT_GT(ran, 20);
}

// Without contention a call has its links to itself, also those that calls like it use: GPUs that share a card, cables that
// many groups cross. Folded calls stand for several that do.
TEST(RandomPlans, IdealFoldsExactly) {
  int ran = 0;
  EXPECT_TRUE(rc::check("ideal folded equals unfolded", [&ran] {
    std::optional<Inputs> in = random_inputs();
    RC_PRE(in.has_value());
    const auto name = one_of<std::string>({"a100-pcie", "a100-1x100", "a100-4x200", "h100-fat-tree-4to1"});
    in->cluster = test::shipped_cluster(name, {{"nodes", std::to_string(in->cluster.nodes)}});
    const Step step = make_step(in->model, in->cluster, in->plan, Detail::aggregate);
    const Folding folding = fold(step.graph);
    const Timeline folded = make_ideal_engine()->run(folding.graph), full = make_ideal_engine()->run(step.graph);
    RC_ASSERT(std::abs(folded.end - full.end) <= 1e-9 * full.end);
    for (std::size_t r = 0; r < full.spans.size(); ++r) {
      for (std::size_t op = 0; op < full.spans[r].size(); ++op) {
        RC_ASSERT(std::abs(full.spans[r][op].end - folded.spans[folding.rank_color[r]][op].end) <= 1e-9 * full.end);
      }
    }
    ++ran;
  }));
  EXPECT_GT(ran, 20);
}

// A closed form never contends: both engines must agree on every event.
TEST(RandomPlans, EnginesAgreeWithoutContention) {
  EXPECT_TRUE(rc::check("ideal equals simgrid in detail formula", [] {
    const std::optional<Inputs> in = random_inputs();
    RC_PRE(in.has_value());
    const StepGraph graph = fold(make_step(in->model, in->cluster, in->plan, Detail::formula).graph).graph;
    const Timeline a = make_ideal_engine()->run(graph), b = make_simgrid_engine()->run(graph);
    for (std::size_t r = 0; r < a.spans.size(); ++r) {
      for (std::size_t op = 0; op < a.spans[r].size(); ++op) {
        RC_ASSERT(std::abs(a.spans[r][op].end - b.spans[r][op].end) <= 1e-9 * a.end);
      }
    }
  }));
}

}  // namespace stepsim::random_plans_test
