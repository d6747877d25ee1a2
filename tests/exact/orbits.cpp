// Steps of which one replica is built (Replicas::one) fold to what steps of all ranks fold to: the same graph, to the bit.
#include "workloads/orbits.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <cmath>

#include "sim/cluster/moved.hpp"
#include "sim/engine/engine.hpp"
#include "sim/graph/fold.hpp"
#include "support/ring_of_leaves.hpp"
#include "support/sanitized.hpp"
#include "support/shipped.hpp"
#include "support/shipped_cluster.hpp"
#include "support/small_clusters.hpp"
#include "workloads/step.hpp"

namespace stepsim::orbits_test {
using testing::shipped;

template <class T>
T one_of(std::vector<T> values) {
  return *rc::gen::elementOf(std::move(values));
}

struct Both {
  Step all, one;
  // Empty when both fold to the same.
  std::string difference() const {
    const Folding a = fold(all.graph), b = fold(one.graph);
    const auto &x = a.graph, &y = b.graph;
    if (x.ranks.size() != y.ranks.size() || x.groups.size() != y.groups.size() || x.links.size() != y.links.size()) {
      return fmt::format("{} and {} ranks, {} and {} groups, {} and {} links", x.ranks.size(), y.ranks.size(), x.groups.size(), y.groups.size(),
                         x.links.size(), y.links.size());
    }
    for (std::size_t r = 0; r < all.graph_rank.size(); ++r) {
      if (a.rank_color[r] != b.rank_color[one.graph_rank[r]]) return fmt::format("rank {} is of another kind", r);
    }
    for (std::size_t g = 0; g < x.groups.size(); ++g) {
      if (!(x.groups[g] == y.groups[g])) return fmt::format("group {} and {}, {} and {} alike", x.groups[g].name, y.groups[g].name, x.groups[g].count, y.groups[g].count);
    }
    for (std::size_t l = 0; l < x.links.size(); ++l) {
      if (!(x.links[l] == y.links[l])) return fmt::format("link {} and {}, {} and {} alike", x.links[l].name, y.links[l].name, x.links[l].count, y.links[l].count);
    }
    if (std::abs(all.hardware_flops - one.hardware_flops) > 1e-12 * all.hardware_flops) return "FLOPs";
    return x == y ? "" : "ranks, ports or what else is in a graph";
  }
};

Both both(const Inputs& in, Detail detail = Detail::aggregate) {
  return {make_step(in.model, in.cluster, in.plan, detail, &in.planned_on),
          make_step(in.model, in.cluster, in.plan, detail, &in.planned_on, Replicas::one)};
}

std::size_t built(const Inputs& in) { return both(in).one.graph.ranks.size(); }

Inputs gpt3(int replicas, std::vector<std::string> sets = {}, const std::string& scenario = "") {
  Request request;
  request.scenario = scenario;
  request.home = STEPSIM_SOURCE_DIR;
  request.model = "gpt-3-175b";
  request.cluster = "h800-2048x8";
  request.plan = "gpt-3-175b-tp8-pp16";
  request.overrides = {fmt::format("cluster.nodes={}", 16 * replicas), fmt::format("plan.batch.global_sequences={}", 16 * replicas)};
  request.overrides.insert(request.overrides.end(), sets.begin(), sets.end());
  return load(request);
}

// 128 GPUs hold the model; 32 nodes stand at a leaf. 2 and 32 replicas fill whole leaves with a stage or whole stages with
// a leaf. Of 48, the nodes of a stage begin in the middle of a leaf: runs of 16 turn, not all 48.
TEST(Orbits, OneReplicaIsBuilt) {
  EXPECT_EQ(built(gpt3(1)), 128u);
  EXPECT_EQ(built(gpt3(2)), 128u);
  EXPECT_EQ(built(gpt3(32)), 128u);
  EXPECT_EQ(built(gpt3(48)), 128u * 3);
  for (const int replicas : {2, 3, 6, 48}) EXPECT_EQ(both(gpt3(replicas)).difference(), "") << replicas;
}

// By hand: a pipeline message of a node's GPU to the next stage is one of 4 alike, on ports of which there are 4.
TEST(Orbits, CountsAreThoseOfAllReplicas) {
  const Step step = both(gpt3(4)).one;
  for (const Rank& rank : step.graph.ranks) EXPECT_EQ(rank.count, 4);
  int messages = 0, gathers = 0;
  for (const Group& group : step.graph.groups) {
    if (group.dimension == Dimension::pipeline) {
      ++messages;
      EXPECT_EQ(group.count, 4) << group.name;
      EXPECT_EQ(group.endpoints.size(), 2u);
      for (const Load& load : group.patterns[0].parts[0].loads) {
        if (step.graph.links[load.link].owner >= 0) EXPECT_EQ(load.legs, 1) << group.name;
      }
    }
    if (group.dimension == Dimension::gather) {
      ++gathers;
      EXPECT_EQ(group.count, 1);
      EXPECT_EQ(group.size, 4);
      EXPECT_EQ(group.endpoints.size(), 1u);
    }
  }
  EXPECT_GT(messages, 0);
  EXPECT_EQ(gathers, 128);
}

// A straggler, a slow link, events of their own: whatever tells replicas apart leaves all ranks in the graph. A rail that is
// slow in all nodes does not; nor do cables that are used evenly, but those that a hash of the two hosts picks do.
TEST(Orbits, WhatTellsReplicasApart) {
  EXPECT_EQ(built(gpt3(4)), 128u);
  EXPECT_EQ(built(gpt3(4, {}, "one-straggler")), 512u);
  EXPECT_EQ(built(gpt3(4, {}, "slow-rail")), 128u);      // the first four nodes are those of the first stage
  EXPECT_EQ(built(gpt3(8, {}, "slow-rail")), 2 * 128u);  // and now half of them
  EXPECT_EQ(built(gpt3(4, {}, "noisy")), 512u);
  EXPECT_EQ(built(gpt3(4, {"cluster.uplinks.choice=hash"})), 512u);
  const std::vector<std::string> four_nodes = {"cluster.nodes=4", "plan.parallel.pipeline=2", "plan.parallel.virtual_stages=1"};
  EXPECT_EQ(built(gpt3(2, four_nodes, "slow-rail")), 16u);
  EXPECT_EQ(both(gpt3(2, four_nodes, "slow-rail")).difference(), "");
}

// Algorithms are chosen on the cluster as it was planned on: if that tells replicas apart, so may they.
TEST(Orbits, TheClusterPlannedOnCountsAsWell) {
  Inputs in = gpt3(4);
  ASSERT_EQ(built(in), 128u);
  for (BytesPerSecond& bandwidth : in.planned_on.bandwidth) bandwidth *= 2;  // of all links
  EXPECT_EQ(built(in), 128u);
  in.planned_on.bandwidth[test::link_named(in.cluster, "nic9_up")] *= 0.5;
  EXPECT_EQ(built(in), 512u);
}

// A tree over the replicas has a root, which is not like the others; a ring has none.
TEST(Orbits, TreesTellReplicasApart) {
  for (const auto& [algorithm, ranks] : std::map<std::string, std::size_t>{{"ring", 128}, {"tree", 512}}) {
    const Inputs in = gpt3(4, {"plan.parallel.zero=0", "plan.collectives.all_reduce=" + algorithm});
    EXPECT_EQ(built(in), ranks) << algorithm;
    EXPECT_EQ(both(in).difference(), "") << algorithm;
  }
}

std::vector<std::string> random_order() {
  std::vector<std::vector<std::string>> orders = {{}, {"plan.parallel.order=[tensor, expert, context, pipeline, data]"},
                                                  {"plan.parallel.order=[tensor, context, pipeline, expert, data]"},
                                                  {"plan.parallel.order=[context, tensor, expert, data, pipeline]"}};
  return one_of(orders);
}

// A small model, dense or of experts, in random degrees on a random cluster; nullopt when the plan is refused.
std::optional<Inputs> random_inputs() {
  const bool experts = *rc::gen::arbitrary<bool>();
  std::vector<std::string> sets = {
      "model.hidden=512", "model.ffn=1024", "model.vocabulary=4096", "model.heads=8", "model.kv_heads=8", "model.layers=8",
      fmt::format("cluster.nodes={}", one_of<int>({2, 3, 4, 6, 8})),
      fmt::format("plan.parallel.pipeline={}", one_of<int>({1, 2, 4})),
      fmt::format("plan.parallel.tensor={}", one_of<int>({1, 1, 2, 4, 8})),
      fmt::format("plan.parallel.context={}", one_of<int>({1, 1, 2})),
      fmt::format("plan.parallel.expert={}", experts ? one_of<int>({1, 2, 4, 8, 16}) : 1),
      "plan.parallel.expert_tensor=1",
      fmt::format("plan.parallel.virtual_stages={}", one_of<int>({1, 1, 2})),
      fmt::format("plan.parallel.zero={}", one_of<int>({0, 1, 2, 3})),
      fmt::format("plan.parallel.zero_group={}", one_of<std::string>({"all", "all", "2", "4", "node"})),
      fmt::format("plan.batch.global_sequences={}", one_of<int>({96, 192, 256})), "plan.batch.sequence_length=512",
      fmt::format("plan.schedule={}", one_of<std::string>({"1f1b", "1f1b", "dualpipe", "interleaved", "zb-v"})), "plan.recompute=none",
      fmt::format("plan.collectives.all_gather={}", one_of<std::string>({"auto", "ring", "rings", "flat", "hierarchical"})),
      fmt::format("plan.collectives.all_reduce={}", one_of<std::string>({"auto", "ring", "tree", "halving_doubling"})),
  };
  const auto order = random_order();
  sets.insert(sets.end(), order.begin(), order.end());
  if (experts) {
    sets.insert(sets.end(), {"model.experts={count: 16, top_k: 4, ffn: 256, shared: 1, shared_ffn: 256, dense_layers: 1, every: 1, groups: 4}"});
    if (*rc::gen::arbitrary<bool>()) sets.push_back("plan.routing.max_nodes=0");
    if (*rc::gen::inRange(0, 4) == 0) sets.push_back("plan.routing.balance=zipf:1.2");
  } else {
    sets.insert(sets.end(), {"plan.routing.max_nodes=0", "plan.collectives.all_to_all=auto"});
  }
  try {
    Inputs in = shipped("deepseek-v3-1f1b", sets, experts ? "" : "llama-3.1-405b");
    const auto nodes = std::to_string(in.cluster.nodes);
    const auto name = one_of<std::string>({"h800-256x8", "a100-1x100", "a100-4x200", "h100-fat-tree-4to1", "h100-fat-tree-3", "h100-dragonfly",
                                           "h100-two-sites", "a100-pcie", "small", "small"});
    if (name == "small") {
      testing::SmallCluster small{in.cluster.nodes, 8, *rc::gen::arbitrary<bool>(), in.cluster.nodes % 2 == 0};
      const testing::ClusterFiles files(small);
      Reading reading;
      in.cluster = read_cluster(reading, files.path(), {}, Rates::speed_of_light, test::platforms());
    } else {
      in.cluster = test::shipped_cluster(name, {{"nodes", nodes}});
    }
    if (in.cluster.gpus_per_node != 8) return std::nullopt;
    in.planned_on = in.cluster;
    return in;
  } catch (const InputError& e) {
    RC_LOG() << e.what() << "\n";
    return std::nullopt;
  }
}

TEST(Orbits, RandomStepsFoldToTheSame) {
  int ran = 0, smaller = 0;
  EXPECT_TRUE(rc::check("one replica folds to what all fold to", [&] {
    const std::optional<Inputs> in = random_inputs();
    RC_PRE(in.has_value());
    const Both steps = [&] {
      try {
        return both(*in, one_of<Detail>({Detail::aggregate, Detail::aggregate, Detail::formula}));
      } catch (const std::invalid_argument&) {
        RC_DISCARD("an algorithm does not fit");
      }
    }();
    RC_LOG() << in->cluster.name << ", " << steps.one.graph.ranks.size() << " of " << steps.all.graph.ranks.size() << " ranks\n";
    RC_ASSERT(problems_of(steps.one.graph) == std::vector<std::string>{});
    RC_ASSERT(steps.difference() == "");
    ++ran;
    smaller += steps.one.graph.ranks.size() < steps.all.graph.ranks.size() ? 1 : 0;
  }));
  EXPECT_GT(ran, 40);
  EXPECT_GT(smaller, 20);
}

// Such a graph is a folded one by itself.
TEST(Orbits, RunsAsItIs) {
  const Both steps = both(gpt3(2, {"model.layers=16"}));
  EXPECT_NEAR(make_simgrid_engine()->run(steps.one.graph).end, make_simgrid_engine()->run(fold(steps.all.graph).graph).end, 1e-12);
}

// Ports of a star, own and towards another leaf: moving nodes within leaves, and leaves onto each other, is a symmetry;
// moving one node to the other leaf is not, since its neighbours stay behind.
TEST(LinksMoved, LeavesStayTogether) {
  const testing::ClusterFiles files({4, 2, true, true});
  Reading reading;
  const ClusterSpec cluster = read_cluster(reading, files.path(), {}, Rates::speed_of_light, test::platforms());
  reading.throw_if_any();
  const auto moved = [&](const std::vector<int>& nodes) {
    std::vector<RankId> to;
    for (const int node : nodes) to.insert(to.end(), {node * 2, node * 2 + 1});
    return links_moved(cluster, to);
  };
  EXPECT_TRUE(moved({0, 1, 2, 3}));
  EXPECT_TRUE(moved({1, 0, 2, 3}));
  EXPECT_TRUE(moved({2, 3, 0, 1}));
  EXPECT_TRUE(moved({3, 2, 0, 1}));
  EXPECT_FALSE(moved({2, 1, 0, 3}));
  EXPECT_FALSE(moved({1, 2, 3, 0}));
  const auto links = *moved({2, 3, 1, 0});
  // All routes go onto routes.
  const std::vector<int> nodes = {2, 3, 1, 0};
  for (RankId a = 0; a < cluster.ranks(); ++a) {
    for (RankId b = 0; b < cluster.ranks(); ++b) {
      std::vector<LinkId> route = route_between(cluster, a, b);
      for (LinkId& link : route) link = links[link];
      EXPECT_EQ(route, route_between(cluster, nodes[a / 2] * 2 + a % 2, nodes[b / 2] * 2 + b % 2)) << a << " " << b;
    }
  }
}

// Random moves of nodes of shipped clusters: what is taken for a symmetry has all routes go onto routes, link by link.
TEST(LinksMoved, RoutesGoOntoRoutes) {
  std::map<std::string, ClusterSpec> clusters;
  for (const char* name : {"h800-256x8", "h100-fat-tree-4to1", "h100-fat-tree-3", "h100-dragonfly", "h100-two-sites", "a100-pcie", "a100-4x200"}) {
    clusters.emplace(name, test::shipped_cluster(name));
  }
  std::map<std::string, int> symmetric;
  EXPECT_TRUE(rc::check("moved routes are routes", [&] {
    const auto& [name, cluster] = *std::next(clusters.begin(), *rc::gen::inRange<int>(0, static_cast<int>(clusters.size())));
    const int n = cluster.nodes;
    // Runs of nodes turn within longer runs.
    const int step = 1 << *rc::gen::inRange(0, 6), length = step << *rc::gen::inRange(0, 6);
    RC_PRE(n % length == 0);
    std::vector<RankId> to;
    for (RankId r = 0; r < cluster.ranks(); ++r) {
      const int node = cluster.node_of(r), at = node % length;
      to.push_back(((node - at) + (at + step) % length) * cluster.gpus_per_node + cluster.local_of(r));
    }
    const auto links = links_moved(cluster, to);
    RC_LOG() << name << " " << step << " of " << length << "\n";
    if (!links) return;
    symmetric[name] += step < length ? 1 : 0;
    for (int i = 0; i < 300; ++i) {
      const auto a = *rc::gen::inRange<RankId>(0, cluster.ranks()), b = *rc::gen::inRange<RankId>(0, cluster.ranks());
      std::vector<LinkId> route = route_between(cluster, a, b);
      for (LinkId& link : route) link = (*links)[link];
      RC_ASSERT(route == route_between(cluster, to[a], to[b]));
    }
  }));
  EXPECT_GE(symmetric.size(), 4u);
}

// Of an odd number of leaves each way is the shortest one and turns with the ring. Of an even number both ways to the
// opposite leaf are as long: which one is taken is a matter of names, and a turn may or may not leave it so. Turning by
// nodes that part the two of a leaf is none.
TEST(LinksMoved, RingsOfLeaves) {
  for (const std::string routing : {"Floyd", "Dijkstra"}) {
    for (const int leaves : {3, 4, 5, 6}) {
      const ClusterSpec cluster = testing::RingOfLeaves(leaves, routing).cluster();
      for (int by = 1; by < 2 * leaves; ++by) {
        std::vector<RankId> to;
        for (RankId r = 0; r < 2 * leaves; ++r) to.push_back((r + by) % (2 * leaves));
        const auto links = links_moved(cluster, to);
        if (leaves % 2 == 1) EXPECT_EQ(links.has_value(), by % 2 == 0) << routing << " " << leaves << " by " << by;
        if (by % 2 == 1) EXPECT_FALSE(links) << routing << " " << leaves << " by " << by;
        if (!links) continue;
        for (RankId a = 0; a < cluster.ranks(); ++a) {
          for (RankId b = 0; b < cluster.ranks(); ++b) {
            std::vector<LinkId> route = route_between(cluster, a, b);
            for (LinkId& link : route) link = (*links)[link];
            EXPECT_EQ(route, route_between(cluster, to[a], to[b])) << routing << " " << leaves << " by " << by << ": " << a << " " << b;
          }
        }
      }
    }
  }
  // One cable that is slower: no turn leaves it where it is.
  const ClusterSpec uneven = testing::RingOfLeaves(3, "Floyd", "39GBps").cluster();
  EXPECT_FALSE(links_moved(uneven, std::vector<RankId>{2, 3, 4, 5, 0, 1}));
}

}  // namespace stepsim::orbits_test
