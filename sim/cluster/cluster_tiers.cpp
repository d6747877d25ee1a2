// Which wire each link belongs to.
#include <fmt/format.h>

#include <algorithm>

#include "sim/cluster/cluster_parts.hpp"
#include "sim/cluster/glob.hpp"

namespace stepsim {
namespace {

struct Tier {
  std::string name;
  std::vector<std::string> patterns;
};

std::vector<Tier> read_patterns(Fields& document) {
  std::vector<Tier> tiers;
  const auto node = document.node("tiers", required());
  if (!node) return tiers;
  Fields fields = document.mapping("tiers", required());
  if (!node->IsMap()) return tiers;
  for (const auto& pair : *node) {
    if (!pair.first.IsScalar()) continue;  // finish() notes it
    Tier tier{.name = pair.first.Scalar(), .patterns = {}};
    fields.texts(tier.name, tier.patterns, required());
    for (const char* taken : {"compute", "hbm", "latency", "none", "other", "formula"}) {
      if (tier.name == taken)
        fields.problem(tier.name, "is the report's own word; name the wire (nvlink, infiniband, ethernet, ...)");
    }
    tiers.push_back(std::move(tier));
  }
  fields.finish();
  if (tiers.empty()) document.problem("tiers", "names no wire; write for each wire the names of its links");
  return tiers;
}

// The tier of every link. Links in none or in two are problems, one for each kind, naming the first such link.
void assign_tiers(Fields& document, const std::vector<Tier>& tiers, ClusterSpec& cluster) {
  std::string in_none, in_two;
  int number_in_none = 0, number_in_two = 0;
  for (const Tier& tier : tiers) cluster.tiers.push_back(tier.name);
  for (const PlatformLink& link : cluster.platform->links()) {
    int chosen = -1;
    for (std::size_t t = 0; t < tiers.size(); ++t) {
      const bool matches = std::any_of(tiers[t].patterns.begin(), tiers[t].patterns.end(),
                                       [&](const std::string& pattern) { return glob_matches(pattern, link.name); });
      if (!matches) continue;
      if (chosen >= 0 && number_in_two++ == 0) {
        in_two = fmt::format("{} is in {} and in {}", link.name, tiers[static_cast<std::size_t>(chosen)].name,
                             tiers[t].name);
      }
      chosen = static_cast<int>(t);
    }
    if (chosen < 0 && number_in_none++ == 0) in_none = link.name;
    cluster.link_tier.push_back(chosen);
  }
  const auto more = [](int number) {
    return number > 1 ? fmt::format(", and {} more link{}", number - 1, number > 2 ? "s" : "") : "";
  };
  if (number_in_none > 0) {
    document.problem("tiers", fmt::format("the link {} is in no tier{}; add a pattern", in_none, more(number_in_none)));
  }
  if (number_in_two > 0) {
    document.problem("tiers", fmt::format("the link {}{}; a link is in one", in_two, more(number_in_two)));
  }
}

}  // namespace

void read_tiers(Fields& document, ClusterSpec& cluster) {
  const std::vector<Tier> tiers = read_patterns(document);
  if (cluster.platform && !tiers.empty()) assign_tiers(document, tiers, cluster);
}

}  // namespace stepsim
