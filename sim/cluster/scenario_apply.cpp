// Lays a scenario over a cluster: what holds at the start, and what changes when.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "sim/cluster/glob.hpp"
#include "sim/cluster/scenario.hpp"

namespace stepsim {
namespace {

using Times = std::set<double>;  // s

bool holds(const Window& window, double time) {
  return window.from.value <= time && (!window.until || time < window.until->value);
}

// The latest end of a window that never ends is never reached.
void add_ends(const Window& window, Times& times) {
  times.insert(window.from.value);
  if (window.until) times.insert(window.until->value);
}

// Is the link down at a time, and for how long has it been? Negative: it is up.
double down_for(const LinkFault& fault, double time) {
  if (!fault.down || !holds(fault.when, time)) return -1;
  const double since = time - fault.when.from.value;
  if (!fault.flap) return since;
  // Times of change are computed as below; the fraction of a period is rounded to keep them on their side.
  const double periods = since / fault.flap->period.value;
  const double phase = periods - std::floor(periods + 1e-9);
  return phase < fault.flap->duty - 1e-9 ? -1 : std::max(0.0, (phase - fault.flap->duty) * fault.flap->period.value);
}

bool goes_round(const LinkFault& fault, double time) {
  const double since = down_for(fault, time);
  return fault.failover && since >= 0 && since >= fault.failover_delay.value - 1e-9 * time;
}

// When anything about the fault changes.
Times times_of(const LinkFault& fault) {
  Times times;
  add_ends(fault.when, times);
  if (!fault.flap) {
    times.insert(fault.when.from.value + fault.failover_delay.value);
    return times;
  }
  const double period = fault.flap->period.value;
  for (double n = 0; fault.when.from.value + n * period < fault.when.until->value; ++n) {
    const double begin = fault.when.from.value + n * period, failure = begin + fault.flap->duty * period;
    for (const double time : {begin, failure, failure + fault.failover_delay.value}) {
      if (time < fault.when.until->value) times.insert(time);
    }
  }
  return times;
}

// The value at 0 to `start`, and the later changes of it.
template <class ValueAt>
std::vector<Change> changes_over(const Times& times, double& start, const ValueAt& value_at) {
  std::vector<Change> changes;
  start = value_at(0.0);
  double value = start;
  for (const double time : times) {
    if (time <= 0) continue;
    const double next = value_at(time);
    if (next == value) continue;
    changes.push_back({time, next});
    value = next;
  }
  return changes;
}

constexpr double kMostFlapping = 2e6;  // of all links; each is two changes

class Application {
 public:
  Application(Reading& reading, ClusterSpec& cluster, const Scenario& scenario)
      : reading_(reading), cluster_(cluster), scenario_(scenario) {}

  void run() {
    apply_stragglers();
    match_links();
    for (const auto& [link, faults] : faults_) apply_bandwidth(link, faults);
    apply_routings();
    cluster_.jitter = scenario_.jitter;
  }

 private:
  using Faults = std::vector<const LinkFault*>;  // in the order of the file

  void problem(const Origin& at, std::string key, std::string reason) {
    reading_.problems.push_back({at.file, at.line, std::move(key), std::move(reason)});
  }

  void apply_stragglers() {
    std::map<RankId, std::vector<const Straggler*>> of_rank;
    for (std::size_t i = 0; i < scenario_.stragglers.size(); ++i) {
      const Straggler& straggler = scenario_.stragglers[i];
      for (const int rank : straggler.ranks) {
        const std::string key = fmt::format("scenario.stragglers[{}].ranks", i);
        if (rank < 0 || rank >= cluster_.ranks()) {
          problem(straggler.origin, key, fmt::format("there is no rank {}; {} has ranks 0 to {}", rank, cluster_.name, cluster_.ranks() - 1));
          continue;
        }
        auto& known = of_rank[rank];
        const bool twice = std::any_of(known.begin(), known.end(), [&](const Straggler* other) { return overlap(other->when, straggler.when); });
        if (twice) problem(straggler.origin, key, fmt::format("rank {} stands twice at the same time; give it one speed", rank));
        known.push_back(&straggler);
      }
    }
    for (const auto& [rank, stragglers] : of_rank) {
      Times times;
      for (const Straggler* straggler : stragglers) add_ends(straggler->when, times);
      double& start = cluster_.speed[static_cast<std::size_t>(rank)];
      const double usual = start;
      auto changes = changes_over(times, start, [&, &s = stragglers](double time) {
        double speed = usual;
        for (const Straggler* straggler : s) speed = holds(straggler->when, time) ? straggler->speed : speed;
        return speed;
      });
      if (!changes.empty()) cluster_.speed_changes[rank] = std::move(changes);
    }
  }

  static bool overlap(const Window& a, const Window& b) {
    return (!a.until || b.from < *a.until) && (!b.until || a.from < *b.until);
  }

