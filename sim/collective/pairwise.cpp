// Pairwise all-to-all: every member sends its share to every other, directly. Without token routing a share is V/n.
// With it, V is one copy of each token and a token goes to c = expected_gpus(experts, n, top_k) of the n members, so a
// share is V c/n: copies to experts on one GPU travel once, copies to GPUs of one node each cross the network.
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
#include <algorithm>
#include <map>
#include <numeric>

#include "sim/collective/algorithms.hpp"
#include "sim/collective/copies.hpp"
#include "sim/collective/legs.hpp"

namespace stepsim {
namespace {

// Of V that go to one member: 1/n of them all without routing, of a token's copies with it.
double share_of(const GroupShape& shape, const TokenRouting& routing) {
  const Copies copies = expected_copies(shape, routing);
  return copies.nodes * copies.on_node / shape.size;
}

std::vector<Part> unequal_traffic(const ClusterSpec& cluster, Members members, const TokenRouting& routing) {
  std::map<double, std::vector<RankId>> holders;  // by size of the share
  for (std::size_t i = 0; i < members.size(); ++i) {
    if (routing.to_member[i] > 0) holders[routing.to_member[i]].push_back(members[i]);
  }
  std::vector<Part> parts;
  for (const auto& [share, ranks] : holders) {
    Legs legs(cluster);
    for (const RankId holder : ranks) {
      for (const RankId other : members) routing.back ? legs.add(holder, other) : legs.add(other, holder);
    }
    parts.push_back(make_part(legs, share, 1));
  }
  return parts;
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

std::vector<Part> pairwise_traffic(const ClusterSpec& cluster, Members members, const TokenRouting& routing) {
  if (!routing.to_member.empty()) return unequal_traffic(cluster, members, routing);
  Legs legs(cluster);
  for (const RankId from : members) {
    for (const RankId to : members) legs.add(from, to);
  }
  return {make_part(legs, share_of(shape_of(cluster, members), routing), 1)};
}

std::vector<Term> pairwise_time(const GroupShape& shape, const Wires& wires, const TokenRouting& routing) {
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

}  // namespace stepsim
