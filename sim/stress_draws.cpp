// Draws scenarios from a stress spec.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <set>

#include "sim/base/text_units.hpp"
#include "sim/cluster/glob.hpp"
#include "sim/stress_spec.hpp"

namespace stepsim {
namespace {

// Named ranges of a spec, as a grid sets them, and what they may hold.
struct NamedRange {
  Range* range;
  Range limits;
};
std::map<std::string, NamedRange> ranges_of(StressSpec& spec) {
  std::map<std::string, NamedRange> ranges = {{"stragglers.count", {&spec.stragglers, StressSpec::kCounts}},
                                              {"stragglers.speed", {&spec.speed, StressSpec::kSpeeds}},
                                              {"experts.zipf", {&spec.zipf, StressSpec::kExponents}},
                                              {"jitter.compute_sigma", {&spec.compute_sigma, StressSpec::kSigmas}},
                                              {"jitter.communication_sigma", {&spec.communication_sigma, StressSpec::kSigmas}}};
  for (std::size_t i = 0; i < spec.links.size(); ++i) {
    ranges[fmt::format("links.{}.count", i)] = {&spec.links[i].count, StressSpec::kCounts};
    ranges[fmt::format("links.{}.scale", i)] = {&spec.links[i].scale, StressSpec::kScales};
  }
  return ranges;
}

// Numbers of a draw. Written out so that a seed means the same draws with every library.
class Dice {
 public:
  explicit Dice(std::uint64_t seed) : engine_(seed) {}

  double between(const Range& range) {
    const double part = static_cast<double>(engine_() >> 11U) * 0x1p-53;
    return range.low + part * (range.high - range.low);
  }
  int whole(const Range& range) {
    return static_cast<int>(std::floor(between({range.low, range.high + 1 - 1e-9})));
  }
  // `count` different ones of 0 .. n - 1, ascending.
  std::set<int> some(int count, int n) {
    std::set<int> chosen;
    while (static_cast<int>(chosen.size()) < std::min(count, n)) {
      chosen.insert(std::min(n - 1, static_cast<int>(between({0, static_cast<double>(n)}))));
    }
    return chosen;
  }

