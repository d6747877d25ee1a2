// Zones, hosts and routers of a platform file.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <utility>

#include "sim/cluster/platform_reader.hpp"

namespace stepsim {
namespace {

using Kind = XmlFile::Rule::Kind;

// Elements that SimGrid reads and stepsim does not.
constexpr std::array<std::pair<std::string_view, std::string_view>, 15> kNotRead{{
    {"config", "stepsim sets SimGrid's options itself"},
    {"trace", kChanges},
    {"trace_connect", kChanges},
    {"actor", "stepsim runs no actors"},
    {"process", "stepsim runs no actors"},
    {"peer", "write a <host> and its links"},
    {"cabinet", "write a <cluster>"},
    {"disk", "stepsim simulates no storage"},
    {"storage", "stepsim simulates no storage"},
    {"AS", "write <zone>"},
    {"ASroute", "write <zoneRoute>"},
    {"bypassRoute", "write the <route> itself"},
    {"bypassZoneRoute", "write the <zoneRoute> itself"},
    {"bypassASroute", "write the <zoneRoute> itself"},
    {"include", "SimGrid does not read it any more"},
}};

std::string_view first_words(std::string_view text) {
  constexpr std::string_view kBlank = " \t\r\n";
  text.remove_prefix(std::min(text.find_first_not_of(kBlank), text.size()));
  return text.substr(0, std::min<std::size_t>(text.find_first_of("\r\n"), 40));
}

std::optional<Routing> routing_from(std::string_view text) {
  std::string lower(text);
  std::transform(lower.begin(), lower.end(), lower.begin(), [](unsigned char c) { return std::tolower(c); });
  if (lower == "cluster") return Routing::star;
  if (lower == "full") return Routing::full;
  if (lower == "floyd") return Routing::floyd;
  if (lower == "dijkstra" || lower == "dijkstracache") return Routing::dijkstra;
  if (lower == "none") return Routing::none;
  return std::nullopt;
}

}  // namespace

std::shared_ptr<const Platform> read_platform(const std::string& path) {
  XmlFile file(path);
  const auto platform = std::make_shared<ZonePlatform>();
  PlatformReader(file, *platform).read(file.load("platform"));
  if (!file.problems().empty()) throw InputError(std::move(file.problems()));
  platform->seal();
  return platform;
}

void PlatformReader::read(pugi::xml_node root) {
  file_.check_attributes(root, {{"version", Kind::required}});
  file_.choice(root, "version", {"4.1", "4"}, "4.1");
  read_children(root, {"zone", "cluster"});
  int zones = 0;
  for (const pugi::xml_node child : root.children()) {
    const std::string_view name = child.name();
    if (name != "zone" && name != "cluster") continue;
    if (++zones > 1) file_.problem(child, "", "a second zone at the top; put both into one");
    if (name == "zone") read_zone(child, -1);
    if (name == "cluster") read_cluster(child, -1);
  }
  if (zones == 0) file_.problem(root, "", "holds no <zone> and no <cluster>");
}

// Notes text between the tags and elements other than these.
void PlatformReader::read_children(pugi::xml_node element, std::initializer_list<std::string_view> allowed) {
  for (const pugi::xml_node child : element.children()) {
    const std::string_view name = child.name();
    if (child.type() != pugi::node_element) {
      file_.problem(element, "", fmt::format("holds the text '{}'", first_words(child.value())));
      continue;
    }
    if (std::find(allowed.begin(), allowed.end(), name) != allowed.end()) continue;
    const auto known = std::find_if(kNotRead.begin(), kNotRead.end(), [&](const auto& e) { return e.first == name; });
    if (known != kNotRead.end()) {
      file_.problem(child, "", fmt::format("not read: {}", known->second));
    } else {
      file_.problem(child, "",
                    fmt::format("cannot stand in <{}>, which holds {}", element.name(),
                                allowed.size() == 0 ? "nothing" : fmt::format("{}", fmt::join(allowed, ", "))));
    }
  }
}

std::optional<PointId> PlatformReader::new_point(pugi::xml_node element, PointKind kind, const std::string& name,
                                                 ZoneId zone) {
  constexpr std::size_t kMostHosts = std::size_t{1} << 22;
  if (name.empty()) return std::nullopt;  // noted as missing
  if (platform_.point_by_name.contains(name)) {
    file_.problem(element, "", fmt::format("a host, router or zone named {} stands above", name));
    return std::nullopt;
  }
  if (platform_.host_names.size() == kMostHosts) {
    file_.problem(element, "", fmt::format("the platform has more than {} hosts", kMostHosts));
    return std::nullopt;
  }
  return platform_.add_point(kind, name, zone);
}

std::optional<ZoneId> PlatformReader::new_zone(pugi::xml_node element, ZoneId parent, Routing routing) {
  constexpr int kDeepest = 64;
  const std::string name = element.attribute("id").value();
  const int depth = parent < 0 ? 0 : zone_at(parent).depth + 1;
  if (depth == kDeepest) {
    file_.problem(element, "", fmt::format("zones are nested more than {} deep", kDeepest));
    return std::nullopt;
  }
  const auto point = new_point(element, PointKind::zone, name, parent);
  if (!point) return std::nullopt;
  platform_.zones.push_back({.name = name, .routing = routing, .point = *point, .depth = depth});
  return static_cast<ZoneId>(platform_.zones.size() - 1);
}

void PlatformReader::read_zone(pugi::xml_node element, ZoneId parent) {
  file_.check_attributes(element, {{"id", Kind::required}, {"routing", Kind::required}});
  const auto text = XmlFile::text(element, "routing");
  const auto routing = text ? routing_from(*text) : std::nullopt;
  if (text && !routing) {
    file_.problem(element, "routing",
                  fmt::format("'{}' is not one of Full, Floyd, Dijkstra, DijkstraCache, Cluster, None", *text));
  }
  const auto zone = new_zone(element, parent, routing.value_or(Routing::none));
  if (zone && routing) read_zone_content(element, *zone);
}

void PlatformReader::read_zone_content(pugi::xml_node element, ZoneId zone) {
  read_children(element,
                {"prop", "zone", "cluster", "host", "router", "link", "backbone", "host_link", "route", "zoneRoute"});
  LinkId backbone = -1;
  bool holds_hosts = false;
  for (const pugi::xml_node child : element.children()) {
    const std::string_view name = child.name();
    holds_hosts = holds_hosts || name == "host" || name == "router";
    if (name == "prop") read_prop(child);
    if (name == "zone") read_zone(child, zone);
    if (name == "cluster") read_cluster(child, zone);
    if (name == "host") read_host(child, zone);
    if (name == "router") read_router(child, zone);
    if (name == "link") read_link(child);
    if (name == "backbone") {
      if (backbone >= 0) file_.problem(child, "", "a second backbone of its zone");
      backbone = read_backbone(child, zone).value_or(backbone);
    }
  }
  if (holds_hosts && zone_at(zone).holds_zones)
    file_.problem(element, "", "holds both hosts and zones; SimGrid wants one kind");
  if (zone_at(zone).routing == Routing::star && zone_at(zone).holds_zones) {
    file_.problem(element, "", "a Cluster zone written in XML joins hosts only; use routing Floyd or Full for zones");
  }
  for (const pugi::xml_node child : element.children()) {
    const std::string_view name = child.name();
    if (name == "host_link") read_host_link(child, zone, backbone);
    if (name == "route") read_route(child, zone);
    if (name == "zoneRoute") read_zone_route(child, zone);
  }
}

// Free text for people and programs; stepsim uses none.
void PlatformReader::read_prop(pugi::xml_node element) {
  file_.check_attributes(element, {{"id", Kind::required}, {"value", Kind::may_be_empty}});
  read_children(element, {});
}

void PlatformReader::read_host(pugi::xml_node element, ZoneId zone) {
  file_.check_attributes(element, {{"id", Kind::required},
                                   {"speed", Kind::required},
                                   {"core", Kind::optional},
                                   {"speed_file", Kind::refused, kChanges},
                                   {"availability_file", Kind::refused, kChanges},
                                   {"state_file", Kind::refused, kChanges},
                                   {"coordinates", Kind::refused, "stepsim reads no Vivaldi zones"},
                                   {"pstate", Kind::refused, "the GPU's file says how fast it computes"}});
  read_children(element, {"prop"});
  for (const pugi::xml_node child : element.children("prop")) read_prop(child);
  new_point(element, PointKind::host, element.attribute("id").value(), zone);
}

void PlatformReader::read_router(pugi::xml_node element, ZoneId zone) {
  file_.check_attributes(element,
                         {{"id", Kind::required}, {"coordinates", Kind::refused, "stepsim reads no Vivaldi zones"}});
  read_children(element, {});
  new_point(element, PointKind::router, element.attribute("id").value(), zone);
}

}  // namespace stepsim
