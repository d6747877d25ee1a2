// What is not as the data sheet says: stragglers, slow and dead links, for the whole step or for a part of it, and
// random variation of single events.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sim/base/fields.hpp"
#include "sim/cluster/cluster.hpp"

namespace stepsim {

// A part of the step, from `from` on and before `until` (none: to its end). Times count from the step's beginning.
struct Window {
  Seconds from;
  std::optional<Seconds> until;

  bool operator==(const Window&) const = default;
};

// Ranks that compute at another speed. A compute op in flight changes its speed too.
struct Straggler {
  std::vector<int> ranks;
  double speed = 1;  // 0.8: takes 1.25 times as long
  Window when;
  Origin origin = {"", 0};

  bool operator==(const Straggler&) const = default;
};

// A change of the links whose names match a glob ("leaf*"): one of bandwidth, scale, latency, or down.
constexpr double kMostFlaps = 50'000;  // of one fault: each is two events

struct LinkFault {
  struct Flap {
    Seconds period;
    double duty = 1;  // the part of each period in which the link is up; a period ends with the link down

    bool operator==(const Flap&) const = default;
  };

  std::string match;
  std::optional<BytesPerSecond> bandwidth;
  std::optional<double> scale;     // factor on the bandwidth
  std::optional<Seconds> latency;  // of calls that start meanwhile
  bool down = false;               // nothing moves over it; what is moving stops where it is
  std::optional<Flap> flap;        // down only for the end of each period
  bool failover = false;           // while it is down, messages go round it by a neighbour's NIC and NVLink
  Seconds failover_delay;          // from each failure to that; until then they wait
  Window when;
  Origin origin = {"", 0};

  bool operator==(const LinkFault&) const = default;
};

struct Scenario {
  std::string name = "none";
  std::vector<Straggler> stragglers;
  std::vector<LinkFault> links;
  Jitter jitter;

  bool operator==(const Scenario&) const = default;
};

// Keys: name;
// stragglers, a list of {ranks, speed, from, until};
// links, a list of {match, and bandwidth or scale or latency, from, until}, {match, down_at, up_at, failover,
// failover_delay} or {match, flap {period, duty}, from, until, failover, failover_delay};
// jitter {compute_sigma, communication_sigma, seed}.
Scenario read_scenario(Reading& reading, const std::string& path, const std::vector<Override>& overrides);

// The cluster under the scenario. Of several faults on a link, in the order of the file, a later one acts on what an
// earlier one leaves; a link that any of them takes down is down. Problems (ranks that do not exist, a rank with two
// speeds at a time, a glob that matches no link) go to `reading`.
ClusterSpec apply(Reading& reading, ClusterSpec cluster, const Scenario& scenario);

}  // namespace stepsim
