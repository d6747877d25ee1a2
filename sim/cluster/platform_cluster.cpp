// <cluster>: a switch with many hosts, in one element.
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
  constexpr std::string_view kNoLoopback = "a GPU sends nothing to itself";
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
                                   {"bb_bw", Kind::optional},
                                   {"bb_lat", Kind::optional},
                                   {"bb_sharing_policy", Kind::optional},
                                   {"router_id", Kind::optional},
                                   {"limiter_link", Kind::optional},
                                   {"topo_parameters", Kind::refused, "only flat clusters are read"},
                                   {"loopback_bw", Kind::refused, kNoLoopback},
                                   {"loopback_lat", Kind::refused, kNoLoopback}});
  read_children(element, {"prop"});
  for (const pugi::xml_node child : element.children("prop")) read_prop(child);
  file_.choice(element, "topology", {"FLAT"}, "FLAT");
  const std::string id = element.attribute("id").value();
  const auto zone = new_zone(element, parent, Routing::star);
  if (!zone) return;

  const std::string backbone_policy = file_.choice(element, "bb_sharing_policy", {"SHARED", "FATPIPE"}, "SHARED");
  const auto backbone_bandwidth = file_.bandwidth(element, "bb_bw");
  const auto backbone_latency = file_.time(element, "bb_lat");
  LinkId backbone = -1;
  if (backbone_bandwidth) {
    backbone = new_link(element, {.name = id + "_backbone",
                                  .bandwidth = *backbone_bandwidth,
                                  .latency = backbone_latency.value_or(Seconds(0)),
                                  .shared = backbone_policy == "SHARED"});
  } else if (backbone_latency && backbone_latency->value > 0) {
    file_.problem(element, "bb_lat", "a backbone needs bb_bw as well");
  }

  const std::string prefix = element.attribute("prefix").value();
  const std::string suffix = element.attribute("suffix").value();
  add_cluster_hosts(element, *zone, prefix, suffix, backbone);
  const auto router = XmlFile::text(element, "router_id");
  new_point(element, PointKind::router, router ? std::string(*router) : prefix + id + "_router" + suffix, *zone);
}

// The hosts with their private links. All are alike, so that their values are read once.
void PlatformReader::add_cluster_hosts(pugi::xml_node element, ZoneId zone, const std::string& prefix,
                                       const std::string& suffix, LinkId backbone) {
  const std::string policy =
      file_.choice(element, "sharing_policy", {"SPLITDUPLEX", "FULLDUPLEX", "SHARED", "FATPIPE"}, "SPLITDUPLEX");
  const auto bandwidth = file_.bandwidth(element, "bw");
  const auto latency = file_.time(element, "lat");
  const auto limit = file_.bandwidth(element, "limiter_link");
  const PlatformLink like{.name = "",
                          .bandwidth = bandwidth.value_or(BytesPerSecond(1)),
                          .latency = latency.value_or(Seconds(0)),
                          .shared = policy != "FATPIPE"};
  for (const int number : radicals_of(element)) {
    const std::string name = fmt::format("{}{}{}", prefix, number, suffix);
    const auto host = new_point(element, PointKind::host, name, zone);
    if (!host) return;  // one reason is enough for all hosts of the element
    LinkInRoute port;
    if (policy == "SPLITDUPLEX" || policy == "FULLDUPLEX") {
      port = new_split_link(element, name, like);
    } else {
      PlatformLink both = like;
      both.name = name + "_link";
      port.forth = port.back = new_link(element, std::move(both));
    }
    LinkId limiter = -1;
    if (limit) limiter = new_link(element, {.name = name + "_limiter", .bandwidth = *limit, .latency = Seconds(0)});
    zone_at(zone).ports[static_cast<std::size_t>(point_of(*host).position)] = {.up = {limiter, port.forth, backbone},
                                                                               .down = {backbone, port.back, limiter}};
  }
}

}  // namespace stepsim
