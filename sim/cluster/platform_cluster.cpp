// <cluster>: many hosts at one switch, or in a regular network, in one element.
#include <fmt/format.h>

#include <charconv>

#include "sim/cluster/platform_reader.hpp"

namespace stepsim {
namespace {

using Kind = XmlFile::Rule::Kind;

std::optional<int> whole(std::string_view text) {
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < 0) return std::nullopt;
  return value;
}

}  // namespace

// "1-4,6,9-11": the numbers of the hosts.
std::vector<int> PlatformReader::radicals_of(pugi::xml_node element) {
  constexpr int kMost = 1 << 22;
  std::vector<int> numbers;
  std::string_view rest = element.attribute("radical").value();
  while (!rest.empty()) {
    const std::size_t comma = rest.find(',');
    const std::string_view part = rest.substr(0, comma);
    rest.remove_prefix(comma == std::string_view::npos ? rest.size() : comma + 1);
    const std::size_t dash = part.find('-');
    const auto first = whole(part.substr(0, dash));
    const auto last = dash == std::string_view::npos ? first : whole(part.substr(dash + 1));
    if (!first || !last || *last < *first || *last - *first >= kMost || numbers.size() >= kMost) {
      file_.problem(element, "radical", fmt::format("'{}' is not a number or a range such as 0-7", part.substr(0, 40)));
      return {};
    }
    for (int i = *first; i <= *last; ++i) numbers.push_back(i);
  }
  return numbers;
}

void PlatformReader::read_cluster(pugi::xml_node element, ZoneId parent) {
  file_.check_attributes(element, {{"id", Kind::required},
                                   {"prefix", Kind::may_be_empty},
                                   {"suffix", Kind::may_be_empty},
                                   {"radical", Kind::required},
                                   {"speed", Kind::required},
                                   {"core", Kind::optional},
                                   {"bw", Kind::required},
                                   {"lat", Kind::required},
                                   {"sharing_policy", Kind::optional},
                                   {"topology", Kind::optional},
                                   {"topo_parameters", Kind::optional},
                                   {"bb_bw", Kind::optional},
                                   {"bb_lat", Kind::optional},
                                   {"bb_sharing_policy", Kind::optional},
                                   {"router_id", Kind::optional},
                                   {"limiter_link", Kind::optional},
                                   {"loopback_bw", Kind::optional},
                                   {"loopback_lat", Kind::optional}});
  // A loopback cannot matter: a GPU sends nothing to itself.
  (void)file_.bandwidth(element, "loopback_bw");
  (void)file_.time(element, "loopback_lat");
  read_children(element, {"prop"});
  for (const pugi::xml_node child : element.children("prop")) read_prop(child);
  const bool dragonfly = element.attribute("topology").value() == std::string_view("DRAGONFLY");
  if (dragonfly) {
    return file_.problem(element, "topology",
                         "not read: DRAGONFLY, whose routes in SimGrid cross links between chassis "
                         "that they do not need; write its zones and routes out (tools/make_platform "
                         "--topology dragonfly does)");
  }
  const std::string topology = file_.choice(element, "topology", {"FLAT", "TORUS", "FAT_TREE"}, "FLAT");
  const auto zone = new_zone(element, parent, topology == "FLAT" ? Routing::star : Routing::regular);
  if (!zone) return;
  add_cluster_hosts(element, *zone);
  if (topology == "FLAT") read_flat(element, *zone);
  if (topology != "FLAT") read_switched(element, *zone, topology);
  if (topology != "FLAT") return;  // in SimGrid too, only a flat cluster has a router
  const std::string prefix = element.attribute("prefix").value(), suffix = element.attribute("suffix").value();
  const auto router = XmlFile::text(element, "router_id");
  new_point(element, PointKind::router,
            router ? std::string(*router) : prefix + element.attribute("id").value() + "_router" + suffix, *zone);
}

