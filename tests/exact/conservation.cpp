// What links carry is what collectives send, and no link carries more than its capacity allows.
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <cmath>
#include <map>

#include "sim/cluster/star.hpp"
#include "sim/collective/algorithm.hpp"
#include "sim/collective_call.hpp"
#include "sim/engine/engine.hpp"
#include "sim/graph/fold.hpp"
#include "sim/report/calls.hpp"
#include "support/shipped.hpp"
#include "support/small_graphs.hpp"
#include "workloads/step.hpp"

namespace stepsim {
namespace conservation_test {

using namespace testing;

const ClusterSpec& h800() {
  static const ClusterSpec spec = shipped("deepseek-v3-1f1b").cluster;
  return spec;
}

using Bytes = std::map<LinkId, double>;  // a payload byte

Bytes bytes_of(const Pattern& pattern) {
  Bytes bytes;
  for (const Part& part : pattern.parts) {
    for (const Load& load : part.loads) bytes[load.link] += load.legs * part.bytes_per_payload;
  }
  return bytes;
}

double total(const Bytes& bytes) {
  double sum = 0;
  for (const auto& [link, b] : bytes) sum += b;
  return sum;
}

// Every algorithm, on any group that it serves: steady traffic, closed form and messages put the same bytes on the same
// links.
TEST(Conservation, DetailsAgreeLinkByLink) {
  EXPECT_TRUE(rc::check("bytes of each link, in all details", [] {
    const Algorithm& a = algorithms()[*rc::gen::inRange<std::size_t>(0, algorithms().size())];
    const int per_node = *rc::gen::elementOf(std::vector<int>{1, 2, 3, 4, 8}), nodes = *rc::gen::inRange(1, 6);
    if (per_node * nodes < 2) return;
    const int ranks = a.operation == Operation::point_to_point ? 2 : per_node * nodes;
    const auto members = first_members(h800(), ranks, per_node);
    if (a.refuses != nullptr && a.refuses(shape_of(h800(), members)) != nullptr) return;
    TokenRouting routing;
    if (a.operation == Operation::all_to_all && (a.name == "node_limited" || *rc::gen::arbitrary<bool>())) {
      routing = {240, 8, *rc::gen::inRange(0, 4)};
      if (240 % ranks == 0 && *rc::gen::arbitrary<bool>()) {
        std::vector<double> loads(240, 7.0 / 239);
        loads[static_cast<std::size_t>(*rc::gen::inRange(0, 240))] = 1;
        routing = unequal_routing(routing, loads, ranks, nodes);
        routing.back = *rc::gen::arbitrary<bool>();
      }
    }
    const double payload = std::pow(2.0, *rc::gen::inRange(4, 31));
    const auto in = [&](Detail detail) {
      return bytes_of(make_pattern(h800(), members, a.operation, a.name, routing, detail, payload));
    };
    const Bytes aggregate = in(Detail::aggregate), flow = in(Detail::flow), formula = in(Detail::formula);
    RC_ASSERT(aggregate == formula);
    RC_ASSERT(aggregate.size() == flow.size());
    for (const auto& [link, bytes] : aggregate) {
      RC_ASSERT(flow.count(link) == 1u);
      RC_ASSERT(std::abs(flow.at(link) - bytes) <= 1e-12 * bytes * static_cast<double>(ranks));
    }
  }));
}

// What the members send altogether, from the definitions of the operations, times the links of a route: two through a
// star, or through a node's switch.
TEST(Conservation, BytesAreWhatTheOperationsSendTimesHops) {
  for (const int n : {2, 3, 8, 16, 61, 64}) {
    const ClusterSpec star = star_cluster(n, BytesPerSecond(50e9), Seconds(1e-6));
    const auto members = first_members(star, n, 0);
    const auto sent = [&](Operation operation, const char* name, Detail detail) {
      return total(bytes_of(make_pattern(star, members, operation, name, {}, detail))) / 2;
    };
    for (const Detail detail : {Detail::aggregate, Detail::flow}) {
      const double shares = n - 1;  // V of every one of the others, once
      for (const char* name : {"ring", "flat"}) {
        EXPECT_NEAR(sent(Operation::all_gather, name, detail), shares, 1e-12 * n * n) << name << n;
        EXPECT_NEAR(sent(Operation::reduce_scatter, name, detail), shares, 1e-12 * n * n) << name << n;
        EXPECT_NEAR(sent(Operation::all_reduce, name, detail), 2 * shares, 1e-12 * n * n) << name << n;
      }
      EXPECT_NEAR(sent(Operation::all_reduce, "tree", detail), 2 * shares, 1e-12 * n * n) << n;
      if ((n & (n - 1)) == 0) {
        EXPECT_NEAR(sent(Operation::all_reduce, "halving_doubling", detail), 2 * shares, 1e-12 * n * n) << n;
      }
      EXPECT_NEAR(sent(Operation::broadcast, "ring", detail), shares, 1e-12 * n * n) << n;
      EXPECT_NEAR(sent(Operation::broadcast, "tree", detail), shares, 1e-12 * n * n) << n;
      EXPECT_NEAR(sent(Operation::all_to_all, "pairwise", detail), shares, 1e-12 * n * n) << n;
    }
  }
}

// A folded step's links, each as many times as it stands for, carry what the full step's do.
TEST(Conservation, FoldingKeepsEveryByte) {
  for (const char* experiment : {"deepseek-v3-1f1b", "gpt-3-175b-pipeline"}) {
    const Inputs in = shipped(experiment);
    const StepGraph graph = make_step(in.model, in.cluster, in.plan, Detail::aggregate).graph;
    const Folding folding = fold(graph);
    const std::vector<double> full = link_bytes(graph, {}), folded = link_bytes(folding.graph, {});
    for (std::size_t l = 0; l < full.size(); ++l) {
      const std::int32_t color = folding.link_color[l];
      EXPECT_NEAR(full[l], color < 0 ? 0 : folded[color], 1e-12 * full[l]) << graph.links[l].name;
    }
  }
}

// Calls over ports and a shared link, at whatever times: between any two moments no link moves more than it can. Calls
// that lie between them have moved all their bytes, over each link that they cross.
void require_capacity(const StepGraph& graph) {
  const Timeline timeline = make_simgrid_engine()->run(graph);
  struct Call {
    double start, end, bytes;
  };
  std::vector<std::vector<Call>> calls(graph.links.size());
  for (const Group& group : graph.groups) {
    const Endpoint& e = group.endpoints[0];
    const Program& program = graph.programs[graph.ranks[e.rank].program];
    for (std::size_t i = 0; i < program.ops.size(); ++i) {
      const OpView op = program.ops[i];
      if (op.kind != OpKind::transfer || op.slot != e.slot) continue;
      std::map<LinkId, double> bytes;
      for (const Part& part : group.patterns[op.pattern].parts) {
        for (const Load& load : part.loads) bytes[load.link] += load.legs * part.bytes_per_payload * op.payload_bytes;
      }
      for (const auto& [link, b] : bytes)
        calls[link].push_back({timeline.spans[e.rank][i].start, timeline.spans[e.rank][i].end, b});
    }
  }
  for (std::size_t l = 0; l < calls.size(); ++l) {
    for (const Call& from : calls[l]) {
      for (const Call& to : calls[l]) {
        double moved = 0;
        for (const Call& call : calls[l]) moved += call.start >= from.start && call.end <= to.end ? call.bytes : 0;
        RC_ASSERT(moved <= graph.links[l].capacity * std::max(0.0, to.end - from.start) * (1 + 1e-9) + 1e-3);
      }
    }
  }
}

TEST(Conservation, NoLinkIsAboveItsCapacity) {
  EXPECT_TRUE(rc::check("bytes between any two moments", [] {
    GraphMaker m(4);
    const int n = *rc::gen::inRange(2, 9) * 2;
    for (int r = 0; r < n; ++r) m.link(*rc::gen::inRange(1, 5) * 0.25e9, r);
    const int shared = m.link(*rc::gen::inRange(1, n + 1) * 0.25e9);
    std::vector<int> programs;
    for (int p = 0; p < 2; ++p) {
      std::vector<Op> ops;
      for (int c = 0; c < 4; ++c) {
        ops.push_back(compute(*rc::gen::inRange(0, 5) * 0.25,
                              c > 0 ? OpList{2 * (c - 1)} : OpList{}));
        ops.push_back(transfer(static_cast<std::uint8_t>(1 + c % 3), static_cast<std::int16_t>(c % 3),
                               *rc::gen::inRange(1, 9) * 1e8, {2 * c}));
      }
      programs.push_back(m.program(ops));
    }
    for (int r = 0; r < n; ++r) m.rank(programs[static_cast<std::size_t>(r < n / 2)], 3);
    for (std::int16_t slot = 0; slot < 3; ++slot) {
      for (int half = 0; half < 2; ++half) {
        std::vector<Endpoint> endpoints;
        std::vector<Load> loads = {{shared, static_cast<double>(n / 2)}};
        for (int r = half * n / 2; r < (half + 1) * n / 2; ++r) {
          endpoints.push_back({r, slot});
          loads.push_back({r, static_cast<double>(1 + slot)});
        }
        m.group(endpoints, loads, slot * 0.125);
      }
    }
    require_capacity(m.graph);
  }));
}

// A link that is never idle while there are bytes for it: the call takes exactly as long as its bytes.
TEST(Conservation, ABusyLinkIsFullyUsed) {
  for (const Algorithm& a : algorithms()) {
    if (a.name != "pairwise" && a.name != "direct") continue;
    SingleCall call;
    call.operation = a.operation;
    call.algorithm = a.name;
    const ClusterSpec star = star_cluster(8, BytesPerSecond(50e9), Seconds(0));
    call.members = first_members(star, a.operation == Operation::point_to_point ? 2 : 8, 0);
    call.payload = 1e9;
    for (const Detail detail : {Detail::aggregate, Detail::flow}) {
      call.detail = detail;
      const SingleResult result = run_single(star, call);
      EXPECT_NEAR(result.seconds, result.floor_seconds, 1e-9 * result.seconds) << a.name;
    }
  }
}

}  // namespace conservation_test
}  // namespace stepsim
