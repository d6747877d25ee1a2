// Folded graphs behave exactly like the full ones.
#include "sim/graph/fold.hpp"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "sim/engine/engine.hpp"
#include "sim/graph/dump.hpp"
#include "support/small_graphs.hpp"

namespace stepsim::fold_test {
using namespace testing;

// `n` ranks in pairs over own ports, all behind one uplink; rank `slow` has another speed.
StepGraph pairs(int n, int slow, double speed) {
  GraphMaker m;
  const int program = m.program({compute(1), transfer(1, 0, 1e9, {0}), compute(0.5, {1})});
  const int uplink = m.link(1e9 * n / 4);
  for (int r = 0; r < n; ++r) {
    m.link(1e9, r);
    m.rank(program, 1, r == slow ? speed : 1);
  }
  for (int r = 0; r < n; r += 2) m.group({{r, 0}, {r + 1, 0}}, {{1 + r, 1}, {2 + r, 1}, {uplink, 2}});
  return m.graph;
}

TEST(Fold, AlikeRanksBecomeOne) {
  const Folding folding = fold(pairs(64, -1, 1));
  ASSERT_EQ(folding.graph.ranks.size(), 1u);
  EXPECT_EQ(folding.graph.ranks[0].count, 64);
  ASSERT_EQ(folding.graph.groups.size(), 1u);
  EXPECT_EQ(folding.graph.groups[0].count, 32);
  ASSERT_EQ(folding.graph.links.size(), 2u);  // the uplink, a port
  // 32 groups of two legs each cross the uplink.
  double legs = 0;
  for (const Load& load : folding.graph.groups[0].patterns[0].parts[0].loads) legs = std::max(legs, load.legs);
  EXPECT_EQ(legs, 64);
}

TEST(Fold, AStragglerSplitsColours) {
  // The straggler, its partner (which waits for it), and all others.
  const Folding folding = fold(pairs(64, 5, 0.8));
  ASSERT_EQ(folding.graph.ranks.size(), 3u);
  EXPECT_EQ(folding.rank_color[5], folding.rank_color[5]);
  EXPECT_NE(folding.rank_color[4], folding.rank_color[5]);
  EXPECT_NE(folding.rank_color[4], folding.rank_color[6]);
}

// Three kinds, and each says why: the straggler itself, its partner by their group.
TEST(Fold, ExplainsWhyRanksDiffer) {
  const FoldingReasons reasons = explain_folding(pairs(64, 5, 0.8));
  EXPECT_EQ(reasons.ranks, 64u);
  EXPECT_EQ(reasons.rank_kinds, 3u);
  EXPECT_EQ(reasons.groups, 32u);
  EXPECT_EQ(reasons.group_kinds, 2u);
  EXPECT_EQ(reasons.links, 65u);
  EXPECT_EQ(reasons.link_kinds, 4u);  // the uplink; ports of the three kinds of rank
  ASSERT_EQ(reasons.kinds.size(), 3u);
  EXPECT_EQ(reasons.kinds[0].count, 62);
  EXPECT_EQ(reasons.kinds[0].unlike, -1);
  EXPECT_EQ(reasons.kinds[1].first, 4);
  EXPECT_EQ(reasons.kinds[1].unlike, 0);
  EXPECT_EQ(reasons.kinds[1].why,
            (std::vector<std::string>{"is in group \"group 2\", which has rank 5", "has speed 0.8, not 1"}));
  EXPECT_EQ(reasons.kinds[2].why, std::vector<std::string>{"has speed 0.8, not 1"});
}

TEST(Fold, ExplainsSlowLinksAndChanges) {
  StepGraph graph = pairs(64, -1, 1);
  graph.links[8].capacity = 0.5e9;  // port of rank 7
  graph.links[12].capacity_changes = {{1, 0}};
  graph.ranks[20].speed_changes = {{1, 0.5}};
  std::map<RankId, std::string> why;
  for (const RankKind& kind : explain_folding(graph).kinds) why[kind.first] = kind.why.empty() ? "" : kind.why.back();
  EXPECT_EQ(why.at(0), "");
  EXPECT_EQ(why.at(7), "has link link8, which has 0.5 GB/s, not 1 GB/s");
  EXPECT_EQ(why.at(11), "has link link12, which changes its bandwidth at other times");
  EXPECT_EQ(why.at(20), "changes its speed at other times");
}

TEST(Fold, JitterDoesNotFold) {
  StepGraph graph = pairs(4, -1, 1);
  EXPECT_TRUE(folds(graph));
  graph.jitter.compute_sigma = 0.1;
  EXPECT_FALSE(folds(graph));
}

// Uplink of 16 GB/s for 64 legs of 1 GB: 4 s. With a straggler at half speed one pair starts 1 s later; until then 62
// legs share 16 GB/s.
TEST(Fold, TimesAreThoseOfTheFullGraph) {
  for (const double speed : {1.0, 0.5}) {
    const StepGraph full = pairs(64, speed < 1 ? 5 : -1, speed);
    const Folding folding = fold(full);
    const Timeline a = make_simgrid_engine()->run(full);
    const Timeline b = make_simgrid_engine()->run(folding.graph);
    if (speed == 1.0) {
      EXPECT_NEAR(a.end, 1 + 64e9 / 16e9 + 0.5, 1e-9);
    }
    for (std::size_t r = 0; r < full.ranks.size(); ++r) {
      for (std::size_t op = 0; op < 3; ++op) {
        EXPECT_NEAR(a.spans[r][op].end, b.spans[folding.rank_color[r]][op].end, 1e-9 * a.end);
      }
    }
  }
}

// Random graphs: some programs, ranks dealt to them, groups of equal programs over random links, stragglers, slow
// links.
StepGraph random_graph() {
  GraphMaker m(4);
  const int n = *rc::gen::inRange(2, 13) * 2;
  const int calls = *rc::gen::inRange(1, 4);
  std::vector<Op> ops;
  for (int c = 0; c < calls; ++c) {
    const auto last = static_cast<std::int32_t>(ops.size()) - 1;
    ops.push_back(compute(*rc::gen::inRange(1, 5) * 0.25,
                          last >= 0 ? OpList{last} : OpList{}));
    ops.push_back(transfer(static_cast<std::uint8_t>(1 + c % 3), static_cast<std::int16_t>(c % 3),
                           *rc::gen::inRange(1, 9) * 1e8, {static_cast<std::int32_t>(ops.size()) - 1}));
  }
  const int program = m.program(ops);
  const int odd = *rc::gen::inRange(-n, n);
  for (int r = 0; r < n; ++r) m.rank(program, 3, r == odd ? 0.5 : 1);
  std::vector<int> links;
  const int slow = *rc::gen::inRange(-n, n);
  for (int r = 0; r < n; ++r) links.push_back(m.link(r == slow ? 0.5e9 : 1e9, r));
  const int shared = m.link(*rc::gen::inRange(1, n + 1) * 0.5e9);
  // Times are no round numbers, so that nothing else happens just then.
  if (odd >= 0 && odd % 2 == 0) m.graph.ranks[odd].speed_changes = {{0.3113, 1}, {0.7321, 0.25}};
  if (slow >= 0 && slow % 3 == 0) m.graph.links[links[slow]].capacity_changes = {{0.4177, 0}, {1.2341, 2e9}};
  if (odd < 0) m.graph.links[shared].capacity_changes = {{0.6173, 0.25e9}, {2.1717, 3e9}};
  const bool rerouted = *rc::gen::arbitrary<bool>();
  if (rerouted) m.graph.reroutings = {{0.5171, 1}, {1.6171, 0}};
  for (std::int16_t slot = 0; slot < 3 && slot < calls; ++slot) {
    const int size = *rc::gen::elementOf(std::vector<int>{1, 2, n / 2, n});
    for (int first = 0; first + size <= n; first += size) {
      std::vector<Endpoint> endpoints;
      std::vector<Load> loads;
      const int stride = slot == 1 && n % size == 0 ? n / size : 1;
      for (int i = 0; i < size; ++i) {
        const RankId r = stride == 1 ? first + i : (first / size + i * stride) % n;
        endpoints.push_back({r, slot});
        loads.push_back({links[r], static_cast<double>(1 + slot)});
      }
      loads.push_back({shared, static_cast<double>(size)});
      const GroupId g = m.group(endpoints, loads, slot * 1e-3);
      if (!rerouted || first > 0) continue;
      for (Load& load : loads) load.legs += load.link == links[endpoints[0].rank] ? 2 : 0;
      m.graph.groups[g].patterns[0].parts[0].detours = {{loads, 2e-3}};
    }
    const int left = n % size;
    for (int r = n - left; r < n; ++r) m.group({{r, slot}}, {{links[r], 1}});
  }
  return m.graph;
}

TEST(Fold, RandomGraphsAgree) {
  EXPECT_TRUE(rc::check("folded and full timelines agree to 1e-9", [] {
    const StepGraph full = random_graph();
    RC_PRE(problems_of(full).empty());
    const Folding folding = fold(full);
    RC_LOG() << dump_text(full) << dump_text(folding.graph);
    RC_ASSERT(fold(folding.graph).graph == folding.graph);  // it has no two of a kind
    const Timeline a = make_simgrid_engine()->run(full);
    const Timeline b = make_simgrid_engine()->run(folding.graph);
    for (std::size_t l = 0; l < a.link_bytes.size(); ++l) {
      if (folding.link_color[l] < 0) continue;
      RC_ASSERT(std::abs(a.link_bytes[l] - b.link_bytes[folding.link_color[l]]) <= 1e-9 * a.link_bytes[l] + 1);
    }
    for (std::size_t r = 0; r < full.ranks.size(); ++r) {
      for (std::size_t op = 0; op < a.spans[r].size(); ++op) {
        const Span& x = a.spans[r][op];
        const Span& y = b.spans[folding.rank_color[r]][op];
        RC_ASSERT(std::abs(x.start - y.start) <= 1e-9 * a.end);
        RC_ASSERT(std::abs(x.end - y.end) <= 1e-9 * a.end);
      }
    }
  }));
}

}  // namespace stepsim::fold_test