 private:
  std::mt19937_64 engine_;
};

// Not those of hosts that the job has no GPU on.
std::vector<std::string> matches(const ClusterSpec& cluster, const std::string& pattern) {
  const std::vector<bool> within = links_within_reach(cluster);
  const auto& links = cluster.platform->links();
  std::vector<std::string> names;
  for (std::size_t l = 0; l < links.size(); ++l) {
    if (within[l] && glob_matches(pattern, links[l].name)) names.push_back(links[l].name);
  }
  return names;
}

LinkFault fault_of(const StressLinks& links, const std::string& name, Dice& dice, std::string& text) {
  LinkFault fault;
  fault.match = name;
  if (!links.down) {
    fault.scale = dice.between(links.scale);
    text += fmt::format("; {} at {:.3g} of its bandwidth", name, *fault.scale);
    return fault;
  }
  fault.down = true;
  fault.when.from = Seconds(dice.between(links.from));
  if (links.lasts.high > 0) fault.when.until = fault.when.from + Seconds(dice.between(links.lasts));
  if (links.period) fault.flap = {Seconds(*links.period), dice.between(links.duty)};
  fault.failover = links.failover;
  fault.failover_delay = Seconds(links.failover_delay);
  text += fmt::format("; {} {} from {}{}", name, links.period ? "flaps" : "down", to_text(fault.when.from),
                      fault.when.until ? " until " + to_text(*fault.when.until) : "");
  return fault;
}

Draw draw(const StressSpec& spec, const ClusterSpec& cluster, const std::vector<std::vector<std::string>>& names,
          std::uint64_t seed) {
  Draw drawn;
  drawn.seed = seed;
  Dice dice(seed);
  const double speed_of_all = dice.between(spec.speed);
  for (const int rank : dice.some(dice.whole(spec.stragglers), cluster.ranks())) {
    const double speed = drawn.scenario.stragglers.empty() ? speed_of_all : dice.between(spec.speed);
    drawn.scenario.stragglers.push_back({{rank}, speed, {}});
    drawn.text += fmt::format("; rank {} at {:.3g} of its speed", rank, speed);
  }
  for (std::size_t i = 0; i < spec.links.size(); ++i) {
    const StressLinks& links = spec.links[i];
    if (links.all) {
      drawn.scenario.links.push_back(fault_of(links, links.match, dice, drawn.text));
      continue;
    }
    for (const int which : dice.some(dice.whole(links.count), static_cast<int>(names[i].size()))) {
      drawn.scenario.links.push_back(fault_of(links, names[i][which], dice, drawn.text));
    }
  }
  drawn.zipf = dice.between(spec.zipf);
  if (drawn.zipf > 0) drawn.text += fmt::format("; experts zipf {:.3g}", drawn.zipf);
  drawn.scenario.jitter = {dice.between(spec.compute_sigma), dice.between(spec.communication_sigma), seed};
  if (spec.compute_sigma.high > 0 || spec.communication_sigma.high > 0) {
    drawn.text += fmt::format("; jitter {:.3g}, {:.3g}", drawn.scenario.jitter.compute_sigma, drawn.scenario.jitter.communication_sigma);
  }
  drawn.text = drawn.text.empty() ? "nothing went wrong" : drawn.text.substr(2);
  return drawn;
}

// Every combination of the grid's values, the last axis fastest; one empty one without a grid.
std::vector<std::vector<double>> points_of(const StressSpec& spec) {
  std::vector<std::vector<double>> points = {{}};
  for (const auto& [name, values] : spec.grid) {
    std::vector<std::vector<double>> longer;
    for (const std::vector<double>& point : points) {
      for (const double value : values) {
        longer.push_back(point);
        longer.back().push_back(value);
      }
    }
    points = std::move(longer);
  }
  return points;
}

bool check_against(Reading& reading, StressSpec spec, const ClusterSpec& cluster, const ModelSpec& model) {
  const std::size_t before = reading.problems.size();
  const auto problem = [&](const std::string& key, std::string reason) { reading.problems.push_back({spec.file, 0, key, std::move(reason)}); };
  const auto ranges = ranges_of(spec);
  for (const auto& [name, values] : spec.grid) {
    std::vector<std::string> known;
    for (const auto& [range, where] : ranges) known.push_back(range);
    const auto found = ranges.find(name);
    if (found == ranges.end()) {
      problem("grid", fmt::format("\"{}\" is no range of this spec; did you mean {}?", name, nearest(name, known)));
      continue;
    }
    Range limits = found->second.limits;
    if (name == "stragglers.count") limits.high = cluster.ranks();
    for (const double value : values) {
      if (value >= limits.low && value <= limits.high) continue;
      problem("grid." + name, fmt::format("{:g} is not between {:g} and {:g}", value, limits.low, limits.high));
    }
  }
  for (std::size_t i = 0; i < spec.links.size(); ++i) {
    const StressLinks& links = spec.links[i];
    const std::size_t matching = matches(cluster, links.match).size();
    if (matching == 0) problem(fmt::format("links[{}].match", i), fmt::format("\"{}\" matches no link of {}", links.match, cluster.name));
    double most = links.all ? 0 : links.count.high;
    for (const auto& [name, values] : spec.grid) {
      if (name == fmt::format("links.{}.count", i) && !values.empty()) most = *std::max_element(values.begin(), values.end());
    }
    if (matching > 0 && most > static_cast<double>(matching)) {
      problem(fmt::format("links[{}].count", i), fmt::format("{:g} of {} links that match \"{}\"", most, matching, links.match));
    }
  }
  const bool zipf = spec.zipf.high > 0 || std::any_of(spec.grid.begin(), spec.grid.end(), [](const auto& axis) { return axis.first == "experts.zipf"; });
  if (zipf && model.experts.count == 0) problem("experts", model.name + " has none");
  if (spec.stragglers.high > cluster.ranks()) {
    problem("stragglers.count", fmt::format("{:g} of {} GPUs", spec.stragglers.high, cluster.ranks()));
  }
  return reading.problems.size() == before;
}

}  // namespace

std::vector<Draw> draws_of(Reading& reading, const StressSpec& spec, const ClusterSpec& cluster, const ModelSpec& model) {
  std::vector<Draw> draws;
  if (!check_against(reading, spec, cluster, model)) return draws;
  std::vector<std::vector<std::string>> names;
  for (const StressLinks& links : spec.links) names.push_back(matches(cluster, links.match));
  std::mt19937_64 seeds(spec.seed);
  for (const std::vector<double>& point : points_of(spec)) {
    StressSpec here = spec;
    const auto ranges = ranges_of(here);
    for (std::size_t i = 0; i < point.size(); ++i) *ranges.at(spec.grid[i].first).range = {point[i], point[i]};
    for (int run = 0; run < spec.runs; ++run) {
      Draw drawn = draw(here, cluster, names, seeds());
      drawn.number = static_cast<int>(draws.size());
      drawn.point = point;
      draws.push_back(std::move(drawn));
    }
  }
  return draws;
}

}  // namespace stepsim
