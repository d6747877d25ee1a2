// The zones of a platform and the routes through them, as SimGrid defines them. Internal to this folder.
#pragma once

#include <array>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "sim/cluster/platform.hpp"
#include "sim/cluster/regular.hpp"

namespace stepsim {

using PointId = std::int32_t;  // host, router or zone
using ZoneId = std::int32_t;

enum class PointKind : std::uint8_t { host, router, zone };

struct Point {
  PointKind kind = PointKind::host;
  ZoneId zone = -1;           // that holds it; -1: the root
  std::int32_t position = 0;  // among the zone's members
  std::int32_t id = -1;       // HostId or ZoneId; a router has none
};

enum class Routing : std::uint8_t { star, full, floyd, dijkstra, regular, none };

// The links between a member of a star and its centre, in the order of travel; -1: unused.
struct StarPorts {
  std::array<LinkId, 3> up{-1, -1, -1};
  std::array<LinkId, 3> down{-1, -1, -1};
};

// One route that the file writes out. Gateways only between zones.
struct WrittenRoute {
  std::vector<LinkId> links;
  PointId gateway_from = -1;
  PointId gateway_to = -1;
};

struct Zone {
  std::string name;
  Routing routing = Routing::none;
  PointId point = -1;
  int depth = 0;
  bool holds_zones = false;
  std::vector<PointId> members{};
  std::vector<StarPorts> ports{};                        // star: [position]
  std::shared_ptr<const RegularNetwork> regular{};       // regular: between hosts, by positions
  std::map<std::pair<int, int>, WrittenRoute> routes{};  // full, floyd, dijkstra: by positions
  std::vector<int> named{};                              // dijkstra: positions in the order of the routes naming them
  std::vector<std::int32_t> predecessor{};               // floyd, dijkstra: [from * members + to]; -1: no way
  std::vector<const WrittenRoute*> written{};            // floyd, dijkstra: [from * members + to] the one in `routes`
};

struct NameHash {
  using is_transparent = void;
  std::size_t operator()(std::string_view name) const { return std::hash<std::string_view>{}(name); }
};
template <class T>
using NameMap = std::unordered_map<std::string, T, NameHash, std::equal_to<>>;  // looked up, never iterated over

class ZonePlatform final : public Platform {
 public:
  ZonePlatform() = default;
  ZonePlatform(ZonePlatform&&) = default;  // not copied: zones point to their own routes
  const std::vector<std::string>& hosts() const override { return host_names; }
  const std::vector<PlatformLink>& links() const override { return all_links; }
  void append_route(HostId from, HostId to, std::vector<LinkId>& links) const override;
  HostId host(std::string_view name) const override;
  std::optional<AllPairs> all_pairs(std::span<const HostId> hosts, std::span<const Seconds> latency) const override;
  std::optional<std::vector<LinkId>> links_moved(std::span<const HostId> to) const override;

  PointId add_point(PointKind kind, const std::string& name, ZoneId zone);  // the name must be free
  bool contains(ZoneId zone, PointId point) const;                          // at any depth
  void seal();  // once all is there: shortest paths, and which link belongs to one host only

  std::vector<std::string> host_names;
  std::vector<PlatformLink> all_links;
  std::vector<Point> points;
  std::vector<PointId> host_points;  // [host]
  std::vector<Zone> zones;
  NameMap<PointId> point_by_name;

 private:
  class PairCounter;
  struct Ends {
    PointId from = -1, to = -1;
  };
  bool append(PointId from, PointId to, std::vector<LinkId>& links) const;
  bool append_inside(const Zone& zone, PointId from, PointId to, std::vector<LinkId>& links, Ends& gateways) const;
  bool append_path(const Zone& zone, int from, int to, std::vector<LinkId>& links, Ends& gateways) const;
  PointId member_towards(ZoneId zone, PointId point) const;
  void find_owners();
};

// Fills `predecessor` as SimGrid does, ties included. The length of a way is its number of links.
void find_floyd_paths(Zone& zone);
void find_dijkstra_paths(Zone& zone);

}  // namespace stepsim
