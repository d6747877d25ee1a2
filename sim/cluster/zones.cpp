#include "sim/cluster/zones.hpp"

#include <algorithm>
#include <boost/container/small_vector.hpp>
#include <cassert>

namespace stepsim {
namespace {

// A star names a link once a route, also where it stands on the way up and on the way down (a shared private link).
void append_new(const std::array<LinkId, 3>& port, std::size_t begin, std::vector<LinkId>& links) {
  for (const LinkId link : port) {
    const auto first = links.begin() + static_cast<std::ptrdiff_t>(begin);
    if (link >= 0 && std::find(first, links.end(), link) == links.end()) links.push_back(link);
  }
}

}  // namespace

PointId ZonePlatform::add_point(PointKind kind, const std::string& name, ZoneId zone) {
  const auto id = static_cast<PointId>(points.size());
  Point point{.kind = kind, .zone = zone};
  if (kind == PointKind::host) {
    point.id = static_cast<HostId>(host_names.size());
    host_names.push_back(name);
    host_points.push_back(id);
  }
  if (kind == PointKind::zone) point.id = static_cast<ZoneId>(zones.size());
  if (zone >= 0) {
    Zone& parent = zones[static_cast<std::size_t>(zone)];
    point.position = static_cast<std::int32_t>(parent.members.size());
    parent.members.push_back(id);
    if (parent.routing == Routing::star) parent.ports.emplace_back();
    if (kind == PointKind::zone) parent.holds_zones = true;
  }
  points.push_back(point);
  point_by_name.emplace(name, id);
  return id;
}

HostId ZonePlatform::host(std::string_view name) const {
  const auto found = point_by_name.find(name);
  if (found == point_by_name.end()) return -1;
  const Point& point = points[static_cast<std::size_t>(found->second)];
  return point.kind == PointKind::host ? point.id : -1;
}

bool ZonePlatform::contains(ZoneId zone, PointId point) const {
  for (ZoneId at = points[static_cast<std::size_t>(point)].zone; at >= 0;) {
    if (at == zone) return true;
    at = points[static_cast<std::size_t>(zones[static_cast<std::size_t>(at)].point)].zone;
  }
  return false;
}

void ZonePlatform::append_route(HostId from, HostId to, std::vector<LinkId>& links) const {
  if (from == to) return;
  const std::size_t before = links.size();
  const PointId start = host_points[static_cast<std::size_t>(from)];
  if (!append(start, host_points[static_cast<std::size_t>(to)], links)) links.resize(before);
}

// The member of `zone` that is or holds `point`; the zone must contain it.
PointId ZonePlatform::member_towards(ZoneId zone, PointId point) const {
  while (points[static_cast<std::size_t>(point)].zone != zone) {
    point = zones[static_cast<std::size_t>(points[static_cast<std::size_t>(point)].zone)].point;
  }
  return point;
}

// Appends the links from one host or router to another; false when there is no route. A route between zones leads to
// the gateway of the one, over the links between them, and on from the gateway of the other; gateways lie inside their
// zones, so every recursion is one zone deeper.
bool ZonePlatform::append(PointId from, PointId to, std::vector<LinkId>& links) const {
  ZoneId common = points[static_cast<std::size_t>(from)].zone;
  while (!contains(common, to)) {
    common = points[static_cast<std::size_t>(zones[static_cast<std::size_t>(common)].point)].zone;
    if (common < 0) return false;
  }
  const PointId near = member_towards(common, from);
  const PointId far = member_towards(common, to);
  const Zone& zone = zones[static_cast<std::size_t>(common)];
  Ends gateways;
  if (!zone.holds_zones) return append_inside(zone, near, far, links, gateways);
  const std::size_t begin = links.size();
  if (!append_inside(zone, near, far, links, gateways)) return false;
  if (gateways.from < 0 || gateways.to < 0) return false;
  const std::size_t end = links.size();
  if (from != gateways.from && !append(from, gateways.from, links)) return false;
  const auto at = [&](std::size_t place) { return links.begin() + static_cast<std::ptrdiff_t>(place); };
  std::rotate(at(begin), at(end), links.end());  // what leads to the gateway comes first
  return to == gateways.to || append(gateways.to, to, links);
}

bool ZonePlatform::append_inside(const Zone& zone, PointId from, PointId to, std::vector<LinkId>& links,
                                 Ends& gateways) const {
  const int start = points[static_cast<std::size_t>(from)].position;
  const int end = points[static_cast<std::size_t>(to)].position;
  switch (zone.routing) {
    case Routing::star: {
      const std::size_t begin = links.size();
      append_new(zone.ports[static_cast<std::size_t>(start)].up, begin, links);
      append_new(zone.ports[static_cast<std::size_t>(end)].down, begin, links);
      return true;
    }
    case Routing::full: {
      const auto found = zone.routes.find({start, end});
      if (found == zone.routes.end()) return false;
      links.insert(links.end(), found->second.links.begin(), found->second.links.end());
      gateways = {found->second.gateway_from, found->second.gateway_to};
      return true;
    }
    case Routing::floyd:
    case Routing::dijkstra:
      return append_path(zone, start, end, links, gateways);
    case Routing::regular:
      zone.regular->append(start, end, links);
      return true;
    case Routing::none:
      return false;
  }
  return false;
}

// Follows the predecessors back from the end, then appends forwards; between two routes whose gateways differ, it
// crosses the zone in the middle.
bool ZonePlatform::append_path(const Zone& zone, int from, int to, std::vector<LinkId>& links, Ends& gateways) const {
  const std::size_t width = zone.members.size();
  boost::container::small_vector<const WrittenRoute*, 8> steps;
  for (int at = to; at != from || steps.empty();) {
    const int before = zone.predecessor[static_cast<std::size_t>(from) * width + static_cast<std::size_t>(at)];
    if (before < 0) return false;
    steps.push_back(zone.written[static_cast<std::size_t>(before) * width + static_cast<std::size_t>(at)]);
    at = before;
  }
  gateways = {steps.back()->gateway_from, steps.front()->gateway_to};
  PointId arrived = -1;
  for (auto step = steps.rbegin(); step != steps.rend(); ++step) {
    const WrittenRoute& route = **step;
    if (arrived >= 0 && arrived != route.gateway_from && !append(arrived, route.gateway_from, links)) return false;
    links.insert(links.end(), route.links.begin(), route.links.end());
    arrived = route.gateway_to;
  }
  return true;
}

void ZonePlatform::seal() {
  for (Zone& zone : zones) {
    if (zone.routing == Routing::floyd) find_floyd_paths(zone);
    if (zone.routing == Routing::dijkstra) find_dijkstra_paths(zone);
    if (zone.predecessor.empty()) continue;
    zone.written.assign(zone.predecessor.size(), nullptr);
    for (const auto& [ends, route] : zone.routes) {
      zone.written[static_cast<std::size_t>(ends.first) * zone.members.size() + static_cast<std::size_t>(ends.second)] = &route;
    }
  }
  find_owners();
}

void ZonePlatform::find_owners() {
  constexpr HostId kUnseen = -1;
  constexpr HostId kSeveral = -2;
  std::vector<HostId> owner(all_links.size(), kUnseen);
  const auto see = [&](LinkId link, HostId host) {
    if (link < 0) return;
    HostId& known = owner[static_cast<std::size_t>(link)];
    known = known == kUnseen || known == host ? host : kSeveral;
  };
  for (const Zone& zone : zones) {
    for (std::size_t i = 0; i < zone.ports.size(); ++i) {
      const Point& point = points[static_cast<std::size_t>(zone.members[i])];
      const HostId host = point.kind == PointKind::host ? point.id : kSeveral;
      for (const LinkId link : zone.ports[i].up) see(link, host);
      for (const LinkId link : zone.ports[i].down) see(link, host);
    }
    for (const auto& [ends, route] : zone.routes) {
      for (const LinkId link : route.links) see(link, kSeveral);
    }
  }
  for (std::size_t i = 0; i < owner.size(); ++i) all_links[i].owner = std::max(owner[i], -1);
}

}  // namespace stepsim
