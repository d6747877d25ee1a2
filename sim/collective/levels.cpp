#include "sim/collective/levels.hpp"

#include <algorithm>

#include "sim/collective/two_trees.hpp"

namespace stepsim {
namespace {

int rounds_of(const Levels& levels) {
  return (levels.scatter ? 1 : 0) + (levels.gather ? 1 : 0);
}

// Seconds a payload byte of a part when alone.
double per_byte(const ClusterSpec& cluster, const Part& part) {
  return seconds_per_byte(cluster, part.loads) * part.bytes_per_payload;
}

Part ring_part(const ClusterSpec& cluster, const Nodes& nodes, double rounds) {
  const double m = static_cast<double>(nodes.size()), g = static_cast<double>(nodes[0].size());
  Legs legs(cluster);
  for (std::size_t i = 0; i < nodes[0].size(); ++i) {
    for (std::size_t k = 0; k < nodes.size(); ++k) legs.add(nodes[k][i], nodes[(k + 1) % nodes.size()][i]);
  }
  return make_part(legs, rounds * (m - 1) / m / g, rounds * (m - 1));
}

// Messages of the busiest port each way, each of half the buffer.
double tree_ports(int n) {
  return std::min(n, 4);
}

// The time that a chunk takes up a tree and down again, in its time over one leg: two children share a hop, but for the
// root's, which has one. Of it, what comes on top of the chunk's part of the busiest port's time: the filling of the
// pipeline.
double filling(int n, double chunks) {
  const double hops = 2.0 * tree_depth(n), path = n < 4 ? hops : 2 * hops - 2;
  return std::max(0.0, path - tree_ports(n)) / chunks;
}

Part trees_part(const ClusterSpec& cluster, const Nodes& nodes, double payload) {
  const int m = static_cast<int>(nodes.size());
  const double g = static_cast<double>(nodes[0].size());
  Legs legs(cluster);
  for (const Tree& tree : two_trees(m)) {
    for (int child = 0; child < m; ++child) {
      if (tree.parent[child] < 0) continue;
      for (std::size_t i = 0; i < nodes[0].size(); ++i) {
        legs.add(nodes[child][i], nodes[tree.parent[child]][i]);
        legs.add(nodes[tree.parent[child]][i], nodes[child][i]);
      }
    }
  }
  Part part = make_part(legs, 1 / (2 * g), 2 * tree_depth(m));
  part.beta = per_byte(cluster, part) * filling(m, tree_chunks(payload, tree_depth(m))) / tree_ports(m);
  return part;
}

// Messages of V/g on the port of a member, out and in.
struct SwitchLegs {
  double out, in;
};
SwitchLegs switch_legs(double g, const Levels& levels) {
  return {(levels.scatter ? g : 0) + (levels.gather ? 1 : 0), (levels.scatter ? 1 : 0) + (levels.gather ? g : 0)};
}

Part switch_part(const ClusterSpec& cluster, const Nodes& nodes, const Levels& levels, double payload) {
  const double g = static_cast<double>(nodes[0].size());
  const SwitchLegs busy = switch_legs(g, levels);
  Legs legs(cluster);
  for (const auto& node : nodes) {
    for (std::size_t i = 0; i < node.size(); ++i) legs.add_port(node, i, busy.out, busy.in);
  }
  Part part = make_part(legs, 1 / g, 0);
  part.alpha = switch_latency(cluster.gpu.nvls.latency, nodes.size() == 1 ? cluster.gpu.node_steps() : nullptr, payload, levels);
  // The wire is not what limits: what the switch takes longer is a time of its own.
  const double at_its_rate = std::max(busy.out, busy.in) / g / cluster.gpu.nvls.port_rate().value;
  part.beta = std::max(0.0, at_its_rate - per_byte(cluster, part));
  return part;
}

Part direct_part(const ClusterSpec& cluster, const Nodes& nodes, double rounds) {
  Legs legs(cluster);
  legs.add_inside(nodes);
  return make_part(legs, rounds / static_cast<double>(nodes[0].size()), rounds);
}

}  // namespace

double switch_latency(Seconds of_call, const NodeSteps* steps, double payload, const Levels& levels) {
  constexpr double kMembers = 8;  // measured with so many; in the switch nothing passes from GPU to GPU
  return steps ? rounds_of(levels) * (kMembers - 1) * steps->of_step(kMembers, payload) : of_call.value;
}

Nodes levels_nodes(const GroupCall& call, const Levels& levels) {
  Nodes nodes = by_node(call.cluster, call.members);
  if (nodes.size() > 1 || !levels.trees || levels.in_switch) return nodes;
  Nodes alone;
  for (const RankId member : nodes[0]) alone.push_back({member});
  return alone;
}

std::vector<Part> levels_traffic(const GroupCall& call, const Levels& levels) {
  const Nodes nodes = levels_nodes(call, levels);
  const double rounds = rounds_of(levels);
  std::vector<Part> parts;
  if (nodes.size() > 1) {
    parts.push_back(levels.trees ? trees_part(call.cluster, nodes, call.payload)
                                 : ring_part(call.cluster, nodes, rounds));
  }
  if (nodes[0].size() > 1) {
    Part inside =
        levels.in_switch ? switch_part(call.cluster, nodes, levels, call.payload) : direct_part(call.cluster, nodes, rounds);
    if (!parts.empty()) parts[0].alpha += inside.alpha;  // what comes over the rails is still to be spread
    parts.push_back(std::move(inside));
  }
  return parts;
}

std::vector<Term> levels_time(const GroupShape& group, const Wires& group_wires, double payload, const Levels& levels) {
  const bool one_node = group.nodes == 1 && levels.trees && !levels.in_switch;
  GroupShape shape = group;
  Wires wires = group_wires;
  if (one_node) {
    std::swap(shape.nodes, shape.per_node);
    wires.between = wires.inside;
  }
  const double m = shape.nodes, g = shape.per_node, rounds = rounds_of(levels);
  Term inside{"inside", rounds * wires.inside.latency.value, rounds * (g - 1) / g / wires.inside.bandwidth.value};
  if (levels.in_switch) {
    const double rate = std::min(wires.nvls.bandwidth, wires.inside.bandwidth).value;
    inside.alpha = switch_latency(wires.nvls.latency, wires.node_steps, payload, levels);
    inside.beta = (levels.scatter && levels.gather ? 1 + 1 / g : 1) / rate;
  }
  std::vector<Term> terms;
  if (m > 1) {
    const int depth = tree_depth(shape.nodes);
    const double steps = levels.trees ? 2.0 * depth : rounds * (m - 1);
    double volume = rounds * (m - 1) / m / g;
    if (levels.trees) {
      volume = (tree_ports(shape.nodes) + filling(shape.nodes, tree_chunks(payload, depth))) / (2 * g);
    }
    terms.push_back({one_node ? "inside" : "between", steps * wires.between.latency.value + (g > 1 ? inside.alpha : 0),
                     volume / wires.between.bandwidth.value});
  }
  if (g > 1) terms.push_back(inside);
  return terms;
}

}  // namespace stepsim
