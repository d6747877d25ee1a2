// Broadcast from members[0], in chunks.
// Ring: a chain in the order of the members, one NIC a node. Every hop moves V; the first chunk passes through all hops
// before the last one is busy: (n - 2)/K of V more where all hops are alike, and n - 1 latencies.
// Tree: the root's node shares the buffer out over NVLink; on each rail two trees join the other nodes, the root's node
// feeds both their roots half of its V/g each; every node puts the buffer together over NVLink. On one node, or with
// one member a node, the trees join the members themselves.
//   between  V/g (1 + (D - 1)/K), D = 1 + ceil(log2(M - 1)) hops
//   inside   2 V (g - 1)/g out of the root, whose last chunk of V/2K then crosses one rail and is put together there
#include <algorithm>

#include "sim/collective/algorithms.hpp"
#include "sim/collective/flow.hpp"
#include "sim/collective/legs.hpp"
#include "sim/collective/levels.hpp"
#include "sim/collective/two_trees.hpp"

namespace stepsim {
namespace {

int chain_chunks(double payload, std::size_t n) {
  return tree_chunks(payload, static_cast<int>(n) - 1);
}

int hops_of(int nodes) {
  return 1 + tree_depth(nodes - 1);
}

// Seconds a payload byte of the last chunk's way from the root's node: over a rail, then to the g - 1 neighbours.
double last_chunk(const Nodes& nodes, const GroupCall& call) {
  const double g = static_cast<double>(nodes[0].size());
  const double chunk = 1 / (2 * g * tree_chunks(call.payload, hops_of(static_cast<int>(nodes.size()))));
  const auto way = [&](RankId from, RankId to) {
    return seconds_per_byte(call.cluster, route_between(call.cluster, from, to));
  };
  return chunk * (way(nodes[0][0], nodes[1][0]) + (g - 1) * way(nodes[1][0], nodes[1][1]));
}

constexpr Levels kBroadcastTrees{.in_switch = false, .trees = true, .scatter = false, .gather = true};

}  // namespace

std::vector<Part> chain_traffic(const GroupCall& call) {
  const std::size_t n = call.members.size();
  Legs legs(call.cluster);
  double latency = 0, all = 0, slowest = 0;
  for (std::size_t i = 0; i + 1 < n; ++i) {
    const std::vector<LinkId> route = route_between(call.cluster, call.members[i], call.members[i + 1]);
    legs.add(call.members[i], call.members[i + 1]);
    latency += route_latency(call.cluster, route).value;
    const double hop = seconds_per_byte(call.cluster, route);
    all += hop;
    slowest = std::max(slowest, hop);
  }
  Part part = make_part(legs, 1, 0);
  part.alpha = latency;
  part.beta = (all - slowest) / chain_chunks(call.payload, n);
  return only(std::move(part));
}

std::vector<Part> chain_messages(const GroupCall& call) {
  const std::size_t n = call.members.size();
  const int chunks = chain_chunks(call.payload, n);
  Flow flow(call.cluster);
  std::vector<MessageId> last(n, kNoMessage);  // out of each member
  for (int q = 0; q < chunks; ++q) {
    std::vector<MessageId> here;
    for (std::size_t i = 0; i + 1 < n; ++i) {
      last[i] = flow.send(call.members[i], call.members[i + 1], 1.0 / chunks, here, last[i]);
      here = {last[i]};
    }
  }
  return flow.take();
}

std::vector<Term> chain_time(const GroupShape& shape, const Wires& wires, const TokenRouting&, double payload) {
  const double inside = shape.size - shape.nodes, between = shape.nodes - 1;
  const double hop = shape.planes ? wires.inside.latency.value : 0;  // as ring.cpp
  const double in = inside > 0 ? 1 / wires.inside.bandwidth.value : 0;
  const double out = between > 0 ? 1 / wires.between.bandwidth.value : 0;
  const double slowest = std::max(in, out), all = inside * in + between * std::max(out, shape.planes ? in : 0);
  const double filling = (all - slowest) / chain_chunks(payload, static_cast<std::size_t>(shape.size));
  return {{between > 0 ? "between" : "inside",
           inside * wires.inside.latency.value + between * (wires.between.latency.value + hop), slowest + filling}};
}

std::vector<Part> broadcast_tree_traffic(const GroupCall& call) {
  const Nodes nodes = levels_nodes(call, kBroadcastTrees);
  const int m = static_cast<int>(nodes.size());
  const std::size_t g = nodes[0].size();
  const double share = 1.0 / static_cast<double>(g);
  Legs rails(call.cluster), inside(call.cluster);
  for (const Tree& tree : two_trees(m - 1)) {
    for (int k = 0; k < m - 1; ++k) {
      const auto& from = nodes[static_cast<std::size_t>(tree.parent[k] + 1)];  // the trees' roots hang below node 0
      for (std::size_t i = 0; i < g; ++i) rails.add(from[i], nodes[static_cast<std::size_t>(k + 1)][i]);
    }
  }
  Part between = make_part(rails, share / 2, hops_of(m));
  between.beta = seconds_per_byte(call.cluster, between.loads) * share / 2 * (hops_of(m) - 1) /
                 tree_chunks(call.payload, hops_of(m));
  if (g == 1) return {between};
  inside.add_inside({nodes.begin() + 1, nodes.end()});
  for (std::size_t i = 0; i < g; ++i) {
    for (std::size_t j = 1; j < g; ++j) inside.add(nodes[0][i], nodes[0][j], i == 0 ? 2 : 1);
  }
  Part spread = make_part(inside, share, 2);
  if (m > 1) spread.beta = last_chunk(nodes, call);
  between.alpha += spread.alpha;
  return {between, spread};
}

std::vector<Part> broadcast_tree_messages(const GroupCall& call) {
  const Nodes nodes = levels_nodes(call, kBroadcastTrees);
  const std::size_t m = nodes.size(), g = nodes[0].size();
  const auto trees = two_trees(static_cast<int>(m) - 1);
  const double share = 1.0 / static_cast<double>(g);
  const int chunks = tree_chunks(call.payload, hops_of(static_cast<int>(m)));
  const double bytes = share / 2 / chunks;
  Flow flow(call.cluster);
  std::vector<MessageId> scattered(g, kNoMessage);
  std::vector<MessageId> fed(2 * m * g, kNoMessage), spread(m * g * g, kNoMessage);  // the last on each connection
  const auto pass_on = [&](std::size_t k, std::size_t i, const std::vector<MessageId>& here) {
    for (std::size_t j = k == 0 ? 1 : 0; j < g; ++j) {
      if (j == i) continue;
      MessageId& last = spread[(k * g + i) * g + j];
      last = flow.send(nodes[k][i], nodes[k][j], bytes, here, last);
    }
  };
  for (int q = 0; q < chunks; ++q) {
    for (std::size_t t = 0; t < 2; ++t) {
      for (std::size_t i = 0; i < g; ++i) {
        std::vector<std::vector<MessageId>> here(m);
        if (i > 0) here[0] = {scattered[i] = flow.send(nodes[0][0], nodes[0][i], bytes, {}, scattered[i])};
        pass_on(0, i, here[0]);
        for (const int below : trees[t].down) {
          const auto k = static_cast<std::size_t>(below + 1),
                     above = static_cast<std::size_t>(trees[t].parent[below] + 1);
          MessageId& last = fed[(t * m + k) * g + i];
          last = flow.send(nodes[above][i], nodes[k][i], bytes, here[above], last);
          here[k] = {last};
          pass_on(k, i, here[k]);
        }
      }
    }
  }
  return flow.take();
}

std::vector<Term> broadcast_tree_time(const GroupShape& shape, const Wires& wires, const TokenRouting&,
                                      double payload) {
  const bool one_node = shape.nodes == 1;
  const int m = one_node ? shape.size : shape.nodes;
  const double g = one_node ? 1 : shape.per_node, hops = hops_of(m);
  const Wire& wire = one_node ? wires.inside : wires.between;
  const double filling = (hops - 1) / tree_chunks(payload, hops_of(m));
  const double shared_out = g > 1 ? 2 * wires.inside.latency.value : 0;
  std::vector<Term> terms = {{one_node ? "inside" : "between", hops * wire.latency.value + shared_out,
                              (1 + filling) / g / wire.bandwidth.value}};
  if (g > 1) {
    const double chunk = 1 / (2 * g * tree_chunks(payload, hops_of(m)));
    const double last = chunk / wire.bandwidth.value + chunk * (g - 1) / wires.inside.bandwidth.value;
    terms.push_back({"inside", shared_out, 2 * (g - 1) / g / wires.inside.bandwidth.value + (m > 1 ? last : 0)});
  }
  return terms;
}

}  // namespace stepsim
