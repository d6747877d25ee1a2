// stepsim kernels: its rows against the model's FLOPs and against the step that is made of them.
#include <gtest/gtest.h>

#include <set>

#include "sim/kernel_table.hpp"
#include "sim/simulate.hpp"
#include "support/shipped.hpp"

namespace stepsim::kernel_table_test {

double forward_flops(const Inputs& in) {
  double flops = 0;
  for (const KernelRow& row : kernel_rows(in)) flops += row.phase == Phase::forward ? row.blocks * row.flops : 0;
  return flops;
}

// Without tensor parallelism all kernels of a microbatch's forward pass are a microbatch's forward FLOPs: balanced experts
// get as many rows as a GPU's tokens choose.
TEST(KernelTable, HasTheModelsFlops) {
  for (const char* name : {"deepseek-v3-dualpipe", "gpt-3-175b-pipeline"}) {
    const Inputs in = testing::shipped(name, {"plan.parallel.tensor=1", "plan.parallel.sequence=false", "plan.batch.global_sequences=15360"});
    const int length = in.plan.batch.sequence_length;
    const double tokens = static_cast<double>(in.plan.batch.microbatch_sequences) * length;
    EXPECT_NEAR(forward_flops(in) / (tokens * forward_flops_per_token(in.model, length)), 1, 1e-9) << name;
  }
}

// On one GPU nothing else takes time: each phase of the step is the sum of its kernels over the microbatches.
TEST(KernelTable, SumsToTheStepsPhases) {
  for (const char* rates : {"speed_of_light", "calibrated"}) {
    const Inputs in = testing::shipped(
        "gpt-3-175b-pipeline", {"cluster.nodes=1", "model.layers=3", "plan.parallel.tensor=8", "plan.parallel.pipeline=1",
                                "plan.batch.global_sequences=4", "plan.recompute=[norm, attention]", std::string("plan.rates=") + rates});
    Options options;
    options.elasticities = false;
    const Report report = simulate(in, options).report;
    std::map<std::string, double> sums;
    for (const KernelRow& row : kernel_rows(in)) sums[std::string(to_text(row.phase))] += 4.0 * row.blocks * row.seconds;
    EXPECT_NEAR(report.phases.at("forward") / sums.at("forward"), 1, 1e-9) << rates;
    // A full backward pass counts as one phase, but for what it computes again.
    const double backward = sums.at("input_gradient") + sums.at("weight_gradient");
    double simulated = 0;
    for (const char* phase : {"backward", "input_gradient", "weight_gradient"}) {
      if (report.phases.contains(phase)) simulated += report.phases.at(phase);
    }
    EXPECT_NEAR(simulated / backward, 1, 1e-9) << rates;
    EXPECT_NEAR(report.phases.at("recompute") / sums.at("recompute"), 1, 1e-9) << rates;
  }
}

TEST(KernelTable, SaysWhatBinds) {
  const Inputs in = testing::shipped("deepseek-v3-dualpipe", {"plan.rates=calibrated"});
  bool seen = false;
  std::set<std::string> swiglus;
  for (const KernelRow& row : kernel_rows(in)) {
    if (row.name == "dispatch") {
      EXPECT_EQ(row.bound, "");
    }
    if (row.name == "swiglu") swiglus.insert(row.bound);
    if (row.name == "expert gate_up" && row.phase == Phase::forward) {
      seen = true;
      EXPECT_EQ(row.bound, "compute");
      EXPECT_EQ(row.m, 4096 * 8);  // top-8 of balanced experts
      EXPECT_EQ(row.groups, 256 / 64);
      EXPECT_EQ(row.n, 2 * 2048);
      EXPECT_EQ(row.k, 7168);
    }
  }
  EXPECT_TRUE(seen);
  // Six bytes a result of two FLOPs. The shared expert's 4096 x 2048 results take 21 us of HBM, the start of a pass 35 us;
  // the routed experts' are eight times as many.
  EXPECT_EQ(swiglus, (std::set<std::string>{"HBM", "start"}));
}

}  // namespace stepsim::kernel_table_test
