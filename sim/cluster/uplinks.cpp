#include "sim/cluster/uplinks.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <utility>

#include "sim/cluster/glob.hpp"

namespace stepsim {
namespace {

// The finaliser of SplitMix64 (Steele, Lea, Flood: "Fast splittable pseudorandom number generators", 2014).
std::uint64_t mix(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

// The entry whose pattern a link matches first; -1: none.
int entry_of(const PlatformLink& link, const std::vector<Cables>& cables) {
  const auto found = std::find_if(cables.begin(), cables.end(),
                                  [&](const Cables& entry) { return glob_matches(entry.match, link.name); });
  return found == cables.end() ? -1 : static_cast<int>(found - cables.begin());
}

class HashedPlatform final : public Platform {
 public:
  HashedPlatform(std::shared_ptr<const Platform> base, std::vector<Cables> cables, int seed)
      : base_(std::move(base)), cables_(std::move(cables)), seed_(mix(static_cast<std::uint64_t>(seed))) {
    for (const PlatformLink& link : base_->links()) {
      const int entry = entry_of(link, cables_);
      entry_.push_back(entry);
      first_.push_back(static_cast<LinkId>(links_.size()));
      const int count = entry < 0 ? 1 : cables_[static_cast<std::size_t>(entry)].count;
      for (int i = 0; i < count; ++i) {
        links_.push_back(link);
        if (entry < 0) continue;
        links_.back().name += fmt::format(".{}", i);
        links_.back().bandwidth = link.bandwidth / static_cast<double>(count);
      }
    }
  }

  const std::vector<std::string>& hosts() const override { return base_->hosts(); }
  const std::vector<PlatformLink>& links() const override { return links_; }
  HostId host(std::string_view name) const override { return base_->host(name); }

  void append_route(HostId from, HostId to, std::vector<LinkId>& links) const override {
    const auto before = static_cast<std::ptrdiff_t>(links.size());
    base_->append_route(from, to, links);
    const std::vector<int> choice = choices(from, to);
    for (LinkId& link : std::span(links.begin() + before, links.end())) {
      const int entry = entry_[static_cast<std::size_t>(link)];
      link = first_[static_cast<std::size_t>(link)] + (entry < 0 ? 0 : choice[static_cast<std::size_t>(entry)]);
    }
  }

 private:
  // The cable of each entry, for one pair of hosts.
  std::vector<int> choices(HostId from, HostId to) const {
    std::vector<int> choice;
    std::uint64_t hash = mix(mix(seed_ ^ static_cast<std::uint64_t>(from)) ^ static_cast<std::uint64_t>(to));
    for (std::size_t i = 0; i < cables_.size(); ++i) {
      int base = 0, among = cables_[i].count;
      if (i > 0 && cables_[i].count % cables_[i - 1].count == 0) {
        among = cables_[i].count / cables_[i - 1].count;
        base = choice[i - 1] * among;
      }
      choice.push_back(base + static_cast<int>(hash % static_cast<std::uint64_t>(among)));
      hash = mix(hash);
    }
    return choice;
  }

  std::shared_ptr<const Platform> base_;
  std::vector<Cables> cables_;
  std::uint64_t seed_;
  std::vector<PlatformLink> links_;
  std::vector<LinkId> first_;  // [link of the base] its own id here, or its first cable's
  std::vector<int> entry_;     // [link of the base] into cables_; -1: one cable
};

std::vector<Cables> read_cables(Fields& uplinks, Need need) {
  constexpr int kMost = 1 << 16;
  std::vector<Cables> cables;
  const auto node = uplinks.node("cables", need);
  if (!node) return cables;
  Fields fields = uplinks.mapping("cables", need);
  if (!node->IsMap()) return cables;
  for (const auto& pair : *node) {
    if (!pair.first.IsScalar()) continue;  // finish() notes it
    cables.push_back({.match = pair.first.Scalar()});
    fields.integer(cables.back().match, cables.back().count, required(), 1, kMost);
  }
  fields.finish();
  return cables;
}

void check_cables(Fields& uplinks, const Platform& platform, const std::vector<Cables>& cables) {
  std::vector<bool> matched(cables.size(), false);
  double links = 0;
  for (const PlatformLink& link : platform.links()) {
    const int entry = entry_of(link, cables);
    if (entry < 0) continue;
    links += cables[static_cast<std::size_t>(entry)].count;
    if (link.owner >= 0 && !matched[static_cast<std::size_t>(entry)]) {
      uplinks.problem("cables", fmt::format("{} is a host's own link, which is one cable", link.name));
    }
    matched[static_cast<std::size_t>(entry)] = true;
  }
  for (std::size_t i = 0; i < cables.size(); ++i) {
    if (matched[i]) continue;
    uplinks.problem("cables",
                    fmt::format("no link matches \"{}\" (and no earlier pattern); the platform has links "
                                "named like {}",
                                cables[i].match, platform.links().empty() ? "none" : platform.links().back().name));
  }
  constexpr double kMost = 1 << 24;
  if (links > kMost)
    uplinks.problem("cables", fmt::format("{:.0f} cables are more than the {:.0f} that fit", links, kMost));
}

}  // namespace

std::shared_ptr<const Platform> hashed(std::shared_ptr<const Platform> platform, const std::vector<Cables>& cables,
                                       int seed) {
  return std::make_shared<HashedPlatform>(std::move(platform), cables, seed);
}

std::shared_ptr<const Platform> read_uplinks(Fields& document, std::shared_ptr<const Platform> platform) {
  const Need each_link_is_one = or_default("each link of the platform is one wire");
  Fields uplinks = document.mapping("uplinks", each_link_is_one);
  std::string choice = "ideal";
  int seed = 1;
  uplinks.choice("choice", choice, {"ideal", "hash"}, or_default("cables of a link are used evenly"));
  const bool hash = choice == "hash";
  const std::size_t before = uplinks.problems();
  const std::vector<Cables> cables = read_cables(uplinks, hash ? required() : each_link_is_one);
  uplinks.integer("seed", seed, or_default("any: of the hash that picks cables"));
  uplinks.finish();
  if (!platform || uplinks.problems() > before) return platform;
  check_cables(uplinks, *platform, cables);
  if (hash && cables.empty()) uplinks.problem("cables", "names no links; write for example {\"leaf*\": 32}");
  return hash && uplinks.problems() == before ? hashed(std::move(platform), cables, seed) : platform;
}

}  // namespace stepsim