  void match_links() {
    const auto& links = cluster_.platform->links();
    double flapping = 0;  // times that links go down and up
    Origin flaps_at{"", 0};
    const std::vector<bool> within = scenario_.links.empty() ? std::vector<bool>() : links_within_reach(cluster_);
    for (std::size_t i = 0; i < scenario_.links.size(); ++i) {
      const LinkFault& fault = scenario_.links[i];
      bool matched = false, felt = false;
      const double flaps = fault.flap ? (*fault.when.until - fault.when.from) / fault.flap->period : 0;
      for (std::size_t link = 0; link < links.size(); ++link) {
        if (!glob_matches(fault.match, links[link].name)) continue;
        if (!matched && fault.failover && cluster_.link_tier[link] == 0) {
          problem(fault.origin, fmt::format("scenario.links[{}].failover", i),
                  fmt::format("{} is a link inside a node ({}); only the network's links have a way round over it",
                              links[link].name, cluster_.tiers[0]));
        }
        matched = true;
        felt = felt || within[link];
        flapping += flaps;
        if (flapping > kMostFlapping) {
          if (flaps_at.line == 0) flaps_at = fault.origin;
          continue;
        }
        faults_[static_cast<LinkId>(link)].push_back(&fault);
      }
      if (matched && !felt) {
        reading_.notes.push_back(fmt::format("links[{}]: '{}' matches only links of nodes that the job's {} do not include", i, fault.match, cluster_.nodes));
      }
      if (matched) continue;
      problem(fault.origin, fmt::format("scenario.links[{}].match", i),
              fmt::format("no link of {} matches '{}'; its links have names like {}", cluster_.name, fault.match,
                          links.empty() ? "none" : links.back().name));
    }
    if (flapping > kMostFlapping) {
      problem(flaps_at, "scenario.links", fmt::format("links flap {:.3g} times; at most {:.3g} are simulated: match fewer, or end them sooner",
                                            flapping, kMostFlapping));
    }
  }

  void apply_bandwidth(LinkId link, const Faults& faults) {
    Times times;
    for (const LinkFault* fault : faults) times.merge(times_of(*fault));
    const double usual = cluster_.bandwidth[static_cast<std::size_t>(link)].value;
    auto changes = changes_over(times, cluster_.bandwidth[static_cast<std::size_t>(link)].value, [&](double time) {
      double bandwidth = usual;
      for (const LinkFault* fault : faults) {
        if (down_for(*fault, time) >= 0) return 0.0;
        if (!holds(fault->when, time)) continue;
        if (fault->bandwidth) bandwidth = fault->bandwidth->value;
        if (fault->scale) bandwidth *= *fault->scale;
      }
      return bandwidth;
    });
    if (!changes.empty()) cluster_.bandwidth_changes[link] = std::move(changes);
  }

  // Latencies and what is gone round: a routing for each state that differs from the first.
  void apply_routings() {
    Times times;
    Faulty routed;
    for (const auto& [link, faults] : faults_) {
      for (const LinkFault* fault : faults) {
        if (!fault->latency && !fault->failover) continue;
        routed[link].push_back(fault);
        times.merge(times_of(*fault));
      }
    }
    if (routed.empty()) return;
    const RouteState usual{cluster_.avoided, cluster_.latency};
    const RouteState first = routing_at(0, routed, usual);
    cluster_.avoided = first.avoided;
    cluster_.latency = first.latency;
    std::int32_t now = 0;
    for (const double time : times) {
      if (time <= 0) continue;
      const std::int32_t next = number_of(routing_at(time, routed, usual), first);
      if (next != now) cluster_.reroutings.push_back({time, next});
      now = next;
    }
  }

  using Faulty = std::map<LinkId, Faults>;

  static RouteState routing_at(double time, const Faulty& routed, RouteState routing) {
    for (const auto& [link, faults] : routed) {
      for (const LinkFault* fault : faults) {
        if (fault->latency && holds(fault->when, time)) routing.latency[static_cast<std::size_t>(link)] = *fault->latency;
        if (goes_round(*fault, time)) routing.avoided.insert(link);
      }
    }
    return routing;
  }

  std::int32_t number_of(RouteState routing, const RouteState& first) {
    if (routing == first) return 0;
    auto& known = cluster_.routings;
    const auto at = std::find(known.begin(), known.end(), routing);
    const auto number = static_cast<std::int32_t>(at - known.begin()) + 1;
    if (at == known.end()) known.push_back(std::move(routing));
    return number;
  }

  Reading& reading_;
  ClusterSpec& cluster_;
  const Scenario& scenario_;
  Faulty faults_;
};

}  // namespace

ClusterSpec apply(Reading& reading, ClusterSpec cluster, const Scenario& scenario) {
  Application(reading, cluster, scenario).run();
  return cluster;
}

}  // namespace stepsim
