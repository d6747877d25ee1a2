#include "sim/cluster/scenario.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "sim/cluster/glob.hpp"

namespace stepsim {
namespace {

constexpr double kLeast = 1e-6;  // slower than this is not slow but broken

// Keys of the format that nothing simulates yet: better refused than read past.
void refuse(Fields& fields, std::initializer_list<std::string_view> keys, std::string_view why) {
  for (const std::string_view key : keys) {
    if (!fields.has(key)) continue;
    (void)fields.node(key, required());
    fields.problem(key, std::string(why));
  }
}

Straggler read_straggler(Fields fields) {
  Straggler straggler;
  fields.integers("ranks", straggler.ranks, required());
  const auto ranks = fields.has("ranks") ? fields.node("ranks", required()) : std::nullopt;
  if (ranks && ranks->IsSequence() && ranks->size() == 0) fields.problem("ranks", "names no rank");
  fields.number("speed", straggler.speed, required(), kLeast, 1e6);
  refuse(fields, {"from", "until"}, "changes during the step are not simulated yet; the speed holds for all of it");
  fields.finish();
  return straggler;
}

LinkFault read_link_fault(Fields fields) {
  LinkFault fault;
  fields.text("match", fault.match, required());
  if (fields.has("bandwidth")) fields.bandwidth("bandwidth", fault.bandwidth.emplace(), required());
  if (fields.has("scale")) fields.number("scale", fault.scale.emplace(1), required(), kLeast, 1e6);
  refuse(fields, {"from", "until", "down_at"},
         "changes during the step are not simulated yet; a fault holds for all of it");
  if (fault.bandwidth.has_value() == fault.scale.has_value()) {
    fields.problem("", "needs either bandwidth (the link's new one) or scale (a factor on it)");
  }
  fields.finish();
  return fault;
}

}  // namespace

Scenario read_scenario(Reading& reading, const std::string& path, const std::vector<Override>& overrides) {
  Scenario scenario;
  std::optional<Fields> document = open_document(reading, path, overrides, "scenario");
  if (!document) return scenario;
  document->text("name", scenario.name, or_default("a scenario needs no name"));
  for (const Fields& fields : document->mappings("stragglers", or_default("all GPUs run at full speed"))) {
    scenario.stragglers.push_back(read_straggler(fields));
  }
  for (const Fields& fields : document->mappings("links", or_default("all links are as the platform says"))) {
    scenario.links.push_back(read_link_fault(fields));
  }
  refuse(*document, {"jitter"}, "random variation is not simulated yet; leave it out");
  document->finish();
  return scenario;
}

ClusterSpec apply(Reading& reading, ClusterSpec cluster, const Scenario& scenario) {
  const auto problem = [&](std::string key, std::string reason) {
    reading.problems.push_back({"", 0, std::move(key), std::move(reason)});
  };
  std::vector<bool> slowed(cluster.speed.size(), false);
  for (std::size_t i = 0; i < scenario.stragglers.size(); ++i) {
    for (const int rank : scenario.stragglers[i].ranks) {
      const std::string key = fmt::format("scenario.stragglers[{}].ranks", i);
      if (rank < 0 || rank >= cluster.ranks()) {
        problem(key, fmt::format("there is no rank {}; {} has ranks 0 to {}", rank, cluster.name, cluster.ranks() - 1));
      } else if (slowed[static_cast<std::size_t>(rank)]) {
        problem(key, fmt::format("rank {} stands twice; give it one speed", rank));
      } else {
        slowed[static_cast<std::size_t>(rank)] = true;
        cluster.speed[static_cast<std::size_t>(rank)] = scenario.stragglers[i].speed;
      }
    }
  }
  // In the order of the file: a later fault acts on what an earlier one left.
  for (std::size_t i = 0; i < scenario.links.size(); ++i) {
    const LinkFault& fault = scenario.links[i];
    bool matched = false;
    for (std::size_t link = 0; link < cluster.bandwidth.size(); ++link) {
      if (!glob_matches(fault.match, cluster.platform->links()[link].name)) continue;
      matched = true;
      if (fault.bandwidth) cluster.bandwidth[link] = *fault.bandwidth;
      if (fault.scale) cluster.bandwidth[link] *= *fault.scale;
    }
    if (matched) continue;
    problem(fmt::format("scenario.links[{}].match", i),
            fmt::format("no link of {} matches '{}'; its links have names like {}", cluster.name, fault.match,
                        cluster.platform->links().empty() ? "none" : cluster.platform->links().back().name));
  }
  return cluster;
}

}  // namespace stepsim
