// Whether hosts can be moved onto each other so that all routes between them stay what they are.
#include <algorithm>
#include <cstddef>

#include "sim/cluster/zones.hpp"

namespace stepsim {
namespace {

// One-to-one, from and to things with small numbers; -1: not yet.
class Move {
 public:
  explicit Move(std::size_t size) : to_(size, -1), from_(size, -1) {}

  bool has(std::int32_t a) const { return to_[static_cast<std::size_t>(a)] >= 0; }
  std::int32_t operator[](std::int32_t a) const { return to_[static_cast<std::size_t>(a)]; }
  // False where a already goes elsewhere, or something else already goes to b.
  bool set(std::int32_t a, std::int32_t b) {
    std::int32_t &to = to_[static_cast<std::size_t>(a)], &from = from_[static_cast<std::size_t>(b)];
    if (to == b && from == a) return true;
    if (to >= 0 || from >= 0) return false;
    to = b;
    from = a;
    return true;
  }
  std::vector<std::int32_t>&& take() && { return std::move(to_); }

 private:
  std::vector<std::int32_t> to_, from_;
};

// Points take with them the zones that hold them; a star's members their ports. What then can still differ are the routes
// that zones write down between members in use, looked at from the outermost zone inwards, since a route between zones
// leads to gateways inside them.
class ZoneMove {
 public:
  explicit ZoneMove(const ZonePlatform& platform)
      : platform_(platform), points_(platform.points.size()), links_(platform.all_links.size()), used_(platform.zones.size()) {}

  bool point(PointId a, PointId b) {
    if (points_.has(a)) return points_[a] == b;
    const Point &x = point_at(a), &y = point_at(b);
    if (x.kind != y.kind || (x.zone < 0) != (y.zone < 0) || !points_.set(a, b)) return false;
    if (x.zone < 0) return true;
    const Zone &from = zone_at(x.zone), &to = zone_at(y.zone);
    if (from.routing != to.routing || from.depth != to.depth) return false;
    if (from.routing == Routing::star && !ports(from.ports[position(x)], to.ports[position(y)])) return false;
    used_[static_cast<std::size_t>(x.zone)].push_back(a);
    return point(from.point, to.point);
  }

  bool written_routes() {
    std::vector<ZoneId> zones;
    for (ZoneId z = 0; z < static_cast<ZoneId>(used_.size()); ++z) zones.push_back(z);
    std::stable_sort(zones.begin(), zones.end(), [&](ZoneId a, ZoneId b) { return zone_at(a).depth < zone_at(b).depth; });
    return std::all_of(zones.begin(), zones.end(), [&](ZoneId z) { return routes_of(z); });
  }

  std::vector<LinkId>&& take_links() && { return std::move(links_).take(); }

 private:
  const Point& point_at(PointId p) const { return platform_.points[static_cast<std::size_t>(p)]; }
  const Zone& zone_at(ZoneId z) const { return platform_.zones[static_cast<std::size_t>(z)]; }
  static std::size_t position(const Point& point) { return static_cast<std::size_t>(point.position); }

  bool link(LinkId a, LinkId b) { return a < 0 || b < 0 ? a == b : links_.set(a, b); }

  bool ports(const StarPorts& from, const StarPorts& to) {
    for (std::size_t i = 0; i < from.up.size(); ++i) {
      if (!link(from.up[i], to.up[i]) || !link(from.down[i], to.down[i])) return false;
    }
    return true;
  }

  bool route(const WrittenRoute* from, const WrittenRoute* to) {
    if (from == nullptr || to == nullptr) return from == to;
    if (from->links.size() != to->links.size()) return false;
    for (std::size_t i = 0; i < from->links.size(); ++i) {
      if (!link(from->links[i], to->links[i])) return false;
    }
    return gateway(from->gateway_from, to->gateway_from) && gateway(from->gateway_to, to->gateway_to);
  }
  bool gateway(PointId a, PointId b) { return a < 0 || b < 0 ? a == b : point(a, b); }

