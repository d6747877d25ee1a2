// The plan's kernels: keys, and what cannot be.
#include <gtest/gtest.h>

#include "sim/base/errors.hpp"
#include "support/shipped.hpp"

namespace stepsim::kernels_check_test {
std::string refusal(std::vector<std::string> overrides) {
  try {
    (void)testing::shipped("gpt-3-175b-pipeline", std::move(overrides));
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

TEST(KernelsCheck, FlashAttention2WhereItWasMeasured) {
  const std::string choice = "plan.kernels.attention=flash2";
  EXPECT_EQ(refusal({choice, "plan.rates=calibrated"}), "");  // H800
  EXPECT_EQ(refusal({choice}), "");
}

TEST(KernelsCheck, UnfusedAttentionHasNoContextParallelism) {
  EXPECT_EQ(refusal({"plan.kernels.attention=unfused"}), "");
  EXPECT_NE(refusal({"plan.kernels.attention=unfused", "plan.parallel.context=2"})
                .find("context parallelism needs flash attention"),
            std::string::npos);
}

TEST(KernelsCheck, UnknownKernelsAreRefused) {
  EXPECT_NE(refusal({"plan.kernels.attention=flash3"}).find("not one of flash, flash2, triton, unfused"), std::string::npos);
  EXPECT_NE(refusal({"plan.kernels.elementwise=compiled"}).find("not one of fused, unfused"), std::string::npos);
  EXPECT_NE(refusal({"plan.kernels.softmax=fused"}).find("unknown key"), std::string::npos);
}

TEST(KernelsCheck, CopiesOfShardsNeedShards) {
  EXPECT_NE(refusal({"plan.kernels.shards=flat"}).find("has no effect without ZeRO-2 or 3"), std::string::npos);
}

TEST(KernelsCheck, TrainersKernelsReachThePlan) {
  const Inputs in = testing::shipped("gpt-3-175b-pipeline", {"plan.kernels={loss: separate, optimizer: masters}"});
  EXPECT_EQ(in.plan.kernels.loss, Kernels::Loss::separate);
  EXPECT_EQ(in.plan.kernels.optimizer, Kernels::Optimizer::masters);
}

TEST(KernelsCheck, KeysReachThePlan) {
  const Inputs in =
      testing::shipped("gpt-3-175b-pipeline", {"plan.kernels={attention: unfused, elementwise: unfused, dropout: true}",
                                               "plan.clip_gradients=false", "plan.rates=calibrated"});
  const Kernels kernels{.attention = Kernels::Attention::unfused, .fused = false, .dropout = true};
  EXPECT_EQ(in.plan.kernels, kernels);
  EXPECT_FALSE(in.plan.clip_gradients);
  EXPECT_EQ(in.cluster.gpu.rates, Rates::calibrated);
}

}  // namespace stepsim::kernels_check_test
