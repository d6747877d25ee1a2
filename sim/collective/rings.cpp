// Rings over all rails, as NCCL builds them: one for each of the g members of a node, each through all n members and with
// 1/g of the buffer. A ring comes into a node by one rail, goes round the node over NVLink and leaves it by another, where
// it goes on; so every NIC carries one ring each way and every NVLink port the g - 1 others:
//   between  rounds (n - 1)/n V/g
//   inside   rounds (n - 1)/n V (g - 1)/g
// Where nodes have different numbers of members there are as many rings as the smallest has, and no closed form.
// A call takes the longer of what the slowest of them sends and what the data's way round takes: latency and c = V/(n g)
// on each of the legs but the quickest, in every round. The latency of a leg inside a node is the measured step of a ring
// there (NodeSteps), where it is known.
#include <algorithm>
#include <limits>

#include "sim/collective/algorithms.hpp"
#include "sim/collective/flow.hpp"
#include "sim/collective/legs.hpp"

namespace stepsim {
namespace {

// Of a step: a leg's latency, and the time that its port is busy with the c of all rings on it. Where several rings share
// a port, the others' bytes move while one pays its latency.
struct RingLeg {
  double latency = 0, seconds = 0, rings = 1;
  double hop() const { return std::max(seconds, latency + seconds / rings); }
};

double beyond_all_bytes(const RingLeg& inside, const RingLeg& between, double nodes, double members, double rounds) {
  const double steps = members - 1;
  const RingLeg& slowest = between.seconds > inside.seconds ? between : inside;
  const double quickest = std::min(inside.hop(), between.hop());
  const double way = (members - nodes) * inside.hop() + nodes * between.hop() - quickest;
  return std::max(slowest.latency, rounds * (way - steps * slowest.seconds));
}

double inside_latency(const NodeSteps* steps, double of_wire) { return steps ? steps->step.value : of_wire; }

std::size_t rings_of(const Nodes& nodes) {
  std::size_t fewest = nodes[0].size();
  for (const NodeMembers& node : nodes) fewest = std::min(fewest, node.size());
  return fewest;
}

// The members in the order of a ring: node k from place ring - k on, so that it leaves by the rail on which the next one
// starts. Back at the first node it arrives on the rail by which it left the last one, wherever it began.
std::vector<RankId> order_of(const Nodes& nodes, std::size_t ring, std::size_t rings) {
  std::vector<RankId> order;
  for (std::size_t k = 0; k < nodes.size(); ++k) {
    const std::size_t size = nodes[k].size();
    for (std::size_t i = 0; i < size; ++i) order.push_back(nodes[k][((ring + rings * nodes.size() - k) % rings + i) % size]);
  }
  return order;
}
RankId back_at_first(const Nodes& nodes, std::size_t ring, std::size_t rings) {
  return nodes[0][(ring + rings * nodes.size() - nodes.size()) % rings];
}

}  // namespace

std::vector<Part> rings_traffic(const GroupCall& call, int rounds) {
  const Nodes nodes = by_node(call.cluster, call.members);
  const std::size_t g = rings_of(nodes);
  if (nodes.size() == 1 || g == 1) return ring_traffic(call, rounds);
  const double n = static_cast<double>(call.members.size()), rings = static_cast<double>(g);
  const bool equal = nodes.size() * g == call.members.size();
  Legs inside(call.cluster), between(call.cluster);
  for (std::size_t k = 0; k < nodes.size() && equal; ++k) {
    for (std::size_t i = 0; i < g; ++i) {
      inside.add(nodes[k][i], nodes[k][(i + 1) % g], rings - 1);
      between.add(nodes[k][i], nodes[(k + 1) % nodes.size()][i]);
    }
  }
  for (std::size_t ring = 0; ring < g && !equal; ++ring) {
    const std::vector<RankId> order = order_of(nodes, ring, g);
    for (std::size_t i = 0; i < order.size(); ++i) {
      const RankId from = order[i], to = i + 1 < order.size() ? order[i + 1] : back_at_first(nodes, ring, g);
      (call.cluster.node_of(from) == call.cluster.node_of(to) ? inside : between).add(from, to);
    }
  }
  const double in_latency = inside_latency(call.cluster.gpu.node_steps(), inside.latency()), out_latency = between.latency();
  Part in = make_part(inside, rounds * (n - 1) / n / rings, 0);
  Part out = make_part(between, in.bytes_per_payload, 0);
  const double chunk = call.payload / n / rings, sharing = equal ? rings - 1 : rings;
  const double alpha = beyond_all_bytes({in_latency, chunk * seconds_per_byte(call.cluster, in.loads), sharing},
                                    {out_latency, chunk * seconds_per_byte(call.cluster, out.loads)},
                                    static_cast<double>(nodes.size()), n, rounds);
  in.alpha = out.alpha = alpha;
  return {std::move(out), std::move(in)};
}

std::vector<Part> rings_messages(const GroupCall& call, int rounds) {
  const Nodes nodes = by_node(call.cluster, call.members);
  const std::size_t g = rings_of(nodes), n = call.members.size();
  if (nodes.size() == 1 || g == 1) return ring_messages(call, rounds);
  const NodeSteps* measured = call.cluster.gpu.node_steps();
  Flow flow(call.cluster);
  for (std::size_t ring = 0; ring < g; ++ring) {
    const std::vector<RankId> order = order_of(nodes, ring, g);
    std::vector<MessageId> before(n, kNoMessage), now(n, kNoMessage);
    for (std::size_t step = 0; step < static_cast<std::size_t>(rounds) * (n - 1); ++step) {
      for (std::size_t i = 0; i < n; ++i) {
        const RankId from = order[i], to = i + 1 < n ? order[i + 1] : back_at_first(nodes, ring, g);
        std::vector<MessageId> after;
        if (before[(i + n - 1) % n] != kNoMessage) after.push_back(before[(i + n - 1) % n]);
        std::optional<double> latency;
        if (measured && call.cluster.node_of(from) == call.cluster.node_of(to)) latency = measured->step.value;
        now[i] = flow.send(from, to, 1.0 / static_cast<double>(n * g), std::move(after), before[i], latency);
      }
      before = now;
    }
  }
  return flow.take();
}

std::vector<Term> rings_time(const GroupShape& shape, const Wires& wires, int rounds, double payload) {
  if (shape.nodes == 1 || shape.fewest == 1) return ring_time(shape, wires, rounds, payload);
  constexpr double kNone = std::numeric_limits<double>::infinity();
  if (shape.per_node == 0) return {{"between", kNone, kNone}};
  const double n = shape.size, g = shape.per_node, chunk = payload / n / g;
  // In a network of planes rails are all there is.
  const RingLeg inside{inside_latency(wires.steps_inside, wires.inside.latency.value), chunk * (g - 1) / wires.inside.bandwidth.value, g - 1};
  const RingLeg between{wires.between.latency.value, chunk / wires.between.bandwidth.value};
  const double alpha = beyond_all_bytes(inside, between, shape.nodes, n, rounds), bytes = rounds * (n - 1) / payload;
  return {{"between", alpha, bytes * between.seconds}, {"inside", alpha, bytes * inside.seconds}};
}

}  // namespace stepsim
