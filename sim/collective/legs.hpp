// Counts the legs of a lockstep transfer on every link they cross.
#pragma once

#include <boost/container/small_vector.hpp>
#include <span>
#include <vector>

#include "sim/cluster/cluster.hpp"
#include "sim/graph/step_graph.hpp"

namespace stepsim {

// Members of a group on one node.
struct NodeMembers : boost::container::small_vector<RankId, 8> {
  using small_vector::small_vector;
  operator std::span<const RankId>() const { return {data(), size()}; }
};
using Nodes = std::vector<NodeMembers>;

class Legs {
 public:
  explicit Legs(const ClusterSpec& cluster) : cluster_(cluster) {}

  // `times` messages from one rank to another; none for a message to itself. The route, until the next is added.
  const std::vector<LinkId>& add(RankId from, RankId to, double times = 1);
  // The same by way of the sender's neighbour that has the receiver's place in the node, whatever other way there is.
  void add_by_rail(RankId from, RankId to, double times = 1);
  // From every member to every other one.
  void add_all_pairs(std::span<const RankId> members, double times = 1);
  // The same in a network of planes (GroupShape::planes), where nodes hold equal numbers of members: a message to a GPU of
  // another place in its node first hops over NVLink to the sender's neighbour in that place.
  void add_all_pairs_in_planes(const Nodes& nodes, double times = 1);
  // In every node from each of its members to each other one.
  void add_inside(const Nodes& nodes, double times = 1);
  // What one of a node's members sends to its switch and receives from it when the switch reduces and multicasts: what
  // all its routes to and from the others have in common. At least three members.
  void add_port(std::span<const RankId> node, std::size_t member, double out, double in);

  bool empty() const { return loads_.empty() && dense_.empty(); }
  double latency() const { return latency_; }  // of the slowest route, s
  std::vector<Load> take();                    // sorted by link, one entry a link

 private:
  static constexpr std::size_t kMany = 1 << 16;

  bool add_all_pairs_at_once(std::span<const RankId> members, double times);
  void add_route(const std::vector<LinkId>& route, double times);
  void count_densely();

  const ClusterSpec& cluster_;
  std::vector<Load> loads_;
  std::vector<double> dense_;  // [link] legs, once there were many; else empty
  double latency_ = 0;
  std::vector<LinkId> route_;  // the last one added
};

// Seconds a byte on each leg takes alone. A link that is down counts for nothing: what crosses it waits until it is up.
double seconds_per_byte(const ClusterSpec& cluster, const std::vector<Load>& loads);
double seconds_per_byte(const ClusterSpec& cluster, const std::vector<LinkId>& route);

// Members by node, in the order of the members.
Nodes by_node(const ClusterSpec& cluster, std::span<const RankId> members);

// A part that takes `steps` route latencies and then moves bytes_per_payload along each leg.
Part make_part(Legs& legs, double bytes_per_payload, double steps);

// A list of one; {part} would copy it.
std::vector<Part> only(Part&& part);

}  // namespace stepsim
