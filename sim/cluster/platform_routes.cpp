// Host links, routes and zone routes of a platform file.
#include <fmt/format.h>

#include <algorithm>

#include "sim/cluster/platform_reader.hpp"

namespace stepsim {
namespace {

using Kind = XmlFile::Rule::Kind;

}  // namespace

// By its own name, or by SimGrid's name of a direction of a SPLITDUPLEX link: L_UP, L_DOWN.
std::optional<LinkId> PlatformReader::find_link(std::string_view name) const {
  if (const auto found = link_by_name_.find(name); found != link_by_name_.end()) return found->second;
  for (const std::string_view ending : {"_UP", "_DOWN"}) {
    if (!name.ends_with(ending)) continue;
    const auto split = split_by_name_.find(name.substr(0, name.size() - ending.size()));
    if (split != split_by_name_.end()) return ending == "_UP" ? split->second.forth : split->second.back;
  }
  return std::nullopt;
}

void PlatformReader::read_host_link(pugi::xml_node element, ZoneId zone, LinkId backbone) {
  file_.check_attributes(element, {{"id", Kind::required}, {"up", Kind::required}, {"down", Kind::required}});
  read_children(element, {});
  if (zone_at(zone).routing != Routing::star) {
    return file_.problem(element, "", "only a Cluster zone has host links; use <route>");
  }
  const auto host = point_at(element, "id", zone, false);
  std::array<std::optional<LinkId>, 2> links;
  for (const char* way : {"up", "down"}) {
    const auto name = XmlFile::text(element, way);
    const auto link = name ? find_link(*name) : std::nullopt;
    if (name && !link) file_.problem(element, way, fmt::format("no link {} stands above", *name));
    links[std::string_view(way) == "up" ? 0 : 1] = link;
  }
  if (!host || !links[0] || !links[1]) return;
  zone_at(zone).ports[static_cast<std::size_t>(point_of(*host).position)] = {.up = {*links[0], backbone, -1},
                                                                             .down = {backbone, *links[1], -1}};
}

void PlatformReader::read_route(pugi::xml_node element, ZoneId zone) {
  file_.check_attributes(element, {{"src", Kind::required}, {"dst", Kind::required}, {"symmetrical", Kind::optional}});
  const auto from = point_at(element, "src", zone, false);
  const auto to = point_at(element, "dst", zone, false);
  if (from && to) add_route(element, zone, *from, *to, -1, -1);
}

void PlatformReader::read_zone_route(pugi::xml_node element, ZoneId zone) {
  file_.check_attributes(element, {{"src", Kind::required},
                                   {"dst", Kind::required},
                                   {"gw_src", Kind::required},
                                   {"gw_dst", Kind::required},
                                   {"symmetrical", Kind::optional}});
  const auto from = point_at(element, "src", zone, true);
  const auto to = point_at(element, "dst", zone, true);
  if (!from || !to) return;
  const auto gateway_from = gateway_at(element, "gw_src", *from);
  const auto gateway_to = gateway_at(element, "gw_dst", *to);
  if (gateway_from && gateway_to) add_route(element, zone, *from, *to, *gateway_from, *gateway_to);
}

// The member of the zone that an attribute names: a zone, or a host or router.
std::optional<PointId> PlatformReader::point_at(pugi::xml_node element, const char* attribute, ZoneId zone,
                                                bool is_zone) {
  const auto name = XmlFile::text(element, attribute);
  if (!name) return std::nullopt;
  const std::string_view wanted = is_zone ? "zone" : "host or router";
  const auto found = platform_.point_by_name.find(*name);
  if (found == platform_.point_by_name.end()) {
    file_.problem(element, attribute, fmt::format("there is no {} {} above", wanted, *name));
    return std::nullopt;
  }
  const Point& point = point_of(found->second);
  if (point.zone != zone || (point.kind == PointKind::zone) != is_zone) {
    file_.problem(element, attribute, fmt::format("{} is not a {} of {}", *name, wanted, zone_at(zone).name));
    return std::nullopt;
  }
  return found->second;
}

std::optional<PointId> PlatformReader::gateway_at(pugi::xml_node element, const char* attribute, PointId zone_point) {
  const auto name = XmlFile::text(element, attribute);
  if (!name) return std::nullopt;
  const auto found = platform_.point_by_name.find(*name);
  const bool exists = found != platform_.point_by_name.end() && point_of(found->second).kind != PointKind::zone;
  const ZoneId zone = point_of(zone_point).id;
  if (exists && platform_.contains(zone, found->second)) return found->second;
  file_.problem(element, attribute, fmt::format("{} is not a host or router in {}", *name, zone_at(zone).name));
  return std::nullopt;
}

std::vector<PlatformReader::LinkInRoute> PlatformReader::read_links(pugi::xml_node route) {
  std::vector<LinkInRoute> links;
  read_children(route, {"link_ctn"});
  for (const pugi::xml_node element : route.children("link_ctn")) {
    file_.check_attributes(element, {{"id", Kind::required}, {"direction", Kind::optional}});
    read_children(element, {});
    const std::string direction = file_.choice(element, "direction", {"UP", "DOWN", "NONE"}, "NONE");
    const std::string name = element.attribute("id").value();
    if (name.empty()) continue;
    const auto split = split_by_name_.find(name);
    if (direction != "NONE") {
      if (split == split_by_name_.end()) {
        file_.problem(element, "", fmt::format("no link {} with SPLITDUPLEX stands above", name));
        continue;
      }
      const LinkInRoute up = split->second;
      links.push_back(direction == "UP" ? up : LinkInRoute{up.back, up.forth});
    } else if (const auto link = find_link(name)) {
      links.push_back({*link, *link});
    } else if (split != split_by_name_.end()) {
      file_.problem(element, "direction", fmt::format("missing: {} is SPLITDUPLEX; write UP or DOWN", name));
    } else {
      file_.problem(element, "", fmt::format("no link {} stands above", name));
    }
  }
  return links;
}

void PlatformReader::add_route(pugi::xml_node element, ZoneId zone, PointId from, PointId to, PointId gateway_from,
                               PointId gateway_to) {
  const std::size_t before = file_.problems().size();
  const std::string symmetrical = file_.choice(element, "symmetrical", {"YES", "NO", "yes", "no"}, "YES");
  const std::vector<LinkInRoute> links = read_links(element);
  Zone& at = zone_at(zone);
  if (at.routing == Routing::star) file_.problem(element, "", "a Cluster zone has no written routes; use <host_link>");
  if (at.routing == Routing::none) file_.problem(element, "", "a zone with routing None has no routes");
  if (!element.child("link_ctn")) file_.problem(element, "", "a route without links");
  const bool to_itself = from == to && at.routing == Routing::full && gateway_from < 0;
  if (from == to && !to_itself)
    file_.problem(element, "dst", "leads to where it starts; SimGrid takes that in Full zones");
  if (file_.problems().size() > before) return;
  const int start = point_of(from).position;
  const int end = point_of(to).position;
  for (const int position : {start, end}) {
    if (at.routing != Routing::dijkstra) break;
    if (std::find(at.named.begin(), at.named.end(), position) == at.named.end()) at.named.push_back(position);
  }
  if (to_itself) return;  // a GPU sends nothing to itself

  WrittenRoute forth{.links = {}, .gateway_from = gateway_from, .gateway_to = gateway_to};
  WrittenRoute back{.links = {}, .gateway_from = gateway_to, .gateway_to = gateway_from};
  for (const LinkInRoute& link : links) forth.links.push_back(link.forth);
  for (auto link = links.rbegin(); link != links.rend(); ++link) back.links.push_back(link->back);
  bool is_new = at.routes.emplace(std::pair{start, end}, std::move(forth)).second;
  if (symmetrical == "YES" || symmetrical == "yes") {
    is_new = at.routes.emplace(std::pair{end, start}, std::move(back)).second && is_new;
  }
  if (!is_new) {
    file_.problem(element, "", "the same route stands above (routes count both ways unless symmetrical is NO)");
  }
}

}  // namespace stepsim
