// What an experiment sets itself is what --set would, with a line of its file for an origin.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "sim/explore/key.hpp"
#include "sim/inputs.hpp"
#include "sim/whatif.hpp"
#include "tests/support/shipped.hpp"
#include "tests/support/temp_folder.hpp"

namespace stepsim::experiment_set_test {

using Folder = test::TempFolder;

constexpr const char* kParts = "name: own\nmodel: gpt-3-175b\ncluster: h800-256x8\nplan: gpt-3-175b-tp8-pp16\n";

Request request_of(const std::string& path, std::vector<std::string> overrides = {}) {
  Request request;
  request.experiment = path;
  request.overrides = std::move(overrides);
  request.home = STEPSIM_SOURCE_DIR;
  return request;
}

std::string origin_of(const Inputs& in, const std::string& key) {
  for (const Explained& e : in.explained) {
    if (e.key == key) return e.origin;
  }
  return "not there";
}

std::vector<std::string> problems_of(const std::string& path) {
  std::vector<std::string> texts;
  try {
    (void)load(request_of(path));
  } catch (const InputError& wrong) {
    for (const Problem& p : wrong.problems()) {
      texts.push_back(fmt::format("{}:{} {}: {}", std::filesystem::path(p.file).filename().string(), p.line, p.key, p.reason));
    }
  }
  return texts;
}

TEST(ExperimentSet, IsWhatOverridesWouldBe) {
  const Folder folder;
  const std::string path = folder.write("e.yaml", std::string(kParts) + "set:\n  cluster.nodes: 16\n  plan.recompute: [norm, swiglu]\n"
                                                                        "  model.layers: 32\n  plan.batch: {global_sequences: 32, sequence_length: 1024}\n");
  const Inputs own = load(request_of(path));
  const std::string bare = folder.write("bare.yaml", kParts);
  const Inputs same = load(request_of(bare, {"cluster.nodes=16", "plan.recompute=[norm, swiglu]", "model.layers=32",
                                             "plan.batch={global_sequences: 32, sequence_length: 1024}"}));
  EXPECT_EQ(own.cluster.nodes, 16);
  EXPECT_EQ(own.model, same.model);
  EXPECT_EQ(own.plan, same.plan);
  EXPECT_EQ(own.cluster.bandwidth, same.cluster.bandwidth);
  KeyMaker keys;
  EXPECT_EQ(keys.key_of(own, {}, STEPSIM_SOURCE_DIR), keys.key_of(same, {}, STEPSIM_SOURCE_DIR));
  EXPECT_EQ(origin_of(own, "cluster.nodes"), path + ":6");
  EXPECT_EQ(origin_of(own, "plan.recompute"), path + ":7");
  EXPECT_EQ(origin_of(same, "plan.recompute"), "--set");
}

TEST(ExperimentSet, TheCommandLineWins) {
  const Folder folder;
  const std::string path = folder.write("e.yaml", std::string(kParts) + "set: {cluster.nodes: 16, plan.rates: calibrated}\n");
  const Inputs in = load(request_of(path, {"plan.rates=speed_of_light"}));
  EXPECT_EQ(in.plan.rates, Rates::speed_of_light);
  EXPECT_EQ(in.cluster.nodes, 16);
  EXPECT_EQ(origin_of(in, "plan.rates"), "--set");
}

TEST(ExperimentSet, WhatIfsKeepIt) {
  const Folder folder;
  const std::string path = folder.write("e.yaml", std::string(kParts) + "set: {cluster.nodes: 16, plan.recompute: full}\n");
  std::string refused;
  const auto changed = with_plan(load(request_of(path)), {"plan.parallel.zero=0"}, refused);
  ASSERT_TRUE(changed) << refused;
  EXPECT_TRUE(changed->plan.recompute.full);
  EXPECT_EQ(changed->plan.parallel.zero, 0);
}

// A schedule, a GPU: paths stand where they are written.
TEST(ExperimentSet, PathsAreRelativeToItsFolder) {
  const Folder folder;
  std::ifstream gpu(std::string(STEPSIM_SOURCE_DIR) + "/platforms/gpus/a100-80-sxm.yaml");
  folder.write("own.yaml", std::string(std::istreambuf_iterator<char>(gpu), {}));
  folder.write("two.csv", "0F0,0B0,0F1,0B1\n");
  const std::string path = folder.write("e.yaml", std::string(kParts) + "set: {cluster.nodes: 1, cluster.gpu: ./own.yaml, plan.schedule: ./two.csv, plan.parallel.pipeline: 1,\n"
                                                                        "      plan.batch.global_sequences: 2}\n");
  const Inputs in = load(request_of(path));
  EXPECT_EQ(in.cluster.gpu.name, testing::shipped("gpt-3-175b-pipeline", {"cluster.gpu=a100-80-sxm"}).cluster.gpu.name);
  ASSERT_TRUE(in.plan.passes);
  EXPECT_EQ(in.plan.passes->microbatches, 2);
}

TEST(ExperimentSet, ProblemsNameItsLines) {
  const Folder folder;
  using Texts = std::vector<std::string>;
  EXPECT_EQ(problems_of(folder.write("e.yaml", std::string(kParts) + "set:\n  plan.rate: calibrated\n  nodes: 3\n  cluster.nodes: [1]\n  model.layers:\n")),
            (Texts{"e.yaml:7 nodes: write DOCUMENT.KEY=VALUE, such as plan.schedule=1f1b", "e.yaml:6 plan.rate: unknown key; did you mean rates?",
                   "e.yaml:9 model.layers: has no value; write key=value", "e.yaml:8 cluster.nodes: found a list where a whole number is due"}));
  EXPECT_EQ(problems_of(folder.write("e.yaml", std::string(kParts) + "set: {cluster.nodes: 16, plan.parallel.context: 3}\n")).front(),
            "e.yaml:5 plan.parallel.context: 3 does not divide 128 GPUs (16 nodes of 8); nearest: 1");
  EXPECT_EQ(problems_of(folder.write("e.yaml", std::string(kParts) + "set: [cluster.nodes]\n")),
            (Texts{"e.yaml:5 set: is no mapping; write for example {cluster.nodes: 16, plan.rates: calibrated}"}));
}

// Of a scenario that nobody named: where it is asked for.
TEST(ExperimentSet, AScenarioThatIsNotThere) {
  const Folder folder;
  const std::string path = folder.write("own.yaml", std::string(kParts) + "set: {scenario.stragglers: \"[{ranks: [3], speed: 0.5}]\"}\n");
  const auto problem = [&](const Request& request) {
    try {
      load(request);
    } catch (const InputError& e) {
      return e.problems().front();
    }
    return Problem{};
  };
  const Problem own = problem(request_of(path));
  EXPECT_EQ(own.file, path);
  EXPECT_EQ(own.line, 5);
  EXPECT_EQ(own.key, "scenario.stragglers");
  const Problem given = problem(request_of("gpt-3-175b-pipeline", {"scenario.jitter={seed: 1}"}));
  EXPECT_EQ(given.file, "--set");
  EXPECT_EQ(given.key, "scenario.jitter");
}

}  // namespace stepsim::experiment_set_test
