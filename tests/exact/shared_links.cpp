// Links shared by max-min fairness, against a solver of its own and against paper.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "sim/engine/engine.hpp"
#include "tests/support/small_graphs.hpp"

namespace stepsim::shared_links_test {
namespace {

using testing::compute;
using testing::GraphMaker;
using testing::transfer;

struct Message {
  double start, bytes;  // a leg
  std::vector<Load> loads;
};

// Rates of a leg by progressive filling: all grow alike until a link is full, which stops those that cross it.
std::vector<double> max_min(const std::vector<double>& capacities, const std::vector<const Message*>& moving) {
  std::vector<double> rates(moving.size(), 0), left = capacities;
  std::vector<bool> fixed(moving.size(), false);
  for (std::size_t round = 0; round < moving.size(); ++round) {
    std::vector<double> legs(capacities.size(), 0);
    for (std::size_t m = 0; m < moving.size(); ++m) {
      for (const Load& load : moving[m]->loads) legs[load.link] += fixed[m] ? 0 : load.legs;
    }
    double growth = std::numeric_limits<double>::infinity();
    for (std::size_t l = 0; l < legs.size(); ++l) {
      if (legs[l] > 0) growth = std::min(growth, left[l] / legs[l]);
    }
    if (std::isinf(growth)) break;
    for (std::size_t l = 0; l < legs.size(); ++l) left[l] -= legs[l] * growth;
    for (std::size_t m = 0; m < moving.size(); ++m) rates[m] += fixed[m] ? 0 : growth;
    for (std::size_t m = 0; m < moving.size(); ++m) {
      for (const Load& load : moving[m]->loads) fixed[m] = fixed[m] || left[load.link] <= 1e-12 * capacities[load.link];
    }
  }
  return rates;
}

std::vector<double> ends_of(const std::vector<double>& capacities, const std::vector<Message>& messages) {
  constexpr double kNever = std::numeric_limits<double>::infinity();
  std::vector<double> left, ends(messages.size(), kNever);
  for (const Message& m : messages) left.push_back(m.bytes);
  double now = 0;
  for (;;) {
    std::vector<const Message*> moving;
    std::vector<std::size_t> which;
    double next = kNever;
    for (std::size_t m = 0; m < messages.size(); ++m) {
      if (ends[m] < kNever) continue;
      if (messages[m].start > now) {
        next = std::min(next, messages[m].start);
        continue;
      }
      moving.push_back(&messages[m]);
      which.push_back(m);
    }
    const std::vector<double> rates = max_min(capacities, moving);
    for (std::size_t i = 0; i < which.size(); ++i) next = std::min(next, now + left[which[i]] / rates[i]);
    if (next == kNever) return ends;
    for (std::size_t i = 0; i < which.size(); ++i) {
      double& bytes = left[which[i]];
      bytes -= rates[i] * (next - now);
      if (bytes <= 1e-9 * messages[which[i]].bytes) ends[which[i]] = next;
    }
    now = next;
  }
}

// A rank a message: it computes until the message starts.
std::vector<double> simulated(const std::vector<double>& capacities, const std::vector<Message>& messages) {
  GraphMaker m;
  for (const double capacity : capacities) m.link(capacity);
  for (std::size_t i = 0; i < messages.size(); ++i) {
    const RankId rank = m.rank(m.program({compute(messages[i].start), transfer(1, 0, messages[i].bytes, {0})}), 1);
    m.group({{rank, 0}}, messages[i].loads);
  }
  const Timeline timeline = make_engine("simgrid")->run(m.graph);
  std::vector<double> ends;
  for (std::size_t i = 0; i < messages.size(); ++i) ends.push_back(timeline.spans[i][1].end);
  return ends;
}

// Ports of 1 GB/s under a link of 2 GB/s: two messages of 3 GB move at full speed until a third one of 1 GB comes after a
// second; then each has 2/3 GB/s, for 1.5 s; the last 1 GB of the two takes a second.
TEST(SharedLinks, AWideLinkSlowsOnlyWhenItIsCrowded) {
  const std::vector<double> capacities = {1e9, 1e9, 1e9, 2e9};
  const auto ends = simulated(capacities, {{0, 3e9, {{0, 1}, {3, 1}}}, {0, 3e9, {{1, 1}, {3, 1}}}, {1, 1e9, {{2, 1}, {3, 1}}}});
  EXPECT_NEAR(ends[0], 3.5, 1e-9);
  EXPECT_NEAR(ends[1], 3.5, 1e-9);
  EXPECT_NEAR(ends[2], 2.5, 1e-9);
}

// The same with 3 GB/s: nobody waits. A second message over the port of the first halves both, but not the others.
TEST(SharedLinks, AWideLinkCarriesWhatPortsLetThrough) {
  const std::vector<double> capacities = {1e9, 1e9, 1e9, 3e9};
  const auto ends = simulated(capacities, {{0, 3e9, {{0, 1}, {3, 1}}},
                                           {0, 3e9, {{1, 1}, {3, 1}}},
                                           {1, 1e9, {{2, 1}, {3, 1}}},
                                           {1, 1e9, {{0, 1}}}});
  EXPECT_NEAR(ends[0], 4, 1e-9);  // 1 GB, 2 s of half speed, 1 GB
  EXPECT_NEAR(ends[1], 3, 1e-9);
  EXPECT_NEAR(ends[2], 2, 1e-9);
  EXPECT_NEAR(ends[3], 3, 1e-9);
}

RC_GTEST_PROP(SharedLinks, AsProgressiveFillingHasIt, ()) {
  const int links = *rc::gen::inRange(1, 6), count = *rc::gen::inRange(1, 8);
  std::vector<double> capacities;
  for (int l = 0; l < links; ++l) capacities.push_back(*rc::gen::inRange(1, 7) * 1e9);
  std::vector<Message> messages;
  for (int i = 0; i < count; ++i) {
    Message m{*rc::gen::inRange(0, 5) * 0.25, *rc::gen::inRange(1, 5) * 0.5e9, {}};
    for (int l = 0; l < links; ++l) {
      if (*rc::gen::inRange(0, 2) == 0) m.loads.push_back({l, static_cast<double>(*rc::gen::inRange(1, 4))});
    }
    if (m.loads.empty()) m.loads.push_back({0, 1});
    messages.push_back(std::move(m));
  }
  const std::vector<double> expected = ends_of(capacities, messages), ends = simulated(capacities, messages);
  for (std::size_t i = 0; i < ends.size(); ++i) RC_ASSERT(std::abs(ends[i] - expected[i]) <= 1e-8 * expected[i]);
}

}  // namespace
}  // namespace stepsim::shared_links_test
