// What the algorithms take, worked out by hand; what "auto" chooses.
#include <gtest/gtest.h>

#include <set>

#include "sim/cluster/star.hpp"
#include "sim/collective/algorithm.hpp"
#include "sim/collective/two_trees.hpp"
#include "sim/collective_call.hpp"
#include "support/shipped.hpp"

namespace stepsim {
namespace collective_algorithms_test {

constexpr double kGiB = 1 << 30, kMiB = 1 << 20, kNic = 50e9, kNvlink = 160e9;

const ClusterSpec& h800() {
  static const ClusterSpec spec = testing::shipped("deepseek-v3-1f1b").cluster;
  return spec;
}

ClusterSpec star(int n) {
  return star_cluster(n, BytesPerSecond(50e9), Seconds(1e-6));
}

double microseconds(const ClusterSpec& cluster, int ranks, Operation operation, const char* algorithm, double payload,
                    int per_node = 0) {
  SingleCall call;
  call.operation = operation;
  call.members = first_members(cluster, ranks, per_node);
  call.algorithm = algorithm;
  call.payload = payload;
  return run_single(cluster, call).seconds * 1e6;
}

// A ring of n equal ports: 2 (n - 1) (V/n / B + latency).
TEST(Algorithms, RingOverAStarOfPorts) {
  const double expected[] = {42.405, 43.292, 44.954, 47.023};
  int i = 0;
  for (const int n : {64, 256, 1024, 2048}) {
    const double ms = microseconds(star(n), n, Operation::all_reduce, "ring", kGiB) / 1e3;
    EXPECT_NEAR(ms, expected[i++], 0.0005);
    EXPECT_NEAR(ms, 2e3 * (n - 1) * (kGiB / n / 50e9 + 1e-6), 1e-9 * ms);
  }
}

// (n - 1)/n of V leaves every port: floors of 64 MiB a rank, and a latency on top.
TEST(Algorithms, AllToAllOverAStarOfPorts) {
  const double floors[] = {1.321, 1.337, 1.341, 1.342};
  int i = 0;
  for (const int n : {64, 256, 1024, 2048}) {
    const double ms = microseconds(star(n), n, Operation::all_to_all, "pairwise", 64 * kMiB) / 1e3;
    EXPECT_NEAR(ms - 1e-3, floors[i++], 0.0005);
  }
}

TEST(Algorithms, AllPairsOfAStarAreCountedAsByWalkingThem) {
  const ClusterSpec cluster = star(7);
  const std::vector<RankId> members = {0, 2, 3, 6};
  const Pattern pattern = make_pattern(cluster, members, Operation::all_to_all, "pairwise", {}, Detail::aggregate);
  std::vector<double> legs(14, 0);
  for (const RankId a : members) {
    for (const RankId b : members) {
      for (const LinkId link : route_between(cluster, a, b)) legs[link] += 1;
    }
  }
  for (const Load& load : pattern.parts[0].loads) legs[load.link] -= load.legs;
  EXPECT_EQ(legs, std::vector<double>(14, 0));
}

// Every member but the roots has one parent in each tree; who has children in one tree is a leaf of the other.
TEST(Algorithms, TwoTreesShareTheWork) {
  for (int n = 1; n <= 130; ++n) {
    const auto trees = two_trees(n);
    for (const Tree& tree : trees) {
      EXPECT_EQ(tree.depth, tree_depth(n)) << n;
      EXPECT_EQ(std::set<int>(tree.down.begin(), tree.down.end()).size(), static_cast<std::size_t>(n));
      std::set<int> seen;
      for (const int m : tree.down) {
        EXPECT_TRUE(tree.parent[m] < 0 ? seen.empty() : seen.count(tree.parent[m]) == 1) << n;
        seen.insert(m);
        EXPECT_LE(tree.children[m], 2);
      }
    }
    int both = 0;
    for (int m = 0; m < n; ++m) both += trees[0].children[m] > 0 && trees[1].children[m] > 0;
    EXPECT_LE(both, n % 2 == 0 ? 0 : 2) << n;  // a root has one child too
  }
}

// 64 ports, a GiB: 2 V on the busiest port, in 128 chunks a tree of V/256; a chunk takes 2 (2 x 6) - 2 = 22 times its
// time over one leg up and down, 4 of which are its part of the busiest port; 12 latencies.
TEST(Algorithms, TreeAllReduce) {
  const double chunk = kGiB / 256 / 50e9;
  EXPECT_NEAR(microseconds(star(64), 64, Operation::all_reduce, "tree", kGiB),
              1e6 * (2 * kGiB / 50e9 + 18 * chunk) + 12, 1e-3);
  // One chunk: its way alone, 22 halves of the buffer.
  EXPECT_NEAR(microseconds(star(64), 64, Operation::all_reduce, "tree", 1024), 22 * 512 / 50e3 + 12, 1e-3);
  // Two members: one sends its half up one tree and gets the other's down; both ways are one hop.
  EXPECT_NEAR(microseconds(star(2), 2, Operation::all_reduce, "tree", 1024), 1024 / 50e3 + 2, 1e-3);
}

// 8 nodes: 2 x 3 latencies between them and 2 inside; the NVLink part is the longer: 2 (7/8) V.
TEST(Algorithms, TreeAllReduceOfNodes) {
  EXPECT_NEAR(microseconds(h800(), 64, Operation::all_reduce, "tree", kGiB),
              1e6 * 2 * 7 / 8 * kGiB / kNvlink + 2 * 3.33, 1e-3);
  const double small = microseconds(h800(), 64, Operation::all_reduce, "tree", 64);
  EXPECT_NEAR(small, 6 * 2.8 + 2 * 3.33, 0.01);
}

// Halving: V/2 + V/4 + V/8 over NVLink, then V/16 + V/32 + V/64 between nodes, one after the other.
TEST(Algorithms, HalvingAndDoubling) {
  const double once = 1e6 * (7.0 / 8 * kGiB / kNvlink + 7.0 / 64 * kGiB / kNic) + 3 * 3.33 + 3 * 2.8;
  EXPECT_NEAR(microseconds(h800(), 64, Operation::reduce_scatter, "halving_doubling", kGiB), once, 1e-3);
  EXPECT_NEAR(microseconds(h800(), 64, Operation::all_gather, "halving_doubling", kGiB), once, 1e-3);
  EXPECT_NEAR(microseconds(h800(), 64, Operation::all_reduce, "halving_doubling", kGiB), 2 * once, 1e-3);
}

// On a node of 8 at the bus bandwidth that the GPU's file gives: 2 (7/8) V / 215 GB/s, and 23 us.
TEST(Algorithms, InSwitchReduction) {
  EXPECT_NEAR(microseconds(h800(), 8, Operation::all_reduce, "nvls", kGiB), 1e6 * 2 * 7 / 8 * kGiB / 215e9 + 23, 1e-3);
  // A port carries 9/8 V then, so 9/14 of 215 GB/s; V alone for half of an all-reduce.
  const double port = 215e9 * 9 / 14;
  EXPECT_NEAR(microseconds(h800(), 8, Operation::all_gather, "nvls", kGiB), 1e6 * kGiB / port + 23, 1e-3);
  EXPECT_NEAR(microseconds(h800(), 8, Operation::reduce_scatter, "nvls", kGiB), 1e6 * kGiB / port + 23, 1e-3);
  EXPECT_NEAR(microseconds(h800(), 4, Operation::all_reduce, "nvls", kGiB), 1e6 * 5 / 4 * kGiB / port + 23, 1e-3);
  // Between nodes a ring of 2 x 7 steps or trees of 2 x 3 hops; small messages show their latencies.
  EXPECT_NEAR(microseconds(h800(), 64, Operation::all_reduce, "nvls", 64), 23 + 14 * 2.8, 0.01);
  EXPECT_NEAR(microseconds(h800(), 64, Operation::all_reduce, "nvls_tree", 64), 23 + 6 * 2.8, 0.01);
}

TEST(Algorithms, InSwitchReductionOfAQuickerSwitchOrASlowerPort) {
  ClusterSpec cluster = h800();
  cluster.gpu.nvls.bus_bandwidth *= 10;  // the port limits: 9/8 V at 160 GB/s
  EXPECT_NEAR(microseconds(cluster, 8, Operation::all_reduce, "nvls", kGiB), 1e6 * 9 / 8 * kGiB / kNvlink + 23, 1e-3);
}

// One GPU short of eight nodes: seven rings, of which all pass a link over NVLink that none of them begins behind, and one
// each over the network: 62/63 V at 160 GB/s. One GPU on a node of its own leaves one ring.
TEST(Algorithms, RingsOfUnequalNodes) {
  const double bytes = 1e6 * 62 / 63 * kGiB / kNvlink;
  EXPECT_NEAR(microseconds(h800(), 63, Operation::all_gather, "rings", kGiB), bytes, 10);
  EXPECT_NEAR(microseconds(h800(), 63, Operation::all_reduce, "auto", kGiB), 2 * bytes, 20);
  EXPECT_NEAR(microseconds(h800(), 17, Operation::all_gather, "auto", kGiB), 1e6 * 16 / 17 * kGiB / kNic, 100);
  // Fourteen GPUs, 8 + 6: six rings share the bytes.
  EXPECT_NEAR(microseconds(h800(), 14, Operation::reduce_scatter, "rings", kGiB), 1e6 * 13 / 14 * kGiB / kNvlink, 10);
}

// Eight rings through 8 x 8 GPUs: NVLink carries seven of them, 63/64 x 7/8 V at 160 GB/s, and the first step's latency;
// small messages pay 63 steps a round, seven of the eight between nodes, and the quickest of all drops out.
TEST(Algorithms, RingsOverAllRails) {
  const double once = 1e6 * 63 / 64 * 7 / 8 * kGiB / kNvlink + 3.33;
  EXPECT_NEAR(microseconds(h800(), 64, Operation::all_gather, "rings", kGiB), once, 1e-3);
  EXPECT_NEAR(microseconds(h800(), 64, Operation::all_reduce, "rings", kGiB), 2 * once - 3.33, 1e-3);
  EXPECT_NEAR(microseconds(h800(), 64, Operation::reduce_scatter, "rings", 64), 56 * 3.33 + 7 * 2.8, 0.01);
  // With NVLink ten times as fast the NICs' share is what takes longest: 63/64 V/8 at 50 GB/s, on two nodes as on eight.
  ClusterSpec quick = h800();
  for (std::size_t l = 0; l < quick.bandwidth.size(); ++l) {
    if (quick.tiers[quick.link_tier[l]] == "nvlink") quick.bandwidth[l] *= 10;
  }
  EXPECT_NEAR(microseconds(quick, 64, Operation::all_gather, "rings", kGiB), 1e6 * 63 / 64 * kGiB / 8 / kNic, 200);
  EXPECT_NEAR(microseconds(quick, 16, Operation::all_gather, "rings", kGiB), 1e6 * 15 / 16 * kGiB / 8 / kNic, 200);
  // One node, or one GPU a node: the ring.
  EXPECT_EQ(microseconds(h800(), 8, Operation::all_gather, "rings", kGiB), microseconds(h800(), 8, Operation::all_gather, "ring", kGiB));
  EXPECT_EQ(microseconds(h800(), 8, Operation::all_gather, "rings", kGiB, 1),
            microseconds(h800(), 8, Operation::all_gather, "ring", kGiB, 1));
}

// On one node, where they were measured, n - 1 steps of 2 us a round and 30 us x V / (V + 16 MiB).
TEST(Algorithms, MeasuredStepsOfANode) {
  ClusterSpec cluster = h800();
  cluster.gpu.calibrated.node_steps = {Seconds(2e-6), Seconds(30e-6), Bytes(16 * kMiB)};
  EXPECT_NEAR(microseconds(cluster, 8, Operation::all_gather, "ring", 64), 7 * 3.33, 0.01);  // at the speed of light
  cluster.gpu.rates = Rates::calibrated;
  const double round = 7 * 2 + 30 * 0.5, bytes = 1e6 * 7 / 8 * 16 * kMiB / kNvlink;
  EXPECT_NEAR(microseconds(cluster, 8, Operation::all_gather, "ring", 16 * kMiB), round + bytes, 1e-6);
  EXPECT_NEAR(microseconds(cluster, 8, Operation::reduce_scatter, "ring", 16 * kMiB), round + bytes, 1e-6);
  EXPECT_NEAR(microseconds(cluster, 8, Operation::all_reduce, "ring", 16 * kMiB), 2 * (round + bytes), 1e-6);
  EXPECT_NEAR(microseconds(cluster, 4, Operation::all_gather, "ring", 16 * kMiB),
              3 * 2 + 15 + 1e6 * 3 / 4 * 16 * kMiB / kNvlink, 1e-6);
  EXPECT_NEAR(microseconds(cluster, 8, Operation::all_gather, "ring", 64), 7 * 2, 0.01);
  // In the switch they were measured with eight GPUs, and no more take no longer.
  const double switched = 1e6 * 2 * 7 / 8 * 16 * kMiB / 215e9;
  EXPECT_NEAR(microseconds(cluster, 8, Operation::all_reduce, "nvls", 16 * kMiB), 2 * round + switched, 1e-6);
  EXPECT_NEAR(microseconds(cluster, 4, Operation::all_reduce, "nvls", 64), 2 * 7 * 2, 0.01);
  // Between nodes the wires' own latencies hold.
  EXPECT_EQ(microseconds(cluster, 64, Operation::all_gather, "ring", kMiB),
            microseconds(h800(), 64, Operation::all_gather, "ring", kMiB));
}

// With calibrated rates all-to-alls take longer than their bytes, in each detail and by the part that their wires reach;
// others do not.
TEST(Algorithms, AllToAllsLeaveWiresIdle) {
  ClusterSpec cluster = h800();
  cluster.gpu.calibrated.all_to_all = {.inside = 0.8, .between = 0.5};
  cluster.gpu.calibrated.node_steps = {};
  const auto us = [&](int ranks, const char* algorithm, Detail detail, Operation operation = Operation::all_to_all) {
    SingleCall call;
    call.operation = operation;
    call.members = first_members(cluster, ranks, 0);
    call.algorithm = algorithm;
    call.payload = 64 * kMiB;
    call.detail = detail;
    return run_single(cluster, call).seconds * 1e6;
  };
  const double node = 1e6 * 7 / 8 * 64 * kMiB / kNvlink, nics = 1e6 * 56 / 64 * 64 * kMiB / kNic;
  for (const Detail detail : {Detail::formula, Detail::aggregate, Detail::flow}) {
    cluster.gpu.rates = Rates::speed_of_light;
    const double alone = us(8, "pairwise", detail), across = us(64, "rail_aligned", detail);
    const double gather = us(8, "ring", detail, Operation::all_gather);
    EXPECT_NEAR(alone, node, 0.02 * node) << to_text(detail);
    cluster.gpu.rates = Rates::calibrated;
    EXPECT_NEAR(us(8, "pairwise", detail) - alone, node / 0.8 - node, 1e-6 * node) << to_text(detail);
    EXPECT_NEAR(us(64, "rail_aligned", detail) - across, nics / 0.5 - nics, 1e-6 * nics) << to_text(detail);
    EXPECT_EQ(us(8, "ring", detail, Operation::all_gather), gather);
  }
}

// A chain: V, and the chunk's way over the other n - 2 hops; n - 1 latencies. A GiB goes in 128 chunks.
TEST(Algorithms, Broadcast) {
  EXPECT_NEAR(microseconds(star(64), 64, Operation::broadcast, "ring", kGiB), 1e6 * kGiB / 50e9 * (1 + 62.0 / 128) + 63,
              1e-3);
  // Trees: the root sends V; 1 + 6 hops, of which the 6 later ones each take twice a chunk of V/256.
  EXPECT_NEAR(microseconds(star(64), 64, Operation::broadcast, "tree", kGiB), 1e6 * kGiB / 50e9 * (1 + 6.0 / 128) + 7,
              1e-3);
  // Nodes: the root's NVLink sends 7/8 V to share it out and 7/8 V to spread; the last chunk of V/256, cut in 8, then
  // crosses a rail and goes to 7 neighbours.
  const double last = kGiB / 256 / 8 * (1 / kNic + 7 / kNvlink);
  EXPECT_NEAR(microseconds(h800(), 64, Operation::broadcast, "tree", kGiB),
              1e6 * (2 * 7 / 8.0 * kGiB / kNvlink + last) + 2 * 3.33, 1e-3);
}

// Rail-aligned: 56/64 V on every NIC, and every share but those for the own place crosses NVLink once: 7/8 V.
TEST(Algorithms, RailAlignedAllToAll) {
  SingleCall call;
  call.operation = Operation::all_to_all;
  call.members = first_members(h800(), 64, 0);
  call.algorithm = "rail_aligned";
  const Pattern pattern = make_pattern(h800(), call.members, call.operation, "rail_aligned", {}, Detail::aggregate);
  double nic = 0, nvlink = 0;
  for (const Load& load : pattern.parts[0].loads) {
    const std::string& name = h800().platform->links()[load.link].name;
    if (name == "nic0_up") nic += load.legs * pattern.parts[0].bytes_per_payload;
    if (name == "nv0_up") nvlink += load.legs * pattern.parts[0].bytes_per_payload;
  }
  EXPECT_NEAR(nic, 56.0 / 64, 1e-12);
  EXPECT_NEAR(nvlink, 7.0 / 8, 1e-12);
}

std::string chosen(const ClusterSpec& cluster, int ranks, Operation operation, double payload, int per_node = 0) {
  return std::string(choose_algorithm(cluster, first_members(cluster, ranks, per_node), operation, {}, payload).name);
}

TEST(Algorithms, AutoLooksAtSizeAndShape) {
  ClusterSpec plain = h800();
  plain.gpu.nvls = {};
  EXPECT_EQ(chosen(plain, 8, Operation::all_reduce, 1024), "ring");  // NCCL has no trees inside a node
  EXPECT_EQ(chosen(plain, 8, Operation::all_reduce, kGiB), "ring");
  EXPECT_EQ(chosen(plain, 64, Operation::all_reduce, 1024), "tree");
  EXPECT_EQ(chosen(plain, 64, Operation::all_gather, kGiB), "rings");
  EXPECT_EQ(chosen(plain, 8, Operation::all_gather, 1024), "ring");
  EXPECT_EQ(chosen(plain, 64, Operation::all_to_all, kMiB), "rail_aligned");
  EXPECT_EQ(chosen(plain, 8, Operation::all_to_all, kMiB), "pairwise");
  EXPECT_EQ(chosen(plain, 16, Operation::all_reduce, kGiB, 1), "ring");
  EXPECT_EQ(chosen(h800(), 8, Operation::all_reduce, kGiB), "nvls");
  EXPECT_EQ(chosen(h800(), 64, Operation::all_reduce, kGiB), "nvls_tree");
  EXPECT_EQ(chosen(h800(), 8, Operation::all_gather, kGiB), "ring");  // the switch saves an all-gather nothing
  EXPECT_EQ(chosen(h800(), 2, Operation::all_reduce, kGiB), "ring");
}

// What is chosen is never slower, alone, than another that could have been.
TEST(Algorithms, AutoIsTheQuickestOfItsCandidates) {
  for (const int ranks : {2, 8, 16, 64}) {
    for (const double payload : {1024.0, 65536.0, kMiB, 16 * kMiB, kGiB}) {
      const auto members = first_members(h800(), ranks, 0);
      const GroupShape shape = shape_of(h800(), members);
      const auto alone = [&](std::string_view name) {
        return seconds_alone(h800(),
                             make_pattern(h800(), members, Operation::all_reduce, name, {}, Detail::aggregate, payload),
                             payload);
      };
      const double best = alone("auto");
      for (const Algorithm& a : algorithms()) {
        if (a.operation != Operation::all_reduce || a.automatic == nullptr || !a.automatic(shape)) continue;
        EXPECT_LE(best, alone(a.name) * (1 + 1e-9)) << a.name;
      }
    }
  }
}

TEST(Algorithms, Refusals) {
  const auto why = [&](int ranks, Operation operation, const char* name, const ClusterSpec& cluster) {
    const char* reason = find_algorithm(operation, name)->refuses(shape_of(cluster, first_members(cluster, ranks, 0)));
    return std::string(reason == nullptr ? "" : reason);
  };
  ClusterSpec plain = h800();
  plain.gpu.nvls = {};
  EXPECT_NE(why(24, Operation::all_reduce, "halving_doubling", h800()).find("power of two"), std::string::npos);
  EXPECT_NE(why(12, Operation::all_reduce, "tree", h800()).find("as many members"), std::string::npos);
  EXPECT_NE(why(8, Operation::all_reduce, "nvls", plain).find("nvls"), std::string::npos);
  EXPECT_NE(why(2, Operation::all_reduce, "nvls", h800()).find("three or more"), std::string::npos);
  EXPECT_EQ(why(8, Operation::all_reduce, "nvls", h800()), "");
}

}  // namespace collective_algorithms_test
}  // namespace stepsim
