#include "sim/collective/algorithm.hpp"

#include <algorithm>
#include <array>
#include <cassert>
#include <cmath>
#include <iterator>
#include <stdexcept>

#include "sim/collective/algorithms.hpp"
#include "sim/collective/copies.hpp"
#include "sim/collective/idle_wires.hpp"
#include "sim/collective/legs.hpp"

namespace stepsim {
namespace {

constexpr std::array<std::string_view, 7> kOperations = {"all_gather", "reduce_scatter", "all_reduce",    "all_to_all",
                                                         "broadcast",  "shift",          "point_to_point"};

constexpr std::array<std::string_view, 3> kDetails = {"formula", "aggregate", "flow"};

// How fast a message between two GPUs goes when alone, and what it pays in latency.
Wire wire_between(const ClusterSpec& cluster, RankId from, RankId to) {
  Wire wire{BytesPerSecond(0), Seconds(0)};
  for (const LinkId link : route_between(cluster, from, to)) {
    const BytesPerSecond here = cluster.bandwidth[link];
    if (here.value > 0) wire.bandwidth = wire.bandwidth.value == 0 ? here : std::min(wire.bandwidth, here);
    wire.latency += cluster.latency[link];
  }
  return wire;
}

// The wires of the group's first node and, between nodes, the slowest from its first member's place.
Wires wires_of(const ClusterSpec& cluster, std::span<const RankId> members) {
  const auto nodes = by_node(cluster, members);
  Wires wires{};
  if (nodes[0].size() > 1) wires.inside = wire_between(cluster, nodes[0][0], nodes[0][1]);
  for (std::size_t k = 1; k < nodes.size(); ++k) {
    const Wire wire = wire_between(cluster, nodes[0][0], nodes[k][0]);
    if (k == 1) wires.between = wire;
    wires.between.bandwidth = std::min(wires.between.bandwidth, wire.bandwidth);
    wires.between.latency = std::max(wires.between.latency, wire.latency);
  }
  wires.steps_inside = cluster.gpu.node_steps();
  if (nodes.size() == 1) wires.node_steps = wires.steps_inside;
  wires.nvls.latency = cluster.gpu.nvls.latency;
  if (cluster.gpu.nvls.ranks > 0) wires.nvls.bandwidth = cluster.gpu.nvls.port_rate();
  return wires;
}

std::vector<Term> terms_of(const Algorithm& a, const ClusterSpec& cluster, const GroupShape& shape, const Wires& wires,
                           const TokenRouting& routing, double payload) {
  std::vector<Term> terms = a.closed_form(shape, wires, routing, payload);
  if (a.operation == Operation::all_to_all) add_idle_wires(terms, cluster.gpu.all_to_all());
  return terms;
}

double seconds_of(const std::vector<Term>& terms, double payload) {
  double longest = 0;
  for (const Term& term : terms) longest = std::max(longest, term.alpha + term.beta * payload);
  return longest;
}

}  // namespace

std::string_view to_text(Operation operation) {
  return kOperations[static_cast<std::size_t>(operation)];
}

std::string_view to_text(Detail detail) {
  return kDetails[static_cast<std::size_t>(detail)];
}

std::optional<Detail> detail_from(std::string_view text) {
  const auto at = std::find(kDetails.begin(), kDetails.end(), text);
  return at == kDetails.end() ? std::nullopt : std::optional(static_cast<Detail>(at - kDetails.begin()));
}

GroupShape shape_of(const ClusterSpec& cluster, std::span<const RankId> members) {
  GroupShape shape;
  shape.size = static_cast<int>(members.size());
  shape.in_switch = cluster.gpu.nvls.ranks > 0;
  if (shape.size == 2) {  // messages, of which a step has most
    shape.nodes = cluster.node_of(members[0]) == cluster.node_of(members[1]) ? 1 : 2;
    shape.per_node = shape.fewest = 2 / shape.nodes;
    return shape;
  }
  const auto nodes = by_node(cluster, members);
  shape.nodes = static_cast<int>(nodes.size());
  shape.per_node = static_cast<int>(nodes[0].size());
  shape.fewest = shape.per_node;
  for (const auto& node : nodes) {
    shape.fewest = std::min(shape.fewest, static_cast<int>(node.size()));
    if (static_cast<int>(node.size()) != shape.per_node) shape.per_node = 0;
  }
  if (shape.nodes > 1 && shape.per_node > 1) {
    const HostId a = cluster.nic_hosts[nodes[0][0]], b = cluster.nic_hosts[nodes[1][1]];
    shape.planes = cluster.platform->route(a, b).empty();
  }
  return shape;
}

bool depends_on_payload(Operation operation, std::string_view algorithm) {
  if (const Algorithm* a = find_algorithm(operation, algorithm); a != nullptr) return a->chunked;
  return std::count_if(algorithms().begin(), algorithms().end(),
                       [&](const Algorithm& a) { return a.operation == operation && a.automatic != nullptr; }) > 1;
}

std::vector<const Algorithm*> automatic_choices(const GroupShape& shape, Operation operation,
                                                const TokenRouting& routing) {
  if (routing.top_k > 0 && shape.nodes > 1 && shape.per_node > 0) return {find_algorithm(operation, "node_limited")};
  std::vector<const Algorithm*> choices;
  for (const Algorithm& a : algorithms()) {
    if (a.operation == operation && a.automatic != nullptr && a.automatic(shape)) choices.push_back(&a);
  }
  assert(!choices.empty());
  return choices;
}

const Algorithm& choose_algorithm(const ClusterSpec& cluster, std::span<const RankId> members, Operation operation,
                                  const TokenRouting& routing, double payload) {
  const GroupShape shape = shape_of(cluster, members);
  const std::vector<const Algorithm*> choices = automatic_choices(shape, operation, routing);
  if (choices.size() == 1) return *choices[0];
  const Wires wires = wires_of(cluster, members);
  const auto seconds = [&](const Algorithm* a) {
    return seconds_of(terms_of(*a, cluster, shape, wires, routing, payload), payload);
  };
  const Algorithm* best = choices[0];
  double shortest = seconds(best);
  for (const Algorithm* a : choices) {
    const double taken = seconds(a);
    if (taken >= shortest) continue;
    best = a;
    shortest = taken;
  }
  return *best;
}

namespace {

const Algorithm& usable_algorithm(const ClusterSpec& cluster, std::span<const RankId> members, const GroupShape& shape,
                                  Operation operation, std::string_view name, const TokenRouting& routing, double payload) {
  const Algorithm* found =
      name == "auto" ? &choose_algorithm(cluster, members, operation, routing, payload) : find_algorithm(operation, name);
  if (found == nullptr) {
    throw std::invalid_argument(std::string(to_text(operation)) + " has no algorithm " + std::string(name));
  }
  if (const char* why = found->refuses == nullptr ? nullptr : found->refuses(shape); why != nullptr) {
    throw std::invalid_argument(std::string(found->name) + " " + std::string(to_text(operation)) +
                                " cannot run: " + why);
  }
  return *found;
}

// Empty where the closed form does not hold: nodes hold different numbers of members.
std::vector<Part> parts_of_closed_form(const Algorithm& algorithm, const GroupCall& call, const GroupShape& shape) {
  std::vector<Part> parts;
  for (const Term& term : terms_of(algorithm, call.cluster, shape, wires_of(call.cluster, call.members), call.routing, call.payload)) {
    if (!std::isfinite(term.alpha) || !std::isfinite(term.beta)) return {};
    parts.push_back({{}, 0, term.alpha, term.beta, false});
  }
  return parts;
}

}  // namespace

Pattern make_pattern(const ClusterSpec& cluster, std::span<const RankId> members, Operation operation,
                     std::string_view algorithm, const TokenRouting& routing, Detail detail, double payload) {
  const GroupShape shape = shape_of(cluster, members);
  const Algorithm& found = usable_algorithm(cluster, members, shape, operation, algorithm, routing, payload);
  const GroupCall call{cluster, members, routing, payload};
  Pattern pattern{std::string(to_text(operation)), std::string(found.name), {}};
  if (operation == Operation::all_to_all) pattern.copies = copies_sent(shape, routing, found.name == "node_limited");
  pattern.parts = detail == Detail::flow ? found.messages(call) : found.traffic(call);
  if (operation == Operation::all_to_all && cluster.gpu.all_to_all() != AllToAllRates{}) {
    detail == Detail::flow ? add_idle_end(cluster, found.traffic(call), pattern.parts) : add_idle_wires(cluster, pattern.parts);
  }
  if (detail != Detail::formula) return pattern;
  std::vector<Part> terms = parts_of_closed_form(found, call, shape);
  if (terms.empty()) return pattern;
  for (Part& part : pattern.parts) {
    part.alpha = part.beta = 0;
    part.after.clear();
    part.counted_only = true;
  }
  std::move(terms.begin(), terms.end(), std::back_inserter(pattern.parts));
  return pattern;
}

std::optional<Pattern> make_delay(const ClusterSpec& cluster, std::span<const RankId> members, Operation operation,
                                  std::string_view algorithm, double payload) {
  const GroupShape shape = shape_of(cluster, members);
  const TokenRouting unrouted;
  const Algorithm& found = usable_algorithm(cluster, members, shape, operation, algorithm, unrouted, payload);
  Pattern pattern{std::string(to_text(operation)), std::string(found.name), {}};
  pattern.parts = parts_of_closed_form(found, {cluster, members, unrouted, payload}, shape);
  return pattern.parts.empty() ? std::nullopt : std::optional(pattern);
}

double seconds_alone(const ClusterSpec& cluster, const Pattern& pattern, double payload) {
  std::vector<double> ends;
  for (const Part& part : pattern.parts) {
    double begin = 0;
    for (const std::int32_t before : part.after) begin = std::max(begin, ends[before]);
    begin += part.alpha + part.beta * payload;
    if (part.behind >= 0) begin = std::max(begin, ends[part.behind]);
    const double bytes = part.counted_only ? 0 : payload * part.bytes_per_payload;
    ends.push_back(begin + bytes * seconds_per_byte(cluster, part.loads));
  }
  return ends.empty() ? 0 : *std::max_element(ends.begin(), ends.end());
}

double expected_gpus(double experts, double gpus, double picks) {
  const double left = experts - experts / gpus;  // experts on the other GPUs
  if (left - picks + 1 <= 0) return gpus;
  const double none = std::exp(std::lgamma(left + 1) + std::lgamma(experts - picks + 1) -
                               std::lgamma(left - picks + 1) - std::lgamma(experts + 1));
  return gpus * (1 - none);
}

}  // namespace stepsim
