// Another speed for all of a wire: what if the cards were twice as fast?
#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "sim/base/text_units.hpp"
#include "sim/cluster/cluster_parts.hpp"

namespace stepsim {
namespace {

// The speed that the hosts' own links of a wire have in common; a problem when there is none.
std::optional<BytesPerSecond> common_port(Fields& fields, const ClusterSpec& cluster, int tier) {
  const std::string& name = cluster.tiers[static_cast<std::size_t>(tier)];
  const PlatformLink* first = nullptr;
  for (std::size_t l = 0; l < cluster.link_tier.size(); ++l) {
    const PlatformLink& link = cluster.platform->links()[l];
    if (cluster.link_tier[l] != tier || link.owner < 0) continue;
    if (first == nullptr) first = &link;
    if (link.bandwidth == first->bandwidth) continue;
    fields.problem(name, fmt::format("the hosts' own links differ: {} has {}, {} has {}; use a scenario's links",
                                     first->name, to_text(first->bandwidth), link.name, to_text(link.bandwidth)));
    return std::nullopt;
  }
  if (first != nullptr) return first->bandwidth;
  fields.problem(name, "no link of this wire is a host's own; use a scenario's links");
  return std::nullopt;
}

}  // namespace

void read_port_bandwidth(Fields& document, ClusterSpec& cluster) {
  const Need need = or_default("as the platform says");
  const auto node = document.node("port_bandwidth", need);
  if (!node) return;
  Fields fields = document.mapping("port_bandwidth", need);
  for (std::size_t t = 0; t < cluster.tiers.size(); ++t) {
    const std::string& name = cluster.tiers[t];
    if (!fields.has(name)) {
      fields.node(name, need);  // marks the key as known
      continue;
    }
    BytesPerSecond wanted(0);
    fields.bandwidth(name, wanted, required());
    if (wanted.value <= 0 || !cluster.platform) continue;
    const auto port = common_port(fields, cluster, static_cast<int>(t));
    if (!port) continue;
    for (std::size_t l = 0; l < cluster.link_tier.size(); ++l) {
      if (cluster.link_tier[l] == static_cast<int>(t)) cluster.bandwidth[l] *= wanted / *port;
    }
  }
  fields.finish();
}

}  // namespace stepsim
