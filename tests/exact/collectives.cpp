// Patterns of collectives against closed forms: `aggregate` alone on its wires takes what `formula` says, and both what
// is worked out here by hand.
#include <gtest/gtest.h>

#include <cmath>

#include "sim/collective/algorithm.hpp"
#include "sim/collective/copies.hpp"
#include "support/shipped.hpp"

namespace stepsim {
namespace collectives_test {

const ClusterSpec& cluster() {
  static const ClusterSpec spec = testing::shipped("deepseek-v3-1f1b").cluster;
  return spec;
}

std::vector<RankId> ranks(int n, int stride = 1) {
  std::vector<RankId> members;
  for (int i = 0; i < n; ++i) members.push_back(i * stride);
  return members;
}

// Seconds of a call that has its links to itself; parts that name others come after them.
double seconds(const Pattern& pattern, double payload) {
  std::vector<double> ends;
  for (const Part& part : pattern.parts) {
    double begin = 0, per_byte = part.beta;
    for (const std::int32_t before : part.after) begin = std::max(begin, ends[before]);
    for (const Load& load : part.loads) {
      if (part.counted_only) break;
      per_byte =
          std::max(per_byte, part.beta + part.bytes_per_payload * load.legs / cluster().bandwidth[load.link].value);
    }
    ends.push_back(begin + part.alpha + payload * per_byte);
  }
  return *std::max_element(ends.begin(), ends.end());
}

constexpr double kGb = 1e9, kNic = 50e9, kNvlink = 160e9;

// Two members on one node, one on each of two others: no closed form counts that, so that the traffic stays.
TEST(Collectives, UnevenGroupsKeepTheirTrafficInFormula) {
  const std::vector<RankId> members{0, 6, 12, 18};
  for (const Algorithm& a : algorithms()) {
    if (a.operation == Operation::point_to_point || a.name == "node_limited") continue;
    if (a.refuses != nullptr && a.refuses(shape_of(cluster(), members)) != nullptr) continue;
    for (const double payload : {4.0, 1e9}) {
      const double traffic =
          seconds(make_pattern(cluster(), members, a.operation, a.name, {}, Detail::aggregate, payload), payload);
      const double formula =
          seconds(make_pattern(cluster(), members, a.operation, a.name, {}, Detail::formula, payload), payload);
      EXPECT_TRUE(std::isfinite(formula)) << to_text(a.operation) << " " << a.name;
      EXPECT_NEAR(traffic, formula, 0.5 * traffic) << to_text(a.operation) << " " << a.name << " " << payload;
    }
  }
}

TEST(Collectives, AggregateIsTheClosedForm) {
  const TokenRouting experts{256, 8, 4, {}, {}, {}, false};
  for (const Algorithm& a : algorithms()) {
    for (const auto& members :
         {ranks(8), ranks(64), ranks(16, 8), ranks(2), ranks(2, 8), ranks(3), ranks(5, 8), ranks(24)}) {
      if (a.operation == Operation::point_to_point && members.size() != 2) continue;
      if (a.refuses != nullptr && a.refuses(shape_of(cluster(), members)) != nullptr) continue;
      const bool routed = a.operation == Operation::all_to_all && members.size() == 64;
      if (a.name == "node_limited" && !routed) continue;
      const TokenRouting routing = routed ? experts : TokenRouting{};
      for (const double payload : {1e3, 1e6, 1e9}) {
        const double traffic = seconds(
            make_pattern(cluster(), members, a.operation, a.name, routing, Detail::aggregate, payload), payload);
        const double formula =
            seconds(make_pattern(cluster(), members, a.operation, a.name, routing, Detail::formula, payload), payload);
        EXPECT_NEAR(traffic, formula, 1e-9 * formula)
            << to_text(a.operation) << " " << a.name << " " << members.size() << " " << payload;
      }
    }
  }
}

double seconds(Operation operation, const char* algorithm, const std::vector<RankId>& members,
               const TokenRouting& routing = {}) {
  return seconds(make_pattern(cluster(), members, operation, algorithm, routing, Detail::aggregate, kGb), kGb);
}

// 64 GPUs on 8 nodes under one leaf: 2.8 us between NICs, 3.33 us inside a node. From GPU 7 to GPU 8, the next node's
// first, the planes differ: both. The ring's slowest leg is never without bytes: one latency.
TEST(Collectives, ByHand) {
  EXPECT_NEAR(seconds(Operation::all_reduce, "ring", ranks(64)), 2.8e-6 + 3.33e-6 + 2 * 63.0 / 64 * kGb / kNic, 1e-9);
  EXPECT_NEAR(seconds(Operation::all_gather, "hierarchical", ranks(64)), 3.33e-6 + 7.0 / 8 * kGb / kNvlink, 1e-9);
  EXPECT_NEAR(seconds(Operation::all_gather, "flat", ranks(64)), 2.8e-6 + 3.33e-6 + 56.0 / 64 * kGb / kNic, 1e-9);
  EXPECT_NEAR(seconds(Operation::reduce_scatter, "ring", ranks(8)), 7 * 3.33e-6 + 7.0 / 8 * kGb / kNvlink, 1e-9);
  EXPECT_NEAR(seconds(Operation::point_to_point, "direct", ranks(2, 8)), 2.8e-6 + kGb / kNic, 1e-12);
  EXPECT_NEAR(seconds(Operation::shift, "ring", ranks(16, 8)), 2.8e-6 + kGb / kNic, 1e-12);
  // Four nodes a token, an eighth of the copies local: 3.5 copies of each token on the NIC.
  EXPECT_NEAR(seconds(Operation::all_to_all, "node_limited", ranks(64), {256, 8, 4, {}, {}, {}, false}),
              2.8e-6 + 3.5 * kGb / kNic, 1e-9);
}

double nic_copies(const char* algorithm, int experts, int max_nodes, bool every_copy = false) {
  const TokenRouting routing{static_cast<double>(experts), 8, max_nodes, {}, {}, {}, false, every_copy};
  const Pattern p = make_pattern(cluster(), ranks(64), Operation::all_to_all, algorithm, routing, Detail::aggregate);
  double copies = 0;
  for (const Part& part : p.parts) {
    for (const Load& load : part.loads) {
      if (cluster().platform->links()[load.link].name == "nic0_up") copies += load.legs * part.bytes_per_payload;
    }
  }
  return copies;
}

// Top-8 of 128 experts on 8 nodes without a limit: 8 (1 - C(112,8)/C(128,8)) nodes, 7/8 of them remote: 4.67 copies,
// never more than the plain algorithm's copies for each GPU: 64 (1 - C(126,8)/C(128,8)), 56/64 of them remote.
TEST(Collectives, TokensReachTheNodesOfTheirExperts) {
  double none = 1, no_gpu = 1;
  for (int i = 0; i < 8; ++i) {
    none *= (112.0 - i) / (128.0 - i);
    no_gpu *= (126.0 - i) / (128.0 - i);
  }
  EXPECT_NEAR(nic_copies("node_limited", 128, 0), 7 * (1 - none), 1e-9);
  EXPECT_NEAR(nic_copies("pairwise", 128, 0), 56 * (1 - no_gpu), 1e-9);
  EXPECT_NEAR(nic_copies("node_limited", 128, 2), 2 * 7.0 / 8, 1e-9);
  EXPECT_LT(nic_copies("node_limited", 128, 0), nic_copies("pairwise", 128, 0));
  EXPECT_LT(nic_copies("pairwise", 128, 2), nic_copies("pairwise", 128, 0));
}

// NCCL's all-to-all knows nothing of tokens: all 8 copies travel, 7/8 of them to other nodes. Copies are counted as what a
// member sends: DeepEP's nodes, or GPUs, or every copy.
TEST(Collectives, EveryCopyTravels) {
  EXPECT_NEAR(nic_copies("pairwise", 128, 0, true), 7, 1e-12);
  EXPECT_NEAR(nic_copies("rail_aligned", 128, 0, true), 7, 1e-12);
  EXPECT_NEAR(nic_copies("pairwise", 256, 4, true), 7, 1e-12);
  const GroupShape shape = shape_of(cluster(), ranks(64));
  TokenRouting routing{256, 8, 4};
  EXPECT_DOUBLE_EQ(copies_sent(shape, routing, true), 4);
  // Two of the 32 experts of each of four nodes: 8 (1 - C(28,2)/C(32,2)) of its GPUs.
  EXPECT_NEAR(copies_sent(shape, routing, false), 4 * 8 * (1 - 28.0 * 27 / (32 * 31)), 1e-12);
  routing.every_copy = true;
  EXPECT_DOUBLE_EQ(copies_sent(shape, routing, false), 8);
  EXPECT_DOUBLE_EQ(copies_sent(shape, {}, false), 1);
  // Eight experts on four GPUs, two picks, the first expert in every token: the first GPU gets 1 + 1/7 copies.
  std::vector<double> loads(8, 1.0 / 7);
  loads[0] = 1;
  const TokenRouting unequal = unequal_routing({.experts = 8, .top_k = 2, .every_copy = true}, loads, 4, 1);
  EXPECT_NEAR(unequal.to_member[0], 8.0 / 7, 1e-12);
  EXPECT_NEAR(unequal.to_member[3], 2.0 / 7, 1e-12);
  EXPECT_NEAR(copies_sent(shape_of(cluster(), ranks(4)), unequal, false), 2, 1e-12);
}

}  // namespace collectives_test
}  // namespace stepsim
