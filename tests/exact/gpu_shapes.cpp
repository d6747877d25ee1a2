// The calibrated rates have the shape that the hardware gives them: on every shipped GPU.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "sim/cost/gemm.hpp"
#include "sim/cost/kernel.hpp"
#include "sim/cost/power.hpp"

namespace stepsim::gpu_shapes_test {
Gpu shipped(const std::string& stem) {
  Reading reading;
  Gpu gpu = read_gpu(reading, STEPSIM_SOURCE_DIR "/platforms/gpus/" + stem + ".yaml", Rates::calibrated);
  reading.throw_if_any();
  return gpu;
}

std::vector<std::string> stems() {
  std::vector<std::string> all;
  for (const auto& entry : std::filesystem::directory_iterator(STEPSIM_SOURCE_DIR "/platforms/gpus")) {
    if (entry.path().extension() == ".yaml") all.push_back(entry.path().stem());
  }
  std::sort(all.begin(), all.end());
  return all;
}

Kernel gemm(double m, double n, double k, Precision precision = Precision::bf16) {
  Kernel kernel{.name = "test", .kind = KernelClass::gemm};
  kernel.precision = precision;
  kernel.m = m;
  kernel.n = n;
  kernel.k = k;
  kernel.flops = Flops(2 * m * n * k);
  kernel.bytes = Bytes((m * k + k * n) * bytes_per_element(precision) + m * n * 2);
  return kernel;
}

Kernel grouped(double groups, double rows, double n, double k, Precision precision) {
  Kernel kernel = gemm(groups * rows, n, k, precision);
  kernel.kind = KernelClass::grouped_gemm;
  kernel.groups = groups;
  kernel.bytes = Bytes(groups * ((rows * k + k * n) * bytes_per_element(precision) + rows * n * 2));
  return kernel;
}

Kernel attention(double length, double groups, double width, bool backward = false) {
  Kernel kernel{.name = "core attention", .kind = KernelClass::attention};
  kernel.m = length;
  kernel.n = (length + 1) / 2;
  kernel.most_keys = length;
  kernel.k = 2 * width;
  kernel.groups = groups;
  kernel.backward = backward;
  kernel.flops = Flops(2 * kernel.m * kernel.n * groups * width * (backward ? 5 : 2));
  return kernel;
}

double efficiency(const Kernel& kernel, const Gpu& gpu) {
  return kernel.flops / cost_of(kernel, gpu, gpu.sms).time / peak_of(gpu, kernel.precision);
}

TEST(GpuShapes, EfficiencyOfProductsRisesWithSizeAndSaturates) {
  for (const std::string& stem : stems()) {
    const Gpu gpu = shipped(stem);
    for (const Precision precision : {Precision::bf16, Precision::fp8}) {
      if (precision == Precision::fp8 && gpu.fp8 == gpu.bf16) continue;
      double before = 0;
      for (const double size : {256., 512., 1024., 2048., 4096.}) {
        const double now = efficiency(gemm(size, size, size, precision), gpu);
        EXPECT_GT(now, before) << stem << " " << size;
        before = now;
      }
      const double large = efficiency(gemm(16384, 16384, 16384, precision), gpu);
      EXPECT_NEAR(large, efficiency(gemm(32768, 32768, 32768, precision), gpu), 0.02 * large) << stem;
      EXPECT_GT(large, 0.4) << stem;
      EXPECT_LT(large, 1) << stem;
    }
  }
}

// One tile more than a wave holds costs a wave more. With 132 SMs and tiles of 128 x 256: 132 tiles are one wave.
TEST(GpuShapes, ProductsDipWhereTheirTilesOverflowAWave) {
  const GemmRates rates{.peak_fraction = 0.8, .fill = 100, .edge = 10, .overlap = 8, .start = {}, .group = {}};
  const FlopsPerSecond peak(989e12);
  // 64 x 64 tiles only: k is short, so that no split of k helps.
  const auto seconds = [&](double tiles) {
    return gemm_computing(gemm(64 * tiles, 64, 200), rates, peak, 132, 132).value;
  };
  const double wave = 2 * 64 * 64 * (1 + 10. / 32) * (200 + 100) / (0.8 * 989e12 / 132);
  for (const double tiles : {1., 100., 132.}) EXPECT_DOUBLE_EQ(seconds(tiles), wave) << tiles;
  // 133 tiles of 64 rows no longer fit one wave: the larger tile (128 rows) takes less than two waves of the small.
  const double larger = 2 * 128 * 64 * (1 + 10. / 64 + 10. / 128) * (200 + 100) / (0.8 * 989e12 / 132) *
                        (1 + 10. * (1. / 128 + 1. / 64)) / (1 + 10. / 64 + 10. / 128);
  EXPECT_DOUBLE_EQ(seconds(133), larger);
  EXPECT_GT(seconds(133), seconds(132));
  // On a real GPU: a full wave is more efficient than a wave and one tile, whichever tile is taken.
  const Gpu gpu = shipped("h100-sxm");
  const double full = efficiency(gemm(11 * 256, 12 * 128, 8192), gpu);  // 132 tiles of 256 x 128
  const double over = efficiency(gemm(11 * 256, 13 * 128, 8192), gpu);  // 143
  EXPECT_GT(full, 1.1 * over);
}

TEST(GpuShapes, FewColumnsOfKAreSlow) {
  for (const std::string& stem : stems()) {
    const Gpu gpu = shipped(stem);
    EXPECT_LT(efficiency(gemm(8192, 8192, 128), gpu), 0.8 * efficiency(gemm(8192, 8192, 8192), gpu)) << stem;
  }
}

// A skinny product and a grouped one of few rows an expert are bound by their weights' bytes.
TEST(GpuShapes, FewRowsAreMemoryBound) {
  for (const std::string& stem : stems()) {
    const Gpu gpu = shipped(stem);
    for (const Kernel& kernel : {gemm(16, 16384, 8192), grouped(32, 8, 4096, 7168, Precision::bf16)}) {
      const KernelCost cost = cost_of(kernel, gpu, gpu.sms);
      EXPECT_GT(cost.hbm_time, cost.compute_time) << stem;
      EXPECT_EQ(cost.sm_time.value, 0) << stem;
      EXPECT_GE(cost.time, cost.hbm_time) << stem;
    }
    const Kernel many = grouped(32, 4096, 4096, 7168, Precision::bf16);
    EXPECT_GT(cost_of(many, gpu, gpu.sms).sm_time, cost_of(many, gpu, gpu.sms).hbm_time) << stem;
    EXPECT_GT(efficiency(many, gpu), 4 * efficiency(grouped(32, 8, 4096, 7168, Precision::bf16), gpu)) << stem;
  }
}

TEST(GpuShapes, GroupsPadTheirRowsToTiles) {
  const GemmRates rates{.peak_fraction = 0.8, .fill = 0, .edge = 0, .overlap = 8, .start = {}, .group = {}};
  // 33 groups of 65 rows and 256 columns: two tiles of 64 rows each, or one of 128, as if they had 128 rows.
  EXPECT_DOUBLE_EQ(
      gemm_computing(grouped(33, 65, 256, 512, Precision::bf16), rates, FlopsPerSecond(1e15), 132, 132).value,
      gemm_computing(grouped(33, 128, 256, 512, Precision::bf16), rates, FlopsPerSecond(1e15), 132, 132).value);
}

TEST(GpuShapes, AttentionGainsFromLongSequencesAndWideHeads) {
  for (const std::string& stem : stems()) {
    const Gpu gpu = shipped(stem);
    for (const bool backward : {false, true}) {
      double before = 0;
      for (const double length : {512., 1024., 2048., 4096., 8192., 16384.}) {
        const double now = efficiency(attention(length, 16 * 16384 / length, 128, backward), gpu);
        EXPECT_GT(now, before) << stem << " " << length;
        before = now;
      }
      EXPECT_LT(efficiency(attention(8192, 64, 64, backward), gpu), efficiency(attention(8192, 32, 128, backward), gpu))
          << stem;
    }
  }
}

// Four heads of one sequence on 148 SMs: the tile that sees all keys is what everybody waits for.
TEST(GpuShapes, FewHeadsLeaveSmsIdle) {
  const Gpu gpu = shipped("b200");
  EXPECT_GT(efficiency(attention(4096, 64, 128), gpu), 2 * efficiency(attention(4096, 4, 128), gpu));
}

TEST(GpuShapes, FlashAttention2IsSlowerWhereThereIsBetter) {
  const Gpu gpu = shipped("h100-sxm");
  Kernel kernel = attention(8192, 32, 128);
  const double better = efficiency(kernel, gpu);
  kernel.flash = Kernel::Flash::flash2;
  EXPECT_GT(better, 1.3 * efficiency(kernel, gpu));
}

TEST(GpuShapes, FewerSmsSlowComputing) {
  const Gpu gpu = shipped("h800-sxm");
  const Kernel kernel = gemm(8192, 8192, 8192, Precision::fp8);
  const double part = cost_of(kernel, gpu, 112).time / cost_of(kernel, gpu, 132).time;
  EXPECT_GT(part, 1.05);
  EXPECT_LT(part, 1.3);
}

// --- power ---

PowerModel a100() {
  PowerModel p;
  p.limit = p.usual_limit = Watts(400);
  p.idle = Watts(88);
  p.dynamic = Watts(500);
  return p;
}

TEST(Power, ClockSolvesTheLimit) {
  PowerModel p = a100();
  EXPECT_EQ(clock_of(p, 0.5), 1);  // 88 + 250
  const double f = clock_of(p, 0.95);
  EXPECT_NEAR(88 + 500 * 0.95 * f * f * f, 400, 1e-9);
  p.activity = 0.6;  // zeros: 88 + 285
  EXPECT_EQ(clock_of(p, 0.95), 1);
  p.voltage_exponent = 0;
  p.activity = 1;
  EXPECT_NEAR(clock_of(p, 0.95), 312 / 475., 1e-12);
}

// Rates that were measured at the usual limit already contain its clock: only a change of limit or data moves them.
TEST(Power, MeasuredRatesContainTheirClock) {
  PowerModel p = a100();
  EXPECT_EQ(relative_clock(p, 0.8), 1);
  p.limit = Watts(300);
  // At the full clock u, at the limit u f(u) = 0.8 with 500 u f^3 = 312: f = 0.883, u = 0.906. At 300 W f^3 = 212 /
  // (500 u).
  const double f = std::sqrt(312 / (500 * 0.8)), u = 0.8 / f;
  EXPECT_NEAR(relative_clock(p, 0.8), std::cbrt(212 / (500 * u)) / f, 1e-12);
  EXPECT_NEAR(relative_clock(p, 0.8), std::cbrt(212. / 312), 1e-12);
}

TEST(Power, ALowerLimitSlowsProductsButNotMemory) {
  for (const std::string stem : {"a100-80-sxm", "h100-sxm", "b200", "gb200"}) {
    Gpu gpu = shipped(stem);
    const Kernel product = gemm(8192, 8192, 8192);
    Kernel copy{.name = "copy", .kind = KernelClass::memory};
    copy.bytes = Bytes(1e9);
    const KernelCost product_before = cost_of(product, gpu, gpu.sms), copy_before = cost_of(copy, gpu, gpu.sms);
    gpu.power->limit = Watts((gpu.power->idle.value + gpu.power->limit.value) / 2);
    const KernelCost product_after = cost_of(product, gpu, gpu.sms);
    EXPECT_LT(product_after.clock, product_before.clock) << stem;
    EXPECT_GT(product_after.time, 1.1 * product_before.time) << stem;
    EXPECT_EQ(cost_of(copy, gpu, gpu.sms).time, copy_before.time) << stem;
  }
}

// memory.csv: on the B200 training's passes over memory take 30 us and reach 5328 GB/s, its loss 2596.9, permutations 4006.5 and 4086.5; on
// the A100 PCIe 40 us and 1456 of 1935. Other boards of a chip reach the same share of their data sheet, whatever a stream benchmark
// says of them (A100 SXM: 1700 of 2039); the Hopper boards the geometric mean of both (H100: 3350 by the data sheet).
TEST(MemoryKernels, ReachWhatTrainingWasMeasuredTo) {
  const auto start_of = [](const std::string& stem) { return stem == "b200" ? 30e-6 : stem.starts_with("a100") ? 40e-6 : std::sqrt(30 * 40) * 1e-6; };
  const auto seconds = [&](const std::string& stem, Kernel::Access access) {
    const Gpu gpu = shipped(stem);
    Kernel pass{.name = "pass", .kind = KernelClass::memory};
    pass.access = access;
    pass.bytes = Bytes(1e9);
    return cost_of(pass, gpu, gpu.sms).time.value - start_of(stem);
  };
  using A = Kernel::Access;
  EXPECT_NEAR(seconds("b200", A::straight), 1 / 5328., 1e-12);
  EXPECT_NEAR(seconds("b200", A::reduces), 1 / 2596.9, 1e-3 / 2596.9);
  EXPECT_NEAR(seconds("b200", A::permutes), 1 / std::sqrt(4006.5 * 4086.5), 1e-3 / 4046);
  EXPECT_NEAR(seconds("a100-80-pcie", A::straight), 1 / 1456., 1e-12);
  EXPECT_NEAR(seconds("a100-80-sxm", A::straight), 1 / (2039 * 1456 / 1935.), 1e-3 / 1534);
  const double shares = std::sqrt(1456 / 1935. * 5328 / 7670);
  EXPECT_NEAR(seconds("h100-sxm", A::straight), 1 / (3350 * shares), 5e-7);
  EXPECT_NEAR(seconds("h200-sxm", A::straight), 1 / (4800 * shares), 5e-7);
}

}  // namespace stepsim::gpu_shapes_test
