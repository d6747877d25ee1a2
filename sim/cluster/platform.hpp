// A SimGrid platform file (DTD version 4.1) as plain data: hosts, links, and the links of the route between two hosts.
//
// Read: zones with routing Full, Floyd, Dijkstra, DijkstraCache, Cluster or None, flat <cluster>s with backbone and
// limiter, TORUS and FAT_TREE <cluster>s, hosts, routers, links, routes, zone routes, host links, properties. A host's
// speed and cores are not used: the GPU's file says how fast it computes. Everything else is refused, and so is what
// SimGrid itself would refuse.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/base/units.hpp"
#include "sim/graph/step_graph.hpp"

namespace stepsim {

using HostId = std::int32_t;

// One direction of one wire, or both where the file shares it between them. The directions of a SPLITDUPLEX link L are
// "L_up" and "L_down" (SimGrid: L_UP, L_DOWN). The private links of a <cluster>'s host H are "H_up" and "H_down", or
// "H_link" where the cluster's sharing policy makes one of both, and "H_limiter"; its backbone is "CLUSTER_backbone".
// The cables of a TORUS are "CLUSTER_link_from_A_to_B_up", by the numbers of its hosts; those of a FAT_TREE
// "CLUSTER_link_L_N_to_P_C_up": cable C from node N of level L (0: the hosts) to its parent P.
struct PlatformLink {
  std::string name;
  BytesPerSecond bandwidth;
  Seconds latency;
  bool shared = true;  // among the messages on it; false: FATPIPE, each message gets all of it
  HostId owner = -1;   // the host whose private link it is; -1: messages of several hosts may cross it

  bool operator==(const PlatformLink&) const = default;
};

class Platform {
 public:
  virtual ~Platform() = default;
  virtual const std::vector<std::string>& hosts() const = 0;
  virtual const std::vector<PlatformLink>& links() const = 0;
  // Appends the links in the order in which a message crosses them; none when the platform has no route from `from` to
  // `to`, and from a host to itself. Otherwise equal to what SimGrid's own loader answers.
  virtual void append_route(HostId from, HostId to, std::vector<LinkId>& links) const = 0;
  std::vector<LinkId> route(HostId from, HostId to) const {
    std::vector<LinkId> links;
    append_route(from, to, links);
    return links;
  }
  // -1 when there is no such host.
  virtual HostId host(std::string_view name) const = 0;
  // The routes from each of the hosts to each other one, taken together: how many cross each link, and the longest sum of
  // `latency` (by link) over one of them. No host twice. Nothing where a pair has no route, or where the platform has no
  // quicker way to tell than route by route.
  struct AllPairs {
    std::vector<double> legs;  // [link]
    double latency = 0;        // s
  };
  virtual std::optional<AllPairs> all_pairs(std::span<const HostId> /*hosts*/, std::span<const Seconds> /*latency*/) const { return std::nullopt; }
  // Moves host h to host to[h], one to one (-1: left out), and with it all routes between such hosts. If those are routes
  // of the platform again, but for which links they cross: [link] where it goes, -1 for links that none of them crosses.
  // Nothing if they are not, or if that would take long to know. Bandwidths and latencies are not looked at.
  virtual std::optional<std::vector<LinkId>> links_moved(std::span<const HostId> /*to*/) const { return std::nullopt; }
};

// Reads the file. Throws InputError with every problem found: no such file, not XML, elements and attributes that it
// does not honour, names that do not exist or exist twice, values without a unit.
std::shared_ptr<const Platform> read_platform(const std::string& path);

}  // namespace stepsim
