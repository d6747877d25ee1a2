// Random (cluster, plan, scenario) triples of 1 to 16 GPUs: folded and unfolded runs agree to 1e-9 in every event, or
// both cannot finish. Seeds are printed.
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <fmt/format.h>

#include "sim/engine/engine.hpp"
#include "sim/graph/fold.hpp"
#include "sim/inputs.hpp"
#include "sim/report/report.hpp"
#include "support/sanitized.hpp"
#include "support/small_clusters.hpp"
#include "workloads/schedule.hpp"
#include "workloads/step.hpp"

namespace stepsim::random_faults_test {
using testing::ClusterFiles;
using testing::SmallCluster;

template <class T>
T one_of(std::vector<T> values) {
  return *rc::gen::elementOf(std::move(values));
}

// Files of every shape, written once.
const std::string& random_cluster_file() {
  static const std::vector<std::unique_ptr<ClusterFiles>> files = [] {
    std::vector<std::unique_ptr<ClusterFiles>> all;
    for (const int nodes : {1, 2, 4}) {
      for (const int gpus : {1, 2, 4}) {
        for (const bool planes : {false, true}) {
          for (const bool two_leaves : {false, true}) {
            if (two_leaves && nodes == 1) continue;
            all.push_back(std::make_unique<ClusterFiles>(SmallCluster{nodes, gpus, planes, two_leaves}));
          }
        }
      }
    }
    return all;
  }();
  return files[static_cast<std::size_t>(*rc::gen::inRange(0, static_cast<int>(files.size())))]->path();
}

// A small model on one of the clusters; nullopt when the plan is refused.
std::optional<Inputs> random_inputs() {
  const bool experts = *rc::gen::arbitrary<bool>();
  Request request;
  request.home = STEPSIM_SOURCE_DIR;
  request.experiment = "deepseek-v3-1f1b";
  request.cluster = random_cluster_file();
  if (!experts) request.model = "llama-3.1-405b";
  request.overrides = {
      "model.hidden=256",
      "model.ffn=512",
      "model.vocabulary=1024",
      "model.heads=8",
      "model.kv_heads=8",
      fmt::format("model.layers={}", *rc::gen::inRange(4, 7)),
      fmt::format("plan.parallel.pipeline={}", one_of<int>({1, 1, 2, 4})),
      fmt::format("plan.parallel.tensor={}", one_of<int>({1, 1, 2, 4})),
      fmt::format("plan.parallel.expert={}", experts ? one_of<int>({1, 2, 4, 8}) : 1),
      "plan.parallel.expert_tensor=1",
      fmt::format("plan.parallel.zero={}", *rc::gen::inRange(0, 4)),
      fmt::format("plan.parallel.zero_group={}", one_of<std::string>({"all", "2", "node"})),
      fmt::format("plan.batch.global_sequences={}", one_of<int>({16, 32})),
      "plan.batch.sequence_length=256",
      fmt::format("plan.schedule={}", one_of<std::string>({"1f1b", "gpipe"})),
      fmt::format("plan.recompute={}", one_of<std::string>({"none", "full"})),
      fmt::format("plan.overlap.expert={}", one_of<std::string>({"blocking", "async"})),
      fmt::format("plan.overlap.reduce={}", one_of<std::string>({"async", "at_end"})),
      fmt::format("plan.overlap.gather_prefetch={}", *rc::gen::inRange(0, 3)),
      fmt::format("plan.sms.policy={}", one_of<std::string>({"partition", "shared"})),
      fmt::format("plan.collectives.all_gather={}", one_of<std::string>({"ring", "hierarchical", "flat"})),
  };
  if (experts) {
    request.overrides.push_back(
        "model.experts={count: 8, top_k: 2, ffn: 128, shared: 1, shared_ffn: 128, dense_layers: 1, every: 1, groups: "
        "2}");
    request.overrides.push_back(fmt::format("plan.routing.max_nodes={}", one_of<int>({0, 2})));
    request.overrides.emplace_back("plan.collectives.all_to_all=auto");
  } else {
    request.overrides.insert(request.overrides.end(), {"plan.routing.max_nodes=0", "plan.collectives.all_to_all=auto"});
  }
  try {
    return load(request);
  } catch (const InputError& e) {
    RC_LOG() << e.what() << "\n";
    return std::nullopt;
  }
}

// A time within a step of about `length` seconds. Not a round part of it: an event that falls on a change would be a
// tie.
double random_time(double length) {
  return length * (*rc::gen::inRange(1, 1000) * 0.0011713 + 1e-5);
}

Window random_window(double length) {
  Window window;
  if (*rc::gen::arbitrary<bool>()) window.from = Seconds(random_time(length));
  if (*rc::gen::arbitrary<bool>()) window.until = Seconds(window.from.value + random_time(length));
  return window;
}

std::string random_links(const ClusterSpec& cluster) {
  const int rank = *rc::gen::inRange(0, cluster.ranks());
  const int choice = *rc::gen::inRange(0, 6);
  switch (choice) {
    case 0:
      return fmt::format("nic{}_up", rank);
    case 1:
      return fmt::format("nic{}_*", rank);
    case 2:
      return fmt::format("nv{}_down", rank);
    case 3:
      return "nic*_down";
    case 4:
      return "leaf_p0_0*";
    default:
      return fmt::format("nic*{}_*", rank % 10);
  }
}

LinkFault random_fault(const ClusterSpec& cluster, double length) {
  LinkFault fault;
  fault.match = random_links(cluster);
  fault.when = random_window(length);
  switch (*rc::gen::inRange(0, 5)) {
    case 0:
      fault.bandwidth = BytesPerSecond(*rc::gen::inRange(1, 60) * 1e9);
      break;
    case 1:
      fault.scale = *rc::gen::inRange(1, 15) * 0.1;
      break;
    case 2:
      fault.latency = Seconds(*rc::gen::inRange(0, 30) * 1e-6);
      break;
    case 3:
      fault.down = true;
      break;
    default:
      fault.down = true;
      fault.flap =
          LinkFault::Flap{Seconds(length * *rc::gen::inRange(5, 40) * 0.00917), *rc::gen::inRange(1, 10) * 0.1};
      fault.when.until = Seconds(fault.when.from.value + 4 * length);
  }
  if (fault.down && fault.match.starts_with("nic") && *rc::gen::inRange(0, 4) > 0) {
    fault.failover = true;
    if (*rc::gen::arbitrary<bool>()) fault.failover_delay = Seconds(length * 0.0137);
  }
  return fault;
}

Scenario random_scenario(const ClusterSpec& cluster, double length) {
  Scenario scenario;
  const int stragglers = *rc::gen::inRange(0, 3), faults = *rc::gen::inRange(0, 4);
  for (int i = 0; i < stragglers; ++i) {
    const int rank = *rc::gen::inRange(0, cluster.ranks());
    std::vector<int> ranks = {rank};
    if (*rc::gen::arbitrary<bool>() && rank + 1 < cluster.ranks()) ranks.push_back(rank + 1);
    scenario.stragglers.push_back({ranks, *rc::gen::inRange(3, 13) * 0.1, random_window(length)});
  }
  for (int i = 0; i < faults; ++i) scenario.links.push_back(random_fault(cluster, length));
  return scenario;
}

// The timeline, or nothing when the step cannot finish.
std::optional<Timeline> run(const StepGraph& graph) {
  try {
    return make_simgrid_engine()->run(graph);
  } catch (const StuckError&) {
    return std::nullopt;
  }
}

int ran = 0, stuck = 0, changed = 0;

void folded_equals_unfolded() {
  const std::optional<Inputs> in = random_inputs();
  RC_PRE(in.has_value());
  const Step usual = make_step(in->model, in->cluster, in->plan, Detail::aggregate);
  const double length = make_ideal_engine()->run(fold(usual.graph).graph).end;
  Reading reading;
  const ClusterSpec cluster = apply(reading, in->cluster, random_scenario(in->cluster, length));
  RC_PRE(reading.problems.empty());
  const Step step = make_step(in->model, cluster, in->plan, Detail::aggregate, &in->cluster);
  const Folding folding = fold(step.graph);
  const std::optional<Timeline> folded = run(folding.graph), full = run(step.graph);
  RC_ASSERT(folded.has_value() == full.has_value());
  ++ran;
  if (!full) {
    ++stuck;
    return;
  }
  changed += std::abs(full->end - length) > 1e-6 * length;
  RC_ASSERT(std::abs(folded->end - full->end) <= 1e-9 * full->end);
  for (std::size_t r = 0; r < full->spans.size(); ++r) {
    for (std::size_t op = 0; op < full->spans[r].size(); ++op) {
      const Span &x = full->spans[r][op], &y = folded->spans[folding.rank_color[r]][op];
      RC_ASSERT(std::abs(x.start - y.start) <= 1e-9 * full->end);
      RC_ASSERT(std::abs(x.end - y.end) <= 1e-9 * full->end);
    }
  }
  // Who waits for whom: the rows of a rank sum to its wait, and folding changes nothing.
  double waits = 0, rows = 0, folded_rows = 0;
  for (const RankRow& row : split_ranks(step.graph, *full)) waits += row.wait_s;
  for (const WaitRow& row : who_waits(step.graph, *full)) rows += row.wait_s;
  for (const WaitRow& row : who_waits(folding.graph, *folded)) folded_rows += row.count * row.wait_s;
  const double tolerance = 1e-8 * full->end * static_cast<double>(full->spans.size());
  RC_ASSERT(std::abs(waits - rows) <= tolerance);
  RC_ASSERT(std::abs(waits - folded_rows) <= tolerance);
  // Where routes change, engines note what links carried: a real link as much as its representative.
  if (!folding.graph.links.empty()) RC_ASSERT(full->link_bytes.empty() == folded->link_bytes.empty());
  for (std::size_t l = 0; l < full->link_bytes.size(); ++l) {
    const double mine = full->link_bytes[l];
    const double theirs =
        folding.link_color[l] < 0 ? 0 : folded->link_bytes[static_cast<std::size_t>(folding.link_color[l])];
    RC_ASSERT(std::abs(mine - theirs) <= 1e-9 * mine + 1);
  }
}

constexpr int kBatches = testing::kSanitized ? 1 : 20;  // of a hundred
class RandomFaults : public ::testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(Batch, RandomFaults, ::testing::Range(0, kBatches));

TEST_P(RandomFaults, FoldExactly) {
  EXPECT_TRUE(rc::check(fmt::format("folded equals unfolded, batch {}", GetParam()), folded_equals_unfolded));
  EXPECT_GE(ran, 100);
  EXPECT_GT(changed, 20);  // most scenarios matter
  EXPECT_LT(stuck, ran / 2 + 10);
}

}  // namespace stepsim::random_faults_test
