// Turns the elements of a SimGrid platform file into zones, links and routes. Internal to this folder.
#pragma once

#include <optional>
#include <vector>

#include "sim/cluster/xml.hpp"
#include "sim/cluster/zones.hpp"

namespace stepsim {

inline constexpr std::string_view kChanges = "links and hosts change over time by a scenario and not by the platform";

class PlatformReader {
 public:
  PlatformReader(XmlFile& file, ZonePlatform& platform) : file_(file), platform_(platform) {}
  void read(pugi::xml_node root);  // <platform>

 private:
  // A link as a route names it: what a message crosses on the way, and on the way back.
  struct LinkInRoute {
    LinkId forth = -1;
    LinkId back = -1;
  };

  // platform_xml.cpp
  void read_children(pugi::xml_node element, std::initializer_list<std::string_view> allowed);
  void read_zone(pugi::xml_node element, ZoneId parent);
  void read_zone_content(pugi::xml_node element, ZoneId zone);
  void read_prop(pugi::xml_node element);
  void read_host(pugi::xml_node element, ZoneId zone);
  void read_router(pugi::xml_node element, ZoneId zone);
  std::optional<ZoneId> new_zone(pugi::xml_node element, ZoneId parent, Routing routing);
  std::optional<PointId> new_point(pugi::xml_node element, PointKind kind, const std::string& name, ZoneId zone);

  // platform_links.cpp
  void read_link(pugi::xml_node element);
  std::optional<LinkId> read_backbone(pugi::xml_node element, ZoneId zone);
  LinkId new_link(pugi::xml_node element, PlatformLink link);
  LinkInRoute new_split_link(pugi::xml_node element, const std::string& name, const PlatformLink& like);

  // platform_cluster.cpp
  void read_cluster(pugi::xml_node element, ZoneId parent);
  void read_flat(pugi::xml_node element, ZoneId zone);
  void read_switched(pugi::xml_node element, ZoneId zone, const std::string& topology);
  void add_cluster_hosts(pugi::xml_node element, ZoneId zone);
  LinkId read_cluster_backbone(pugi::xml_node element);
  std::string cluster_policy(pugi::xml_node element);
  PlatformLink cluster_link(pugi::xml_node element, const std::string& policy);
  LinkInRoute new_duplex(pugi::xml_node element, const std::string& name, const PlatformLink& like,
                         const std::string& policy);
  std::vector<int> radicals_of(pugi::xml_node element);

  // platform_regular.cpp
  void read_regular(pugi::xml_node element, ZoneId zone, std::string_view topology, const MakeDuplex& make);

  // platform_routes.cpp
  void read_host_link(pugi::xml_node element, ZoneId zone, LinkId backbone);
  void read_route(pugi::xml_node element, ZoneId zone);
  void read_zone_route(pugi::xml_node element, ZoneId zone);
  std::vector<LinkInRoute> read_links(pugi::xml_node route);
  std::optional<PointId> point_at(pugi::xml_node element, const char* attribute, ZoneId zone, bool is_zone);
  std::optional<PointId> gateway_at(pugi::xml_node element, const char* attribute, PointId zone_point);
  void add_route(pugi::xml_node element, ZoneId zone, PointId from, PointId to, PointId gateway_from,
                 PointId gateway_to);
  std::optional<LinkId> find_link(std::string_view name) const;

  Zone& zone_at(ZoneId id) { return platform_.zones[static_cast<std::size_t>(id)]; }
  const Point& point_of(PointId id) const { return platform_.points[static_cast<std::size_t>(id)]; }

  XmlFile& file_;
  ZonePlatform& platform_;
  NameMap<LinkId> link_by_name_;
  NameMap<LinkInRoute> split_by_name_;  // upwards
};

}  // namespace stepsim