// All hosts are alike, so that their values are read once.
void PlatformReader::add_cluster_hosts(pugi::xml_node element, ZoneId zone) {
  const std::string prefix = element.attribute("prefix").value(), suffix = element.attribute("suffix").value();
  for (const int number : radicals_of(element)) {
    // One reason is enough for all hosts of the element.
    if (!new_point(element, PointKind::host, fmt::format("{}{}{}", prefix, number, suffix), zone)) return;
  }
}

PlatformLink PlatformReader::cluster_link(pugi::xml_node element, const std::string& policy) {
  const auto bandwidth = file_.bandwidth(element, "bw");
  const auto latency = file_.time(element, "lat");
  return {.name = "",
          .bandwidth = bandwidth.value_or(BytesPerSecond(1)),
          .latency = latency.value_or(Seconds(0)),
          .shared = policy != "FATPIPE"};
}

PlatformReader::LinkInRoute PlatformReader::new_duplex(pugi::xml_node element, const std::string& name,
                                                       const PlatformLink& like, const std::string& policy) {
  if (policy == "SPLITDUPLEX" || policy == "FULLDUPLEX") return new_split_link(element, name, like);
  PlatformLink both = like;
  both.name = name + "_link";
  const LinkId link = new_link(element, std::move(both));
  return {link, link};
}

void PlatformReader::read_switched(pugi::xml_node element, ZoneId zone, const std::string& topology) {
  for (const char* attribute : {"limiter_link", "bb_bw", "bb_lat", "router_id"}) {
    if (!XmlFile::text(element, attribute)) continue;
    file_.problem(element, attribute, fmt::format("not read: only flat clusters have one, this is a {}", topology));
  }
  const std::string policy = cluster_policy(element);
  const PlatformLink like = cluster_link(element, policy);
  const std::string id = element.attribute("id").value();
  read_regular(element, zone, topology, [&](const std::string& name) {
    const LinkInRoute made = new_duplex(element, id + "_" + name, like, policy);
    return Duplex{made.forth, made.back};
  });
}

std::string PlatformReader::cluster_policy(pugi::xml_node element) {
  return file_.choice(element, "sharing_policy", {"SPLITDUPLEX", "FULLDUPLEX", "SHARED", "FATPIPE"}, "SPLITDUPLEX");
}

LinkId PlatformReader::read_cluster_backbone(pugi::xml_node element) {
  const std::string policy = file_.choice(element, "bb_sharing_policy", {"SHARED", "FATPIPE"}, "SHARED");
  const auto bandwidth = file_.bandwidth(element, "bb_bw");
  const auto latency = file_.time(element, "bb_lat");
  if (!bandwidth) {
    if (latency && latency->value > 0) file_.problem(element, "bb_lat", "a backbone needs bb_bw as well");
    return -1;
  }
  return new_link(element, {.name = std::string(element.attribute("id").value()) + "_backbone",
                            .bandwidth = *bandwidth,
                            .latency = latency.value_or(Seconds(0)),
                            .shared = policy == "SHARED"});
}

// A star: every host's private links, and the backbone that all messages cross.
void PlatformReader::read_flat(pugi::xml_node element, ZoneId zone) {
  if (XmlFile::text(element, "topo_parameters")) {
    file_.problem(element, "topo_parameters", "not read: a flat cluster has none; write a topology as well");
  }
  const LinkId backbone = read_cluster_backbone(element);
  const std::string policy = cluster_policy(element);
  const PlatformLink like = cluster_link(element, policy);
  const auto limit = file_.bandwidth(element, "limiter_link");
  for (std::size_t i = 0; i < zone_at(zone).members.size(); ++i) {
    const Point& point = point_of(zone_at(zone).members[i]);
    const std::string& name = platform_.host_names[static_cast<std::size_t>(point.id)];
    const LinkInRoute port = new_duplex(element, name, like, policy);
    LinkId limiter = -1;
    if (limit) limiter = new_link(element, {.name = name + "_limiter", .bandwidth = *limit, .latency = Seconds(0)});
    zone_at(zone).ports[i] = {.up = {limiter, port.forth, backbone}, .down = {backbone, port.back, limiter}};
  }
}

}  // namespace stepsim
