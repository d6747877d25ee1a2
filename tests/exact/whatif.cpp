// What-ifs and crossovers against arithmetic.
#include "sim/whatif.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "sim/crossover.hpp"
#include "support/shipped.hpp"

namespace stepsim::whatif_test {
Options quick() {
  Options options;
  options.engine = "ideal";
  options.elasticities = false;
  return options;
}

const Effect& effect_of(const WhatIf& result, const std::string& text) {
  for (const Effect& e : result.effects) {
    if (e.change.text == text) return e;
  }
  throw std::runtime_error("no change \"" + text + "\"");
}

Inputs small(std::vector<std::string> more = {}) {
  std::vector<std::string> sets = {"cluster.nodes=2", "model.layers=6", "plan.parallel.pipeline=2",
                                   "plan.parallel.tensor=8", "plan.batch.global_sequences=8"};
  sets.insert(sets.end(), more.begin(), more.end());
  return testing::shipped("gpt-3-175b-pipeline", sets);
}

// Every row is what a run with the same keys gives; a faster resource never makes the step longer; rows are ranked.
TEST(WhatIf, RowsAreRunsOfTheirOwn) {
  const WhatIf result = what_if(small(), quick());
  EXPECT_EQ(result.step_time_s, simulate(small(), quick()).report.step_time_s);
  for (const char* keys : {"plan.schedule=zb-h1", "plan.recompute=full", "plan.overlap.tensor=async"}) {
    const double alone = simulate(small({keys}), quick()).report.step_time_s;
    bool found = false;
    for (const Effect& e : result.effects) {
      if (e.change.overrides != std::vector<std::string>{keys}) continue;
      EXPECT_EQ(e.step_time_s, alone) << keys;
      EXPECT_EQ(e.saved_s, result.step_time_s - alone) << keys;
      found = true;
    }
    EXPECT_TRUE(found) << keys;
  }
  double last = result.step_time_s;
  bool refused = false;
  for (const Effect& e : result.effects) {
    if (!e.refused.empty()) {
      refused = true;
      continue;
    }
    EXPECT_FALSE(refused) << "a row that ran behind one that could not";
    EXPECT_LE(e.saved_s, last);
    last = e.saved_s;
    EXPECT_TRUE(e.change.resource.empty() || e.saved_s >= 0) << e.change.text;
  }
  // Every wire twice as fast and every latency half of it, by hand.
  Inputs fast = small();
  for (BytesPerSecond& bandwidth : fast.cluster.bandwidth) bandwidth *= 2;
  for (Seconds& latency : fast.cluster.latency) latency /= 2;
  Gpu& gpu = fast.cluster.gpu;
  gpu.nvls.bus_bandwidth *= 2;
  for (Seconds* latency : {&gpu.nvls.latency, &gpu.calibrated.node_steps.step, &gpu.calibrated.node_steps.fill}) *latency /= 2;
  EXPECT_DOUBLE_EQ(effect_of(result, "all wires and latency 2 x as fast").step_time_s, simulate(fast, quick()).report.step_time_s);
  // Jitter makes every rank its own in all of them: none may be folded.
  Inputs noisy = small();
  noisy.cluster.jitter = {0.1, 0.1, 5};
  const WhatIf varied = what_if(noisy, quick());
  EXPECT_EQ(varied.step_time_s, simulate(noisy, quick()).report.step_time_s);
  EXPECT_GT(varied.step_time_s, result.step_time_s);
  Inputs other = small({"plan.schedule=zb-h1"});
  other.cluster.jitter = noisy.cluster.jitter;
  EXPECT_EQ(effect_of(varied, "schedule zb-h1").step_time_s, simulate(other, quick()).report.step_time_s);
  // 6 layers on 2 ranks with one chunk each: interleaving needs 2 chunks; 16 GPUs have no room for 4 x 8 x 1.
  EXPECT_NE(effect_of(result, "pipeline 4 instead of 2").refused, "");
}

// One GPU computes and nothing else: compute and HBM share the step by kernels, 2 x as fast saves half of each part.
TEST(WhatIf, ResourcesOfOneGpu) {
  const Inputs in = small({"cluster.nodes=1", "cluster.gpus_per_node=1", "plan.parallel.pipeline=1",
                           "plan.parallel.tensor=1", "plan.parallel.sequence=false", "model.hidden=1024",
                           "model.heads=8", "model.kv_heads=8", "model.ffn=4096"});
  const Simulation done = simulate(in, quick());
  double compute = 0, hbm = 0;  // seconds of kernels bound by either
  for (const OpView op : done.graph.programs[0].ops) (op.sm_seconds > 0 ? compute : hbm) += op.seconds;
  const WhatIf result = what_if(in, quick());
  const double of_compute = effect_of(result, "compute 2 x as fast").saved_s;
  const double of_hbm = effect_of(result, "hbm 2 x as fast").saved_s;
  EXPECT_GT(of_compute, 0);
  EXPECT_GT(of_hbm, 0);
  EXPECT_LE(of_compute, compute / 2 * (1 + 1e-12));      // a kernel that turns from one bound to the other gains less
  EXPECT_LE(of_hbm, (hbm + compute) / 2 * (1 + 1e-12));  // segments bound by compute hold memory-bound kernels, too
  EXPECT_LE(of_compute + of_hbm, result.step_time_s / 2 * (1 + 1e-12));
  EXPECT_EQ(effect_of(result, "nvlink 2 x as fast").saved_s, 0);
  EXPECT_EQ(effect_of(result, "latency 2 x as low").saved_s, 0);
}

// With calibrated rates kernels take what they start in, too: one GPU that computes, passes over memory and starts twice as
// fast takes half as long, whatever binds which kernel (with no limit of power, whose clock depends on both).
TEST(WhatIf, StartsOfKernels) {
  Inputs in = small({"cluster.nodes=1", "cluster.gpus_per_node=1", "plan.parallel.pipeline=1", "plan.parallel.tensor=1",
                     "plan.parallel.sequence=false", "model.hidden=1024", "model.heads=8", "model.kv_heads=8", "model.ffn=4096",
                     "plan.rates=calibrated"});
  in.cluster.gpu.power.reset();
  const WhatIf result = what_if(in, quick());
  EXPECT_GT(effect_of(result, "kernel starts 2 x as short").saved_s, 0);
  for (const char* resource : {"compute", "hbm", "starts"}) in.cluster = with_faster(in.cluster, resource, 2);
  EXPECT_NEAR(simulate(in, quick()).report.step_time_s / result.step_time_s, 0.5, 1e-9);
  const auto names = resources_of(testing::shipped("deepseek-v3-dualpipe").cluster);
  EXPECT_EQ(std::count(names.begin(), names.end(), "starts"), 0);  // the speed of light knows none
}

// ZeRO-3 moves every parameter three times a step (two gathers, one scatter) whatever the tokens; compute grows with
// them: it covers communication from T* = t_comm x rate / FLOPs a token on. DeepSeek-V3 on 16 GPUs, everything in one
// precision; HBM, latency and the end of the step left out so that the formula's assumptions hold.
double crossover_tokens(const std::string& algorithm, const std::string& precision) {
  Inputs in = testing::shipped(
      "deepseek-v3-zero3-flat",
      {"cluster.nodes=2", "plan.batch.global_sequences=256", "plan.batch.microbatch_sequences=16",
       "plan.recompute=none", "plan.precision.linear=bf16", "plan.precision.attention=bf16", "plan.precision.head=bf16",
       "plan.precision.gather=" + precision, "plan.precision.reduce=" + precision, "plan.overlap.gather_prefetch=100",
       "plan.sms.communication=0", "plan.kernels={attention: unfused}", "plan.collectives.all_gather=" + algorithm,
       "plan.collectives.reduce_scatter=" + algorithm});
  in.cluster = with_faster(with_faster(in.cluster, "hbm", 1e6), "latency", 1e6);
  Options contended = quick();  // gathers and scatters share the backward pass's wires
  contended.engine = "simgrid";
  return find_crossover(in, contended, "tokens").value;
}

TEST(Crossover, TokensAtWhichComputeCoversZero3) {
  const double parameters = 671'026'419'200;
  // A token's FLOPs, forward: 2 x 36.626 G of matrices and 2 x 128 x (192 + 128) x 4096 a layer of unfused attention,
  // which computes all scores; backward twice that. (Flash attention computes scores again in the backward pass, which
  // has two thirds of the traffic and would be covered at fewer tokens than the forward pass.)
  const double attention = 61.0 * 2 * 128 * (192 + 128) * 4096, forward = 2 * 36.626e9 + attention;
  const double flops = 3 * forward;
  const double flat = 3 * 2 * parameters * (16 - 8) / 16 / 50e9;  // BF16
  const double expected_flat = flat * 758e12 / flops;
  // The first gather and the last scatter have nothing to hide under, one of 61 layers each.
  EXPECT_NEAR(crossover_tokens("flat", "bf16"), expected_flat, 0.01 * expected_flat);
  // Hierarchical, FP8: the NIC carries an eighth of it; NVLink spreads 7/8 of everything at 160 GB/s.
  const double nvlink = 3 * parameters * 7 / 8 / 160e9;
  const double expected = nvlink * 758e12 / flops;
  EXPECT_NEAR(crossover_tokens("hierarchical", "fp8"), expected, 0.01 * expected);
}

TEST(Crossover, UnknownThingsAreRefused) {
  try {
    find_crossover(small(), quick(), "nic");
    FAIL();
  } catch (const InputError& e) {
    EXPECT_NE(std::string(e.what()).find("cluster.nic"), std::string::npos);
  }
}

// A wire that nothing uses: no other verdict however slow it is.
TEST(Crossover, NoneWhereTheWireIsNotUsed) {
  const Crossover c = find_crossover(small({"cluster.nodes=1", "plan.parallel.pipeline=1", "plan.parallel.tensor=8"}),
                                     quick(), "infiniband");
  EXPECT_EQ(c.factor, 0);
  EXPECT_EQ(c.unit, "B/s");
  EXPECT_EQ(c.value_now, 50e9);
}

}  // namespace stepsim::whatif_test
