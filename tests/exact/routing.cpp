// Unequal experts against arithmetic: shares, bytes on links, the step's time.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <cmath>
#include <numeric>

#include <fmt/ranges.h>

#include "sim/collective/picks.hpp"
#include "sim/engine/engine.hpp"
#include "sim/graph/fold.hpp"
#include "support/shipped.hpp"
#include "support/temp_file.hpp"
#include "workloads/routing.hpp"
#include "workloads/step.hpp"

namespace stepsim::routing_test {
using Numbers = std::vector<double>;

double sum(const Numbers& values) {
  return std::accumulate(values.begin(), values.end(), 0.0);
}

// ---- shares

TEST(ExpertLoads, AddUpToThePicksOfAToken) {
  EXPECT_TRUE(rc::check("0 <= load <= 1, in the order of the shares, sum top_k", [] {
    const int experts = *rc::gen::inRange(2, 40), top_k = *rc::gen::inRange(1, experts);
    Numbers shares;
    for (int e = 0; e < experts; ++e) shares.push_back(*rc::gen::inRange(0, 50));
    RC_PRE(sum(shares) > 0);
    const Numbers loads = loads_of(shares, top_k);
    RC_ASSERT(std::abs(sum(loads) - top_k) <= 1e-12 * top_k);
    for (int e = 0; e < experts; ++e) {
      RC_ASSERT(loads[e] >= 0);
      RC_ASSERT(loads[e] <= 1);
      for (int f = 0; f < experts; ++f) RC_ASSERT(shares[e] < shares[f] || loads[e] >= loads[f]);
    }
  }));
}

// Shares 6, 1, 1, 0 of 2 picks: 1.5 would go to the first, which takes 1; the rest goes to the next two. With one share
// above zero everything else is spread evenly.
TEST(ExpertLoads, AnExpertGetsATokenOnce) {
  EXPECT_EQ(loads_of({6, 1, 1, 0}, 2), (Numbers{1, 0.5, 0.5, 0}));
  EXPECT_EQ(loads_of({3, 1, 0, 0}, 1), (Numbers{0.75, 0.25, 0, 0}));
  EXPECT_EQ(loads_of({0, 5, 0, 0}, 2), (Numbers{1.0 / 3, 1, 1.0 / 3, 1.0 / 3}));
}

// Of three experts with chances 1/2, 1/3, 1/6 one is picked: a GPU with the last two is reached in half of all cases.
// Two of three with loads 1, 1/2, 1/2. Equal loads: C(12, 3) of C(16, 3) sets miss a GPU of four experts.
TEST(Picks, ReachAGpu) {
  EXPECT_NEAR(Picks(Numbers{0.5, 1.0 / 3, 1.0 / 6}).reach(1, 2), 0.5, 1e-12);
  Picks certain(Numbers{1, 0.5, 0.5});
  EXPECT_EQ(certain.reach(0, 1), 1);
  EXPECT_NEAR(certain.reach(2, 1), 0.5, 1e-12);
  Picks equal(Numbers(16, 3.0 / 16));
  EXPECT_NEAR(equal.reach(4, 4), 1 - 220.0 / 560, 1e-12);
  EXPECT_NEAR(equal.reach(4, 4), expected_gpus(16, 4, 3) / 4, 1e-12);
}

TEST(Picks, EveryExpertIsReachedAsOftenAsItsLoadSays) {
  EXPECT_TRUE(rc::check("reach of one expert is its load", [] {
    const int experts = *rc::gen::inRange(2, 24), top_k = *rc::gen::inRange(1, std::min(experts, 9));
    Numbers shares;
    for (int e = 0; e < experts; ++e) shares.push_back(*rc::gen::inRange(1, 50));
    const Numbers loads = loads_of(shares, top_k);
    Picks picks(loads);
    for (int e = 0; e < experts; ++e) RC_ASSERT(std::abs(picks.reach(e, 1) - loads[e]) <= 1e-9);
  }));
}

// Weights 2, 1, 1, 1 and two picks: sets with the first weigh 2 each (3 of them), the others 1 each (3): 9 in all. The
// first is in 6/9, each other one in (2 + 1 + 1)/9. Missing the last two leaves one set of weight 2.
TEST(Picks, TwoOfFour) {
  Picks picks(Numbers{6.0 / 9, 4.0 / 9, 4.0 / 9, 4.0 / 9});
  EXPECT_NEAR(picks.reach(2, 2), 1 - 2.0 / 9, 1e-12);
  EXPECT_NEAR(picks.reach(0, 2), 1 - 1.0 / 9, 1e-12);
}

TEST(ExpertShare, OfARank) {
  EXPECT_EQ(share_of({}, 2, 4, 1), (ExpertShare{1, 1}));
  // 2 picks over 2 ranks: one a token each if equal.
  EXPECT_EQ(share_of({1, 0.5, 0.5, 0}, 2, 2, 0), (ExpertShare{1.5, 1}));
  EXPECT_EQ(share_of({1, 0.5, 0.5, 0}, 2, 2, 1), (ExpertShare{0.5, 0.5}));
}

// ---- bytes on links

const ClusterSpec& cluster() {
  static const ClusterSpec two_nodes =
      testing::shipped("deepseek-v3-1f1b", {"cluster.nodes=2", "plan.parallel.pipeline=1", "plan.parallel.expert=16",
                                            "plan.batch.global_sequences=16"})
          .cluster;
  return two_nodes;
}

constexpr double kNvlink = 160e9, kNic = 50e9;

// Bytes by link name, a payload byte.
std::map<std::string, double> bytes_of(const Pattern& pattern) {
  std::map<std::string, double> bytes;
  for (const Part& part : pattern.parts) {
    for (const Load& load : part.loads) {
      bytes[cluster().platform->links()[load.link].name] += load.legs * part.bytes_per_payload;
    }
  }
  return bytes;
}

double at(const std::map<std::string, double>& bytes, const std::string& link) {
  for (const auto& [name, value] : bytes) {
    if (std::equal(name.begin(), name.end(), link.begin(), link.end(),
                   [](char a, char b) { return std::tolower(a) == std::tolower(b); }))
      return value;
  }
  return 0;
}

Pattern exchange(const std::vector<RankId>& members, const Numbers& loads, double top_k, int max_nodes, bool back,
                 const char* algorithm, Detail detail = Detail::aggregate) {
  TokenRouting routing{static_cast<double>(loads.size()), top_k, max_nodes};
  routing = unequal_routing(routing, loads, static_cast<int>(members.size()), shape_of(cluster(), members).nodes);
  routing.back = back;
  return make_pattern(cluster(), members, Operation::all_to_all, algorithm, routing, detail);
}

double seconds_of_form(const Pattern& pattern, double payload) {
  double seconds = 0;
  for (const Part& part : pattern.parts) {
    if (!part.counted_only) seconds = std::max(seconds, part.alpha + part.beta * payload);
  }
  return seconds;
}

// Four ranks, four experts, the first gets every token: three others send it all they have.
TEST(UnequalExchange, OneGetsEverything) {
  const std::vector<RankId> members = {0, 1, 2, 3};
  const auto there = bytes_of(exchange(members, {1, 0, 0, 0}, 1, 0, false, "pairwise"));
  EXPECT_EQ(there.size(), 4u);
  EXPECT_EQ(at(there, "nv0_down"), 3);
  for (const char* link : {"nv1_up", "nv2_up", "nv3_up"}) EXPECT_EQ(at(there, link), 1) << link;
  const auto back = bytes_of(exchange(members, {1, 0, 0, 0}, 1, 0, true, "pairwise"));
  EXPECT_EQ(at(back, "nv0_up"), 3);
  for (const char* link : {"nv1_down", "nv2_down", "nv3_down"}) EXPECT_EQ(at(back, link), 1) << link;
  for (const bool way : {false, true}) {
    EXPECT_NEAR(seconds_of_form(exchange(members, {1, 0, 0, 0}, 1, 0, way, "pairwise", Detail::formula), 1e9),
                3.33e-6 + 3e9 / kNvlink, 1e-15);
  }
}

// Loads 1/2, 1/4, 1/8, 1/8: two of the four receive as much as each other and share a part.
TEST(UnequalExchange, SharesFollowTheLoads) {
  const std::vector<RankId> members = {0, 1, 2, 3};
  const Pattern pattern = exchange(members, {0.5, 0.25, 0.125, 0.125}, 1, 0, false, "pairwise");
  EXPECT_EQ(pattern.parts.size(), 3u);
  const auto bytes = bytes_of(pattern);
  EXPECT_NEAR(at(bytes, "nv0_down"), 1.5, 1e-12);
  EXPECT_NEAR(at(bytes, "nv1_down"), 0.75, 1e-12);
  EXPECT_NEAR(at(bytes, "nv2_down"), 0.375, 1e-12);
  EXPECT_NEAR(at(bytes, "nv0_up"), 0.5, 1e-12);
  EXPECT_NEAR(at(bytes, "nv3_up"), 0.875, 1e-12);
}

// Two nodes of four, eight experts, two picks, one node a token: the first node's experts have 3/4 of the load (3/8 a
// pick each), so 3/4 of the tokens go there and choose two of four. A GPU there is missed by half of them.
TEST(UnequalExchange, NodeLimited) {
  const std::vector<RankId> members = {0, 1, 2, 3, 8, 9, 10, 11};
  const Numbers loads = {0.375, 0.375, 0.375, 0.375, 0.125, 0.125, 0.125, 0.125};
  const auto there = bytes_of(exchange(members, loads, 2, 1, false, "node_limited"));
  EXPECT_NEAR(at(there, "nic0_down"), 0.75, 1e-12);
  EXPECT_NEAR(at(there, "nic0_up"), 0.25, 1e-12);
  EXPECT_NEAR(at(there, "nic8_down"), 0.25, 1e-12);
  // Each of the other three GPUs of the node passes on what two nodes' rails brought it: 2 x 3/4, half of it.
  EXPECT_NEAR(at(there, "nv0_down"), 3 * 2 * 0.375, 1e-12);
  EXPECT_NEAR(at(there, "nv0_up"), 3 * 2 * 0.375, 1e-12);
  EXPECT_NEAR(at(there, "nv8_down"), 3 * 2 * 0.125, 1e-12);
  const Pattern form = exchange(members, loads, 2, 1, true, "node_limited", Detail::formula);
  EXPECT_NEAR(seconds_of_form(form, 1e9), std::max(0.75e9 / kNic + 2.8e-6, 2.25e9 / kNvlink + 6.13e-6), 1e-12);
}

Numbers random_loads(int experts, int top_k) {
  Numbers shares;
  for (int e = 0; e < experts; ++e) shares.push_back(*rc::gen::inRange(0, 9) + (e == 0 ? 1 : 0));
  return loads_of(shares, top_k);
}

// Whatever the loads: what is sent is received, combine is dispatch the other way round, and the closed form is the
// busiest port of the traffic.
TEST(UnequalExchange, ConservesBytesAndMatchesItsClosedForm) {
  EXPECT_TRUE(rc::check("ups equal downs; closed form equals traffic", [] {
    const int g = *rc::gen::elementOf(std::vector<int>{1, 2, 4, 8}), nodes = *rc::gen::inRange(1, 3);
    RC_PRE(g * nodes > 1);
    std::vector<RankId> members;
    for (int n = 0; n < nodes; ++n) {
      for (int i = 0; i < g; ++i) members.push_back(8 * n + i);
    }
    const int experts = g * nodes * *rc::gen::inRange(1, 4), top_k = *rc::gen::inRange(1, std::min(experts, 7));
    const Numbers loads = random_loads(experts, top_k);
    const int max_nodes = *rc::gen::inRange(0, 3);
    for (const char* algorithm : {"pairwise", "node_limited"}) {
      for (const bool back : {false, true}) {
        const auto bytes = bytes_of(exchange(members, loads, top_k, max_nodes, back, algorithm));
        double up = 0, down = 0, slowest = 0;
        const auto mirrored = bytes_of(exchange(members, loads, top_k, max_nodes, !back, algorithm));
        const bool hops = std::string(algorithm) == "pairwise" && nodes > 1 && g > 1;  // which lie on the sender's side
        for (const RankId r : members) {
          for (const std::string port : {"nv", "nic"}) {
            const std::string name = fmt::format("{}{}", port, r);
            const double out = at(bytes, name + "_up"), in = at(bytes, name + "_down");
            up += out;
            down += in;
            slowest = std::max({slowest, out / (port == "nv" ? kNvlink : kNic), in / (port == "nv" ? kNvlink : kNic)});
            if (!hops) RC_ASSERT(std::abs(at(mirrored, name + "_up") - in) <= 1e-9);
          }
        }
        RC_ASSERT(std::abs(up - down) <= 1e-9 * up);
        const double form =
            seconds_of_form(exchange(members, loads, top_k, max_nodes, back, algorithm, Detail::formula), 1e15);
        RC_ASSERT(std::abs(form - slowest * 1e15) <= 1e-4 + 1e-9 * form);  // latencies aside
      }
    }
  }));
}

// ---- steps

// One node, four experts on four ranks (two such groups), one pick; everything one after the other.
std::vector<std::string> four_experts(const std::string& balance) {
  return {"cluster.nodes=1",
          "plan.parallel.pipeline=1",
          "plan.parallel.expert=4",
          "plan.parallel.zero=0",
          "plan.batch.global_sequences=8",
          "plan.routing.balance=" + balance,
          "plan.routing.max_nodes=0",
          "plan.collectives={}",
          "plan.sms.communication=0",
          "plan.recompute=none",
          "plan.overlap.reduce=at_end",
          "plan.precision.linear=bf16",
          "plan.precision.dispatch=bf16",
          "plan.precision.activations=bf16",
          "model.layers=3",
          "model.heads=16",
          "model.kv_heads=16",
          "model.vocabulary=4096",
          "model.experts={count: 4, top_k: 1, ffn: 2048, shared: 0, dense_layers: 1, every: 1, groups: 1}"};
}

Step step_of(const Inputs& in, Detail detail = Detail::aggregate) {
  return make_step(in.model, in.cluster, in.plan, detail);
}

double seconds(const Inputs& in, Detail detail = Detail::aggregate) {
  return make_simgrid_engine()->run(fold(step_of(in, detail).graph).graph).end;
}

// The first rank then works on all 4 x 4096 tokens instead of 4096, in two layers. A row costs 3 matrices of 7168 x
// 2048, forward, input and weight gradient; 16 x 7168 bytes of (un)permuting it in two directions; SwiGLU's 3 + 5 times
// 2048 numbers. Four exchanges a layer bring 3 shares to one port instead of 3/4.
TEST(UnequalStep, OneExpertGetsEverything) {
  const test::TempFile counts("# one expert does it all\n1000,0,0,0\n", ".csv");
  const double equal = seconds(testing::shipped("deepseek-v3-1f1b", four_experts("uniform")));
  for (const Detail detail : {Detail::aggregate, Detail::formula}) {
    const double unequal = seconds(testing::shipped("deepseek-v3-1f1b", four_experts(counts.path())), detail);
    const double rows = 3 * 4096.0;
    const double gemms = rows * 3 * 3 * 2 * 7168 * 2048 / 758e12, memory = rows * (16 * 7168 + 16 * 2048) / 2970e9;
    const double wires = 4 * (3 - 0.75) * 4096 * 7168 * 2 / kNvlink;
    EXPECT_NEAR(unequal - equal, 2 * (gemms + memory + wires), 1e-9 * equal);
  }
}

TEST(UnequalStep, ProgramsAndMemoryFollowTheLoad) {
  const test::TempFile counts("counts: [2, 1, 1, 0]\n", ".yaml");
  const Step equal = step_of(testing::shipped("deepseek-v3-1f1b", four_experts("uniform")));
  const Step unequal = step_of(testing::shipped("deepseek-v3-1f1b", four_experts(counts.path())));
  EXPECT_EQ(equal.graph.programs.size(), 1u);
  EXPECT_EQ(unequal.graph.programs.size(), 3u);  // ranks 1 and 2 share one
  EXPECT_EQ(unequal.graph.ranks[1].program, unequal.graph.ranks[6].program);
  EXPECT_EQ(problems_of(unequal.graph), std::vector<std::string>{});
  EXPECT_EQ(fold(unequal.graph).graph.ranks.size(), 3u);
  // The first rank keeps 4096 rows more (input 7168, SwiGLU's input and output 3 x 2048, BF16) in each of two layers.
  EXPECT_NEAR((unequal.memory[0].activations - equal.memory[0].activations).value, 2 * 4096.0 * (7168 + 3 * 2048) * 2,
              1);
  // All ranks together do the same work.
  EXPECT_NEAR(unequal.hardware_flops, equal.hardware_flops, 1e-12 * equal.hardware_flops);
}

// zipf:0 and equal counts are uniform routing, to the last bit.
TEST(UnequalStep, EqualSharesAreUniform) {
  const Step uniform = step_of(testing::shipped("deepseek-v3-dualpipe"));
  EXPECT_EQ(step_of(testing::shipped("deepseek-v3-dualpipe", {"plan.routing.balance=zipf:0"})).graph, uniform.graph);
  const test::TempFile counts(fmt::format("{}\n", fmt::join(Numbers(256, 7), ",")), ".csv");
  EXPECT_EQ(step_of(testing::shipped("deepseek-v3-dualpipe", {"plan.routing.balance=" + counts.path()})).graph,
            uniform.graph);
}

// Lists by layer: the same list for each layer is one list; a layer with equal experts runs as under uniform routing.
TEST(UnequalStep, CountsByLayer) {
  const test::TempFile one("4,2,1,1\n", ".csv"), same("4,2,1,1\n4,2,1,1\n", ".csv"),
      mixed("4,2,1,1\n1,1,1,1\n", ".csv"), column("4\n2\n1\n1\n", ".csv");
  const auto of = [](const test::TempFile& f) { return testing::shipped("deepseek-v3-1f1b", four_experts(f.path())); };
  EXPECT_EQ(step_of(of(one)).graph, step_of(of(same)).graph);
  EXPECT_EQ(step_of(of(one)).graph, step_of(of(column)).graph);
  const double uniform = seconds(testing::shipped("deepseek-v3-1f1b", four_experts("uniform")));
  EXPECT_NEAR(seconds(of(mixed)) - uniform, (seconds(of(one)) - uniform) / 2, 1e-9 * uniform);
}

// Random loads, two nodes, a pipeline, pairs, split experts: folded and full agree on every event.
TEST(UnequalStep, FoldsExactly) {
  EXPECT_TRUE(rc::check("folded equals full", [] {
    const int pipeline = *rc::gen::elementOf(std::vector<int>{1, 2});
    const std::string schedule = pipeline == 2 && *rc::gen::arbitrary<bool>() ? "dualpipe" : "1f1b";
    const bool wide = *rc::gen::arbitrary<bool>();
    Numbers counts;
    for (int e = 0; e < 16; ++e) counts.push_back(*rc::gen::inRange(0, 4) + (e == 3 ? 1 : 0));
    const test::TempFile file(fmt::format("{}\n", fmt::join(counts, ",")), ".csv");
    std::vector<std::string> sets = {
        "cluster.nodes=2",
        "model.hidden=512",
        "model.ffn=1024",
        "model.vocabulary=4096",
        "model.heads=8",
        "model.kv_heads=8",
        "model.layers=6",
        fmt::format("plan.parallel.pipeline={}", pipeline),
        fmt::format("plan.parallel.expert={}", wide ? 4 : *rc::gen::elementOf(std::vector<int>{4, 8, 16 / pipeline})),
        fmt::format("plan.parallel.expert_tensor={}", wide ? 2 : 1),
        "plan.batch.global_sequences=64",
        "plan.batch.sequence_length=512",
        "plan.schedule=" + schedule,
        fmt::format("plan.overlap.expert={}", schedule == "dualpipe" ? "paired" : "blocking"),
        fmt::format("plan.routing={{balance: {}, max_nodes: {}}}", file.path(), *rc::gen::inRange(1, 3)),
        "plan.collectives={}",
        "model.experts={count: 16, top_k: 4, ffn: 256, shared: 1, shared_ffn: 256, dense_layers: 1, every: 1, groups: "
        "4}"};
    const Inputs in = testing::shipped("deepseek-v3-1f1b", sets);
    const Step step = step_of(in);
    RC_ASSERT(problems_of(step.graph).empty());
    const Folding folding = fold(step.graph);
    const Timeline full = make_simgrid_engine()->run(step.graph), folded = make_simgrid_engine()->run(folding.graph);
    RC_ASSERT(std::abs(folded.end - full.end) <= 1e-9 * full.end);
    for (std::size_t r = 0; r < full.spans.size(); ++r) {
      for (std::size_t op = 0; op < full.spans[r].size(); ++op) {
        RC_ASSERT(std::abs(full.spans[r][op].end - folded.spans[folding.rank_color[r]][op].end) <= 1e-9 * full.end);
      }
    }
  }));
}

// ---- what is refused

std::string refusal(const std::string& balance) {
  try {
    testing::shipped("deepseek-v3-1f1b", {"plan.routing.balance=" + balance});
  } catch (const InputError& e) {
    return e.what();
  }
  return "";
}

TEST(Balance, IsChecked) {
  const auto has = [](const std::string& balance, const std::string& part) {
    const std::string text = refusal(balance);
    EXPECT_NE(text.find(part), std::string::npos) << text;
  };
  has("zipf", "\"zipf\" is neither uniform, nor zipf:EXPONENT, nor a .csv or .yaml file of recorded counts");
  has("zipf:-1", "\"-1\" is not an exponent from 0 to 10");
  has("zipf:11", "\"11\" is not an exponent from 0 to 10");
  has("zipf:nan", "\"nan\" is not an exponent from 0 to 10");
  has("missing.csv", "plan.routing.balance: there is no file missing.csv");
  const test::TempFile few("1,2,3\n", ".csv"), negative("1,-2\n", ".csv"), words("1,many\n", ".csv"),
      zero("0,0\n", ".csv"), layers(fmt::format("{0}\n{0}\n", fmt::join(Numbers(256, 7), ",")), ".csv"),
      empty("# nothing\n", ".csv"), mixed("counts: [1, [2]]\n", ".yaml");
  has(few.path(), "has 3 counts; deepseek-v3 has 256 experts");
  has(negative.path(), "-2 is negative; a count of tokens is due");
  has(words.path(), "\"many\" is not a count of tokens");
  has(zero.path(), "has no count above 0");
  has(layers.path(), "holds 2 lists of counts; deepseek-v3 has 58 layers with experts");
  has(empty.path(), "holds no counts");
  has(mixed.path(), "lists and single numbers stand side by side");
}

}  // namespace stepsim::routing_test
