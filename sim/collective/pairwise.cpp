// Pairwise all-to-all: every member sends its share to every other, directly. Without token routing a share is V/n.
// With it, V is one copy of each token and a token goes to c = expected_gpus(experts, n, top_k) of the n members, so a
// share is V c/n: copies to experts on one GPU travel once, copies to GPUs of one node each cross the network.
// With every_copy, c = top_k.
//
// With unequal experts a share is V p, p = to_member of the member that holds the experts; combine goes the other way.
// Shares of one size move in lockstep, side by side with those of other sizes. Closed form: the busiest port of a GPU.
// On N nodes of g members, with P and Q the sums of p over all members and over a node, of dispatch (combine: in and
// out exchanged):
//   NIC     in (n - g) p, out P - Q
//   NVLink  in (g - 1) p, out Q - p
// In a network of planes a remote share leaves its sender's node through the receiver's plane. With R(i) the sum of p
// over plane i on the other nodes (dispatch), or S = (N - 1) Q of the node where the holders stand (combine):
//   dispatch  NIC out g R(i); NVLink in also (g - 1) R(i), out also the sum of R over the other planes
//   combine   NIC out S, in P - Q; NVLink in also S - (N - 1) p, out also (N - 1) (g - 1) p
//
// Rail-aligned (NCCL's PXN): the same in any network, so that no message crosses from rail to rail outside a node; the
// messages of a node's members to one GPU elsewhere travel over its rail together.
#include <algorithm>
#include <map>
#include <numeric>

#include "sim/collective/algorithms.hpp"
#include "sim/collective/copies.hpp"
#include "sim/collective/flow.hpp"
#include "sim/collective/legs.hpp"
#include "sim/collective/two_stage.hpp"

