// cost_of: the larger of computing and moving bytes.
#include <gtest/gtest.h>

#include "sim/cost/kernel.hpp"

namespace stepsim::cost_test {
Gpu gpu() {
  Gpu gpu;
  gpu.sms = 100;
  gpu.hbm = BytesPerSecond(2e12);
  gpu.bf16 = FlopsPerSecond(8e14);
  gpu.fp8 = FlopsPerSecond(1.6e15);
  gpu.fp32 = FlopsPerSecond(4e14);
  return gpu;
}

Kernel kernel(double flops, double bytes, Precision precision = Precision::bf16) {
  Kernel kernel{.name = "test", .kind = KernelClass::gemm};
  kernel.precision = precision;
  kernel.flops = Flops(flops);
  kernel.bytes = Bytes(bytes);
  return kernel;
}

TEST(Cost, ComputeBoundOnAllAndOnSomeSms) {
  const KernelCost whole = cost_of(kernel(8e12, 2e9), gpu(), 100);
  EXPECT_DOUBLE_EQ(whole.time.value, 0.01);
  EXPECT_DOUBLE_EQ(whole.sm_time.value, 0.01);
  EXPECT_DOUBLE_EQ(whole.compute_time.value, 0.01);
  EXPECT_DOUBLE_EQ(whole.hbm_time.value, 0.001);
  const KernelCost part = cost_of(kernel(8e12, 2e9), gpu(), 80);
  EXPECT_DOUBLE_EQ(part.time.value, 0.0125);
  EXPECT_DOUBLE_EQ(part.sm_time.value, 0.0125);
  EXPECT_DOUBLE_EQ(part.compute_time.value, 0.01);  // of the whole GPU
}

TEST(Cost, PrecisionPicksTheRate) {
  EXPECT_DOUBLE_EQ(cost_of(kernel(8e12, 0, Precision::fp8), gpu(), 100).time.value, 0.005);
  EXPECT_DOUBLE_EQ(cost_of(kernel(8e12, 0, Precision::fp16), gpu(), 100).time.value, 0.01);
  EXPECT_DOUBLE_EQ(cost_of(kernel(8e12, 0, Precision::fp32), gpu(), 100).time.value, 0.02);
}

TEST(Cost, MemoryBoundDoesNotFeelFewerSms) {
  for (int sms : {100, 80}) {
    const KernelCost cost = cost_of(kernel(0, 2e9), gpu(), sms);
    EXPECT_DOUBLE_EQ(cost.time.value, 0.001);
    EXPECT_EQ(cost.sm_time.value, 0);
    EXPECT_EQ(cost.compute_time.value, 0);
  }
}

TEST(Cost, FewSmsTurnAKernelComputeBound) {
  const Kernel balanced = kernel(4e11, 2e9);  // 0.5 ms of computing against 1 ms of traffic
  EXPECT_EQ(cost_of(balanced, gpu(), 100).sm_time.value, 0);
  EXPECT_DOUBLE_EQ(cost_of(balanced, gpu(), 25).time.value, 0.002);
  EXPECT_DOUBLE_EQ(cost_of(balanced, gpu(), 25).sm_time.value, 0.002);
}

TEST(Cost, LaunchGapComesOnTop) {
  Gpu slow = gpu();
  slow.launch_gap = Seconds(5e-6);
  EXPECT_DOUBLE_EQ(cost_of(kernel(8e12, 0), slow, 100).time.value, 0.01 + 5e-6);
  EXPECT_DOUBLE_EQ(cost_of(kernel(8e12, 0), slow, 100).sm_time.value, 0.01);
  EXPECT_DOUBLE_EQ(cost_of(kernel(0, 0), slow, 100).time.value, 5e-6);
}

}  // namespace stepsim::cost_test
