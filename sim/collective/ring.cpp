// Ring: member i sends to member i + 1, in the order of the members; n - 1 steps, each moving c = V/n along every leg
// (all-reduce: a reduce-scatter, then an all-gather: 2 (n - 1) steps). One ring, so one NIC a node in each direction
// where members of a node stand next to each other. A call takes the longer of
//   what the slowest leg sends: c in every step, one after the other, and one latency;
//   what the data's way takes: latency and c on each of the legs but the quickest, in every round.
// With equal legs the latter: (n - 1) (latency + c / bandwidth). Closed form: members stand node by node.
// On one node the latency is what its steps were measured to cost (NodeSteps), where they were.
#include <algorithm>

#include "sim/collective/algorithms.hpp"
#include "sim/collective/flow.hpp"
#include "sim/collective/legs.hpp"

namespace stepsim {
namespace {

struct Leg {
  double latency = 0, seconds = 0;  // seconds: of c bytes
  double hop() const { return latency + seconds; }
};

// How much longer than the slowest leg's bytes a call takes.
double beyond_bytes(const Leg& slowest, double all_hops, double quickest_hop, double rounds, double steps) {
  return std::max(slowest.latency, rounds * (all_hops - quickest_hop - steps * slowest.seconds));
}

// Of a step on one node; null: each leg's own latency.
const NodeSteps* steps_of(const GroupCall& call) {
  return shape_of(call.cluster, call.members).nodes == 1 ? call.cluster.gpu.node_steps() : nullptr;
}

}  // namespace

std::vector<Part> ring_traffic(const GroupCall& call, int rounds) {
  const std::size_t n = call.members.size();
  const double steps = static_cast<double>(n - 1), chunk = call.payload / static_cast<double>(n);
  const NodeSteps* measured = steps_of(call);
  Legs legs(call.cluster);
  Leg slowest;
  double all = 0, quickest = 0;
  for (std::size_t i = 0; i < n; ++i) {
    const RankId from = call.members[i], to = call.members[(i + 1) % n];
    const std::vector<LinkId>& route = legs.add(from, to);
    const double latency = measured ? measured->of_step(static_cast<double>(n), call.payload) : route_latency(call.cluster, route).value;
    const Leg leg{latency, chunk * seconds_per_byte(call.cluster, route)};
    if (leg.seconds > slowest.seconds) slowest = leg;
    all += leg.hop();
    quickest = i == 0 ? leg.hop() : std::min(quickest, leg.hop());
  }
  Part part = make_part(legs, rounds * steps / static_cast<double>(n), 0);
  part.alpha = beyond_bytes(slowest, all, quickest, rounds, steps);
  return only(std::move(part));
}

std::vector<Part> ring_messages(const GroupCall& call, int rounds) {
  const std::size_t n = call.members.size();
  const NodeSteps* measured = steps_of(call);
  std::optional<double> latency;
  if (measured) latency = measured->of_step(static_cast<double>(n), call.payload);
  Flow flow(call.cluster);
  std::vector<MessageId> before(n, kNoMessage), now(n, kNoMessage);
  for (std::size_t step = 0; step < static_cast<std::size_t>(rounds) * (n - 1); ++step) {
    for (std::size_t i = 0; i < n; ++i) {
      const MessageId arrived = before[(i + n - 1) % n];
      std::vector<MessageId> after;
      if (arrived != kNoMessage) after.push_back(arrived);
      now[i] = flow.send(call.members[i], call.members[(i + 1) % n], 1.0 / static_cast<double>(n), std::move(after),
                         before[i], latency);
    }
    before = now;
  }
  return flow.take();
}

std::vector<Term> ring_time(const GroupShape& shape, const Wires& wires, int rounds, double payload) {
  const double n = shape.size, nodes = shape.nodes > 1 ? shape.nodes : 0, chunk = payload / n;
  Leg inside, between;
  const double latency = wires.node_steps ? wires.node_steps->of_step(n, payload) : wires.inside.latency.value;
  if (shape.size > shape.nodes) inside = {latency, chunk / wires.inside.bandwidth.value};
  if (shape.nodes > 1) {
    between = {wires.between.latency.value, chunk / wires.between.bandwidth.value};
    // In a network of planes the step from one node to the next also hops over NVLink to the next one's plane.
    if (shape.planes) between = {between.latency + inside.latency, std::max(between.seconds, inside.seconds)};
  }
  const bool apart = between.seconds > inside.seconds;
  const Leg& slowest = apart ? between : inside;
  double quickest = slowest.hop();
  if (nodes > 0) quickest = std::min(quickest, between.hop());
  if (n > nodes) quickest = std::min(quickest, inside.hop());
  const double all = (n - nodes) * inside.hop() + nodes * between.hop();
  return {{apart ? "between" : "inside", beyond_bytes(slowest, all, quickest, rounds, n - 1),
           rounds * (n - 1) * slowest.seconds / payload}};
}

}  // namespace stepsim