namespace stepsim {
namespace {

// Of V that go to one member: 1/n of them all without routing, of a token's copies with it.
double share_of(const GroupShape& shape, const TokenRouting& routing) {
  return copies_sent(shape, routing, false) / shape.size;
}

void add_pair(Legs& legs, RankId from, RankId to, bool by_rail) {
  if (by_rail) return legs.add_by_rail(from, to);
  legs.add(from, to);
}

std::vector<Part> unequal_traffic(const GroupCall& call, bool by_rail) {
  std::map<double, std::vector<RankId>> holders;  // by size of the share
  for (std::size_t i = 0; i < call.members.size(); ++i) {
    const double share = call.routing.to_member[i];
    if (share > 0) holders[share].push_back(call.members[i]);
  }
  std::vector<Part> parts;
  for (const auto& [share, ranks] : holders) {
    Legs legs(call.cluster);
    for (const RankId holder : ranks) {
      for (const RankId other : call.members) {
        call.routing.back ? add_pair(legs, holder, other, by_rail) : add_pair(legs, other, holder, by_rail);
      }
    }
    parts.push_back(make_part(legs, share, 1));
  }
  return parts;
}

// What members send to each member (without unequal experts the same to all).
std::vector<double> shares_of(const GroupCall& call) {
  if (!call.routing.to_member.empty()) return call.routing.to_member;
  return std::vector<double>(call.members.size(), share_of(shape_of(call.cluster, call.members), call.routing));
}

// Copies of a token that the busiest port of each kind carries.
struct Busiest {
  double nic = 0, nvlink = 0;
};

Busiest busiest(const GroupShape& shape, const TokenRouting& routing) {
  const std::vector<double>& p = routing.to_member;
  const int n = shape.size, g = std::max(shape.per_node, 1), nodes = n / g;
  const double all = std::accumulate(p.begin(), p.end(), 0.0);
  std::vector<double> plane(g, 0), node(nodes, 0);
  for (int m = 0; m < n; ++m) {
    plane[m % g] += p[m];
    node[m / g] += p[m];
  }
  Busiest most;
  for (int m = 0; m < n; ++m) {
    const double here = node[m / g];
    const double remote = plane[m % g] - p[m], others = nodes - 1;
    const double nic_in = routing.back ? all - here : (n - g) * p[m];
    double nic_out = routing.back ? (n - g) * p[m] : all - here;
    double in = routing.back ? here - p[m] : (g - 1) * p[m];
    double out = routing.back ? (g - 1) * p[m] : here - p[m];
    if (shape.planes) {
      nic_out = routing.back ? others * here : g * remote;
      in += routing.back ? others * (here - p[m]) : (g - 1) * remote;
      out += routing.back ? others * (g - 1) * p[m] : all - here - remote;
    }
    most.nic = std::max({most.nic, nic_in, nic_out});
    most.nvlink = std::max({most.nvlink, in, out});
  }
  return most;
}

}  // namespace

std::vector<Part> pairwise_traffic(const GroupCall& call) {
  if (!call.routing.to_member.empty()) return unequal_traffic(call, false);
  const GroupShape shape = shape_of(call.cluster, call.members);
  Legs legs(call.cluster);
  if (shape.planes && shape.per_node > 0) {
    legs.add_all_pairs_in_planes(by_node(call.cluster, call.members));
  } else {
    legs.add_all_pairs(call.members);
  }
  return only(make_part(legs, share_of(shape, call.routing), 1));
}

std::vector<Part> pairwise_messages(const GroupCall& call) {
  const std::vector<double> shares = shares_of(call);
  Flow flow(call.cluster);
  for (std::size_t i = 0; i < shares.size(); ++i) {
    for (std::size_t j = 0; j < shares.size(); ++j) {
      const double share = shares[call.routing.back ? i : j];
      if (i != j && share > 0) flow.send(call.members[i], call.members[j], share);
    }
  }
  return flow.take();
}

std::vector<Term> pairwise_time(const GroupShape& shape, const Wires& wires, const TokenRouting& routing, double) {
  const double n = shape.size, g = shape.per_node, share = share_of(shape, routing);
  const double hops = shape.planes ? (n - g) * (g - 1) / g : 0;  // remote messages that change planes
  Busiest most{share * (n - g), share * (g - 1 + hops)};
  if (!routing.to_member.empty()) most = busiest(shape, routing);
  std::vector<Term> terms;
  if (shape.nodes > 1) {
    const double latency = wires.between.latency.value + (shape.planes && g > 1 ? wires.inside.latency.value : 0);
    terms.push_back({"between", latency, most.nic / wires.between.bandwidth.value});
  }
  if (g > 1) {
    const double alpha = terms.empty() ? wires.inside.latency.value : terms[0].alpha;
    terms.push_back({"inside", alpha, most.nvlink / wires.inside.bandwidth.value});
  }
  return terms;
}

std::vector<Part> rail_aligned_traffic(const GroupCall& call) {
  if (!call.routing.to_member.empty()) return unequal_traffic(call, true);
  Legs legs(call.cluster);
  for (const RankId from : call.members) {
    for (const RankId to : call.members) legs.add_by_rail(from, to);
  }
  return only(make_part(legs, share_of(shape_of(call.cluster, call.members), call.routing), 1));
}

std::vector<Part> rail_aligned_messages(const GroupCall& call) {
  const std::vector<double> shares = shares_of(call);
  const int g = shape_of(call.cluster, call.members).per_node;
  const bool back = call.routing.back;
  const auto share = [&](int node, int place) { return shares[static_cast<std::size_t>(node * g + place)]; };
  const auto rail = [&](int from, int to, int place) {
    if (!back) return g * share(to, place);
    double sum = 0;
    for (int other = 0; other < g; ++other) sum += share(from, other);
    return sum;
  };
  const auto inside = [&](int node, int other, int from, int to) {
    return back ? share(node, from) : share(other, to);
  };
  return two_stage_messages(call, {true, rail, inside});
}

std::vector<Term> rail_aligned_time(const GroupShape& shape, const Wires& wires, const TokenRouting& routing,
                                    double payload) {
  GroupShape planes = shape;
  planes.planes = shape.nodes > 1 && shape.per_node > 1;
  return pairwise_time(planes, wires, routing, payload);
}

}  // namespace stepsim
