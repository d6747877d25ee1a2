// Links and backbones of a platform file.
#include <fmt/format.h>

#include <utility>

#include "sim/cluster/platform_reader.hpp"

namespace stepsim {
namespace {

using Kind = XmlFile::Rule::Kind;

}  // namespace

LinkId PlatformReader::new_link(pugi::xml_node element, PlatformLink link) {
  const auto id = static_cast<LinkId>(platform_.all_links.size());
  if (!link_by_name_.emplace(link.name, id).second) {
    file_.problem(element, "", fmt::format("a link named {} stands above", link.name));
  }
  platform_.all_links.push_back(std::move(link));
  return id;
}

PlatformReader::LinkInRoute PlatformReader::new_split_link(pugi::xml_node element, const std::string& name,
                                                           const PlatformLink& like) {
  PlatformLink up = like;
  PlatformLink down = like;
  up.name = name + "_up";
  down.name = name + "_down";
  const LinkId first = new_link(element, std::move(up));
  return {first, new_link(element, std::move(down))};
}

void PlatformReader::read_link(pugi::xml_node element) {
  file_.check_attributes(element, {{"id", Kind::required},
                                   {"bandwidth", Kind::required},
                                   {"latency", Kind::optional},
                                   {"sharing_policy", Kind::optional},
                                   {"bandwidth_file", Kind::refused, kChanges},
                                   {"latency_file", Kind::refused, kChanges},
                                   {"state_file", Kind::refused, kChanges}});
  read_children(element, {"prop"});
  for (const pugi::xml_node child : element.children("prop")) read_prop(child);
  const std::string policy =
      file_.choice(element, "sharing_policy", {"SHARED", "SPLITDUPLEX", "FULLDUPLEX", "FATPIPE"}, "SHARED");
  const auto bandwidth = file_.bandwidth(element, "bandwidth");
  const auto latency = file_.time(element, "latency");
  const std::string name = element.attribute("id").value();
  if (name.empty()) return;
  const PlatformLink link{.name = name,
                          .bandwidth = bandwidth.value_or(BytesPerSecond(1)),
                          .latency = latency.value_or(Seconds(0)),
                          .shared = policy != "FATPIPE"};
  if (policy == "SPLITDUPLEX" || policy == "FULLDUPLEX") {
    split_by_name_.emplace(name, new_split_link(element, name, link));
  } else {
    new_link(element, link);
  }
}

std::optional<LinkId> PlatformReader::read_backbone(pugi::xml_node element, ZoneId zone) {
  file_.check_attributes(element, {{"id", Kind::required}, {"bandwidth", Kind::required}, {"latency", Kind::required}});
  read_children(element, {});
  if (zone_at(zone).routing != Routing::star) file_.problem(element, "", "only a Cluster zone has a backbone");
  const auto bandwidth = file_.bandwidth(element, "bandwidth");
  const auto latency = file_.time(element, "latency");
  const std::string name = element.attribute("id").value();
  if (name.empty() || !bandwidth || !latency) return std::nullopt;
  return new_link(element, {.name = name, .bandwidth = *bandwidth, .latency = *latency});
}

}  // namespace stepsim
