// Stress tests: draws repeat, runs are runs of their own, percentiles are arithmetic.
#include "sim/stress.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "support/shipped.hpp"
#include "support/temp_file.hpp"

namespace stepsim::stress_test {
Options quick() {
  Options options;
  options.elasticities = false;
  return options;
}

// Two data-parallel replicas of a pipeline of two, on two nodes.
Inputs small(std::vector<std::string> more = {}) {
  std::vector<std::string> sets = {"cluster.nodes=2", "model.layers=4", "plan.parallel.pipeline=2",
                                   "plan.parallel.tensor=4", "plan.batch.global_sequences=8"};
  sets.insert(sets.end(), more.begin(), more.end());
  return testing::shipped("gpt-3-175b-pipeline", sets);
}

StressSpec spec_of(const std::string& text) {
  const test::TempFile file(text, ".yaml");
  Reading reading;
  StressSpec spec = read_stress_spec(reading, file.path());
  reading.throw_if_any();
  return spec;
}

std::vector<Draw> draws(const StressSpec& spec, const Inputs& in) {
  Reading reading;
  std::vector<Draw> drawn = draws_of(reading, spec, in.planned_on, in.model);
  reading.throw_if_any();
  return drawn;
}

// One straggler at 0.8 and nothing else: every run is what the scenario alone gives, whichever GPU it hits; all ranks
// are alike in a step that ends when the slowest replica's gradients do.
TEST(Stress, RunsAreRunsOfTheirOwn) {
  const Inputs in = small();
  const StressSpec spec = spec_of("runs: 4\nseed: 7\nstragglers: {count: 1, speed: 0.8}\n");
  const std::vector<Draw> drawn = draws(spec, in);
  ASSERT_EQ(drawn.size(), 4U);
  const StressResult result = stress(in, quick(), drawn);
  for (const Stressed& run : result.runs) {
    ASSERT_EQ(run.draw.scenario.stragglers.size(), 1U);
    Inputs alone = in;
    alone.cluster.speed[run.draw.scenario.stragglers[0].ranks[0]] = 0.8;
    EXPECT_EQ(run.step_time_s, simulate(alone, quick()).report.step_time_s);
    EXPECT_GT(run.step_time_s, result.nominal_s);
    EXPECT_LT(run.step_time_s, result.nominal_s / 0.8);
    EXPECT_GE(run.for_rank, 0);
    EXPECT_GT(run.waiting_ranks, 0);
    EXPECT_LT(run.waiting_ranks, 16);
  }
}

// With jitter no two ranks are alike: a run that folded them would lose it without a word.
TEST(Stress, JitterIsFelt) {
  const Inputs in = small();
  const StressResult result = stress(in, quick(), draws(spec_of("runs: 3\nseed: 7\njitter: {compute_sigma: 0.1, communication_sigma: 0.1}\n"), in));
  for (const Stressed& run : result.runs) {
    Inputs alone = in;
    alone.cluster.jitter = run.draw.scenario.jitter;
    EXPECT_EQ(run.step_time_s, simulate(alone, quick()).report.step_time_s);
    EXPECT_GT(run.step_time_s, 1.01 * result.nominal_s);
  }
  EXPECT_NE(result.runs[0].step_time_s, result.runs[1].step_time_s);
}

TEST(Stress, TheSameSeedDrawsTheSame) {
  const Inputs in = small();
  const std::string text =
      "runs: 20\nseed: 3\nstragglers: {count: [0, 3], speed: [0.5, 0.9]}\n"
      "links: [{match: \"nic*\", count: [0, 2], scale: [0.1, 1]}]\n";
  const std::vector<Draw> once = draws(spec_of(text), in), again = draws(spec_of(text), in);
  EXPECT_EQ(once, again);
  StressSpec other = spec_of(text);
  other.seed = 4;
  EXPECT_NE(once, draws(other, in));
  std::set<std::size_t> stragglers, links;
  for (const Draw& d : once) {
    stragglers.insert(d.scenario.stragglers.size());
    links.insert(d.scenario.links.size());
    for (const Straggler& s : d.scenario.stragglers) EXPECT_TRUE(s.speed >= 0.5 && s.speed <= 0.9);
    for (const LinkFault& l : d.scenario.links) EXPECT_TRUE(*l.scale >= 0.1 && *l.scale <= 1);
  }
  EXPECT_GT(stragglers.size(), 1U);
  EXPECT_LE(*stragglers.rbegin(), 3U);
  EXPECT_LE(*links.rbegin(), 2U);
}

// Every link of the network at a quarter: the pipeline's messages and the reduction of gradients take four times as
// long.
// Two of 256 nodes: only their cards are drawn, and a card that is slow is felt.
TEST(Stress, DrawsOnlyWhatTheJobHas) {
  const Inputs in = small();
  const std::vector<Draw> drawn = draws(spec_of("runs: 5\nseed: 3\nlinks: [{match: \"nic*\", count: 8, scale: 0.01}]\n"), in);
  for (const Draw& draw : drawn) {
    ASSERT_EQ(draw.scenario.links.size(), 8U);
    for (const LinkFault& fault : draw.scenario.links) EXPECT_LT(std::stoi(fault.match.substr(3)), 16) << fault.match;
  }
  for (const Stressed& run : stress(in, quick(), drawn).runs) EXPECT_GT(run.step_time_s, 1.01 * simulate(in, quick()).report.step_time_s);
}

TEST(Stress, GridPointsAreWhatTheySay) {
  const Inputs in = small();
  const StressSpec spec =
      spec_of("runs: 1\nseed: 1\nlinks: [{match: \"nic*\", all: true, scale: 1}]\ngrid: {links.0.scale: [1, 0.25]}\n");
  const StressResult result = stress(in, quick(), draws(spec, in));
  ASSERT_EQ(result.runs.size(), 2U);
  EXPECT_EQ(result.runs[0].step_time_s, result.nominal_s);
  Inputs slow = in;
  for (std::size_t l = 0; l < slow.cluster.bandwidth.size(); ++l) {
    if (slow.cluster.platform->links()[l].name.starts_with("nic")) slow.cluster.bandwidth[l] *= 0.25;
  }
  EXPECT_EQ(result.runs[1].step_time_s, simulate(slow, quick()).report.step_time_s);
}

// A port that stays down: the run never ends, is the worst, and its failure names what waits.
TEST(Stress, DeadLinksAreRowsOfTheirOwn) {
  const Inputs in = small();
  const StressSpec spec = spec_of("runs: 2\nseed: 1\nlinks: [{match: \"nic0_up\", down: {from: 0s}}]\n");
  const StressResult result = stress(in, quick(), draws(spec, in));
  EXPECT_EQ(result.never_end(), 2);
  EXPECT_NE(result.worst()->failure, "");
  EXPECT_TRUE(std::isinf(result.percentile(0.5)));
}

TEST(Stress, Percentiles) {
  StressResult r;
  for (const double t : {4.0, 1.0, 3.0, 2.0, 5.0}) r.runs.push_back({{}, true, "", t, 0, -1});
  EXPECT_EQ(r.percentile(0), 1);
  EXPECT_EQ(r.percentile(0.5), 3);
  EXPECT_EQ(r.percentile(0.9), 4.6);
  EXPECT_EQ(r.percentile(1), 5);
  EXPECT_EQ(r.mean_s(), 3);
  EXPECT_EQ(r.worst()->step_time_s, 5);
}

TEST(Stress, WrongSpecsAreRefusedAllAtOnce) {
  const test::TempFile file(
      "runs: 0\nseed: 1\nstragglers: {count: 1, speed: [0.9, 0.8]}\nlinks: [{match: x}]\nodd: 1\n", ".yaml");
  Reading reading;
  read_stress_spec(reading, file.path());
  EXPECT_EQ(reading.problems.size(), 4U);
  Reading against;
  draws_of(against, spec_of("runs: 1\nseed: 1\nlinks: [{match: \"no*\", scale: 0.5}]\ngrid: {links.1.scale: [1]}\n"),
           small().planned_on, small().model);
  EXPECT_EQ(against.problems.size(), 2U);
}

// One GPU at half speed, whichever it is: of the ranks that wait longer most do for it.
TEST(Stress, TheStragglerIsBlamed) {
  const Inputs in = small();
  const StressSpec spec = spec_of("runs: 6\nseed: 3\nstragglers: {count: 1, speed: 0.5}\n");
  const std::vector<Draw> drawn = draws(spec, in);
  for (const Stressed& run : stress(in, {}, drawn).runs) {
    ASSERT_EQ(run.draw.scenario.stragglers.size(), 1U);
    EXPECT_EQ(run.for_rank, run.draw.scenario.stragglers[0].ranks[0]) << run.draw.text;
    EXPECT_GT(run.waiting_ranks, 0);
  }
}

// Two nodes of eight cards: 16 links up. What cannot be drawn is said, not cut down to what can.
TEST(Stress, WhatTheClusterOrTheModelLacksIsRefused) {
  const Inputs in = small();
  const auto reasons = [&](const std::string& text) {
    Reading reading;
    draws_of(reading, spec_of("runs: 1\nseed: 1\n" + text), in.planned_on, in.model);
    std::vector<std::string> found;
    for (const Problem& p : reading.problems) found.push_back(p.key + ": " + p.reason);
    return found;
  };
  using Texts = std::vector<std::string>;
  EXPECT_EQ(reasons("links: [{match: \"nic*_up\", count: [0, 16], scale: 0.5}]\n"), Texts{});
  EXPECT_EQ(reasons("links: [{match: \"nic*_up\", count: [0, 17], scale: 0.5}]\n"), (Texts{"links[0].count: 17 of 16 links that match \"nic*_up\""}));
  EXPECT_EQ(reasons("links: [{match: \"nic*_up\", count: 1, scale: 0.5}]\ngrid: {links.0.count: [1, 99]}\n"),
            (Texts{"links[0].count: 99 of 16 links that match \"nic*_up\""}));
  EXPECT_EQ(reasons("stragglers: {count: 17, speed: 0.5}\n"), (Texts{"stragglers.count: 17 of 16 GPUs"}));
  EXPECT_EQ(reasons("experts: {zipf: 1}\n"), (Texts{"experts: gpt-3-175b has none"}));
  EXPECT_EQ(reasons("grid: {experts.zipf: [0, 1]}\n"), (Texts{"experts: gpt-3-175b has none"}));
}

}  // namespace stepsim::stress_test
