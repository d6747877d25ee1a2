// What a search prunes is never among the best: it finds what brute force finds. Seeds are printed on failure.
#include "sim/explore/search.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "sim/explore/search_space.hpp"
#include "sim/explore/search_text.hpp"
#include "support/sanitized.hpp"

namespace stepsim::search_test {
namespace {

template <class T>
T one_of(std::vector<T> values) {
  return *rc::gen::elementOf(std::move(values));
}

// A small model on one to three nodes, with wires that bind and wires that do not.
Request random_request(bool experts) {
  Request request;
  request.home = STEPSIM_SOURCE_DIR;
  request.experiment = "deepseek-v3-1f1b";
  if (!experts) request.model = "llama-3.1-405b";
  request.overrides = {
      fmt::format("cluster.nodes={}", one_of<int>({1, 2, 3})),
      fmt::format("cluster.port_bandwidth.infiniband={}GBps", one_of<int>({5, 50, 400})),
      fmt::format("model.hidden={}", one_of<int>({512, 1024})),
      "model.ffn=2048",
      "model.vocabulary=4096",
      "model.heads=8",
      "model.kv_heads=8",
      fmt::format("model.layers={}", *rc::gen::inRange(6, 11)),
      fmt::format("cluster.gpu.memory={}GB", one_of<int>({1, 80})),
      fmt::format("plan.batch.global_sequences={}", one_of<int>({24, 48})),
      fmt::format("plan.batch.sequence_length={}", one_of<int>({512, 2048})),
      fmt::format("plan.overlap.tensor={}", one_of<std::string>({"blocking", "async"})),
      fmt::format("plan.overlap.reduce={}", one_of<std::string>({"async", "at_end"})),
      fmt::format("plan.clip_gradients={}", *rc::gen::arbitrary<bool>()),
      "plan.routing.max_nodes=0",
  };
  if (experts) {
    request.overrides.emplace_back(
        "model.experts={count: 8, top_k: 2, ffn: 256, shared: 1, shared_ffn: 256, dense_layers: 1, every: 1, groups: 1}");
  }
  return request;
}

std::vector<std::string> random_space(bool experts) {
  std::vector<std::string> vary = {
      "plan.parallel.pipeline=" + one_of<std::string>({"1,2", "2,4", "1,2,4"}),
      "plan.parallel.tensor=1,2",
      "plan.parallel.sequence=false",
      "plan.parallel.context=" + one_of<std::string>({"1", "2"}),
      "plan.parallel.expert=" + std::string(experts ? one_of<std::string>({"2,8", "4"}) : "1"),
      "plan.parallel.expert_tensor=1",
      "plan.batch.microbatch_sequences=" + one_of<std::string>({"1", "1,2"}),
      "plan.schedule=" + one_of<std::string>({"1f1b,dualpipev", "zb-h1,dualpipe", "gpipe,zb-v", "interleaved-1f1b,zb-h2"}),
      "plan.parallel.virtual_stages=" + one_of<std::string>({"1", "1,2"}),
      "plan.parallel.zero=" + one_of<std::string>({"0,1", "1,3", "2"}),
      "plan.recompute=" + one_of<std::string>({"none", "none,full"}),
      "plan.overlap.expert=" + std::string(experts ? "async,paired" : "async"),
  };
  return vary;
}

}  // namespace

TEST(Search, FindsWhatBruteForceFinds) {
  int compared = 0;
  double pruned = 0;
  EXPECT_TRUE(rc::check("pruned search = brute force", [&] {
    if (compared == (testing::kSanitized ? 2 : 4)) return;  // a few spaces of some dozens of plans
    const bool experts = *rc::gen::arbitrary<bool>();
    const Request request = random_request(experts);
    const std::vector<std::string> vary = random_space(experts);
    InputCache cache;
    const SearchSpace space(request, vary, cache);
    SearchOptions options;
    options.simulate.elasticities = false;
    options.top = 3;
    Store brute_store(":memory:", Store::Use::write), store(":memory:", Store::Use::write);
    const SearchResult found = search(space, request, store, options);
    options.prune = false;
    const SearchResult brute = search(space, request, brute_store, options);
    RC_LOG() << found.simulated << " simulated, brute force " << brute.simulated << " of " << brute.combinations << "\n";
    RC_ASSERT(found.failed == 0 && brute.failed == 0);
    RC_ASSERT(found.best.size() == brute.best.size());
    for (std::size_t i = 0; i < brute.best.size(); ++i) {
      RC_ASSERT(found.best[i].id == brute.best[i].id);
      RC_ASSERT(found.best[i].value == brute.best[i].value);
      RC_ASSERT(brute.best[i].bound_s <= brute.best[i].seconds);
    }
    for (const SearchResult* r : {&found, &brute}) {
      RC_ASSERT(r->combinations == r->illegal + r->repeated + r->too_large + r->bounded + r->simulated);
    }
    pruned += brute.simulated - found.simulated;
    ++compared;
  }));
  EXPECT_GE(compared, 2);
  EXPECT_GT(pruned, 0);
}

// On one GPU passes follow each other in any order: all forward passes first keep every microbatch's activations. A space
// that also has 1F1B finds no worse plan than 1F1B alone, wherever it stands in the list.
TEST(Search, WithoutAPipelineSchedulesDifferInMemory) {
  const auto best = [](const std::string& schedules) {
    Request request;
    request.home = STEPSIM_SOURCE_DIR;
    request.experiment = "gpt-3-175b-pipeline";
    request.overrides = {"cluster.nodes=1", "cluster.gpus_per_node=1", "model.layers=2", "model.hidden=2048", "model.ffn=8192", "model.heads=16",
                         "model.kv_heads=16", "plan.batch.global_sequences=64", "plan.parallel.zero=1"};
    InputCache cache;
    const std::vector<std::string> vary = {"plan.schedule=" + schedules, "plan.recompute=none", "plan.batch.microbatch_sequences=1,2"};
    const SearchSpace space(request, vary, cache);
    SearchOptions options;
    options.simulate.elasticities = false;
    options.top = 1;
    Store store(":memory:", Store::Use::write);
    return search(space, request, store, options);
  };
  const SearchResult alone = best("1f1b"), first = best("gpipe,1f1b"), second = best("1f1b,gpipe"), other = best("gpipe");
  ASSERT_FALSE(alone.best.empty());
  ASSERT_FALSE(first.best.empty());
  EXPECT_EQ(first.best[0].value, alone.best[0].value);
  EXPECT_EQ(first.best[0].memory_bytes, alone.best[0].memory_bytes);
  EXPECT_EQ(second.best[0].value, alone.best[0].value);
  EXPECT_TRUE(other.best.empty() || other.best[0].memory_bytes > alone.best[0].memory_bytes);
}

// Of what little was looked at nothing need be as good as what the user has.
TEST(Search, TheOwnPlanMayBeTheBest) {
  const auto found = [](double seconds) {
    SearchFind find;
    find.value = find.seconds = seconds;
    return find;
  };
  SearchResult result;
  result.best = {found(140)};
  result.own = {found(11.3)};
  std::vector<Report> reports(2);
  reports[1].facts.gpu_memory_bytes = 80e9;
  reports[1].ranks.push_back({.peak_memory_bytes = 70e9});
  EXPECT_TRUE(own_is_best(result, reports));
  reports[1].ranks[0].peak_memory_bytes = 90e9;
  EXPECT_FALSE(own_is_best(result, reports));
  reports[1].ranks[0].peak_memory_bytes = 70e9;
  result.own[0].value = 200;
  EXPECT_FALSE(own_is_best(result, reports));
  result.own.clear();
  EXPECT_FALSE(own_is_best(result, reports));
}

}  // namespace stepsim::search_test