  bool routes_of(ZoneId z) {
    const std::vector<PointId>& used = used_[static_cast<std::size_t>(z)];
    if (used.empty()) return true;
    const Zone &from = zone_at(z), &to = zone_at(point_at(points_[used[0]]).zone);
    switch (from.routing) {
      case Routing::star:
      case Routing::none:
        return true;
      case Routing::regular:
        return false;  // its ways depend on hosts' numbers
      case Routing::full:
        return pairs(used, [&](int a, int b, int c, int d) { return route(written(from, a, b), written(to, c, d)); });
      case Routing::floyd:
      case Routing::dijkstra:
        break;
    }
    if (const PointId hub = hub_of(from); hub >= 0) return spokes(from, to, hub, used);
    return pairs(used, [&](int a, int b, int c, int d) { return path(from, a, b, to, c, d); });
  }

  // Positions of all pairs in use, and of what they go to.
  template <class Same>
  bool pairs(const std::vector<PointId> used, const Same& same) {  // a copy: gateways' zones may join the list
    constexpr std::size_t kMost = 256;  // members: more take long
    if (used.size() > kMost) return false;
    for (const PointId a : used) {
      for (const PointId b : used) {
        if (a == b) continue;
        const Point &c = point_at(points_[a]), &d = point_at(points_[b]);
        if (!same(point_at(a).position, point_at(b).position, c.position, d.position)) return false;
      }
    }
    return true;
  }

  static const WrittenRoute* written(const Zone& zone, int from, int to) {
    const auto found = zone.routes.find({from, to});
    return found == zone.routes.end() ? nullptr : &found->second;
  }
  static const WrittenRoute* step(const Zone& zone, int from, int to) {
    return zone.written[static_cast<std::size_t>(from) * zone.members.size() + static_cast<std::size_t>(to)];
  }
  static int before(const Zone& zone, int from, int at) {
    return zone.predecessor[static_cast<std::size_t>(from) * zone.members.size() + static_cast<std::size_t>(at)];
  }

  bool path(const Zone& from, int a, int b, const Zone& to, int c, int d) {
    while (b != a || d != c) {
      const int near = before(from, a, b), far = before(to, c, d);
      if (near < 0 || far < 0) return near < 0 && far < 0;
      if (!route(step(from, near, b), step(to, far, d))) return false;
      b = near;
      d = far;
      if ((b == a) != (d == c)) return false;
    }
    return true;
  }

  // The member at one end of every route that the zone writes down, if there is one: then ways have no choice.
  PointId hub_of(const Zone& zone) const {
    if (zone.routes.size() < 3) return -1;
    const auto [a, b] = zone.routes.begin()->first;
    for (const int hub : {a, b}) {
      const bool all = std::all_of(zone.routes.begin(), zone.routes.end(), [&](const auto& route) {
        return (route.first.first == hub) != (route.first.second == hub);
      });
      if (all) return zone.members[static_cast<std::size_t>(hub)];
    }
    return -1;
  }

  bool spokes(const Zone& from, const Zone& to, PointId hub, const std::vector<PointId>& used) {
    const PointId other = hub_of(to);
    if (other < 0) return false;
    const int h = point_at(hub).position, i = point_at(other).position;
    if (std::find(used.begin(), used.end(), hub) != used.end() && points_[hub] != other) return false;
    const std::vector<PointId> members = used;  // the hub may join them
    return std::all_of(members.begin(), members.end(), [&](PointId a) {
      const int x = point_at(a).position, y = point_at(points_[a]).position;
      return a == hub || (route(step(from, x, h), step(to, y, i)) && route(step(from, h, x), step(to, i, y)));
    });
  }

  const ZonePlatform& platform_;
  Move points_, links_;
  std::vector<std::vector<PointId>> used_;  // [zone] its members that move
};

}  // namespace

std::optional<std::vector<LinkId>> ZonePlatform::links_moved(std::span<const HostId> to) const {
  ZoneMove move(*this);
  for (HostId h = 0; h < static_cast<HostId>(to.size()); ++h) {
    const HostId other = to[static_cast<std::size_t>(h)];
    if (other >= 0 && !move.point(host_points[static_cast<std::size_t>(h)], host_points[static_cast<std::size_t>(other)])) return std::nullopt;
  }
  if (!move.written_routes()) return std::nullopt;
  return std::move(move).take_links();
}

}  // namespace stepsim
