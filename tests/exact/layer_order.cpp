// Recompute, the order of a block's items, and its kernels' shapes and traffic.
#include <gtest/gtest.h>

#include "support/block_sums.hpp"
#include "support/sample_models.hpp"

namespace stepsim::layer_order_test {
using namespace samples;

// The plan that trained DeepSeek-V3: norms, MLA's up-projections and SwiGLU run again.
TEST(Recompute, DeepSeekV3Modules) {
  ParallelPlan plan = one_gpu(4096);
  plan.parallel.expert = 64;
  plan.precision.linear = Precision::fp8;
  const Block kept = make_blocks(deepseek_v3(), plan).block(10);
  plan.recompute.modules = {Module::norm, Module::mla_up, Module::swiglu};
  const Block block = make_blocks(deepseek_v3(), plan).block(10);
  std::vector<std::string> again;
  for (const Item& item : block.backward) {
    if (item.phase == Phase::recompute) again.push_back(name_of(item));
  }
  const std::vector<std::string> expected{"ffn norm", "swiglu",   "swiglu", "q norm", "kv norm",       "quantise",
                                          "q_b",      "quantise", "kv_b",   "rope",   "attention norm"};
  EXPECT_EQ(again, expected);
  EXPECT_DOUBLE_EQ(flops_of(block.backward).flops - flops_of(kept.backward).flops,
                   2 * 4096.0 * (37'748'736 + 16'777'216));
}

TEST(Recompute, EachModuleAddsItsForwardFlops) {
  const ModelSpec model = deepseek_v3();
  const double tokens = 4096, core = 2.0 * 128 * 320 * 4097 / 2 * tokens;
  const double expert = 2 * tokens * 2 * 7168 * 2048, ffn = 2 * tokens * 2 * 7168 * 18432;
  struct Case {
    Module module;
    double dense, experts;  // extra FLOPs of a dense and of an expert layer
  };
  const double up = 2 * tokens * (37'748'736.0 + 16'777'216);
  for (const Case& c :
       {Case{Module::norm, 0, 0}, Case{Module::swiglu, 0, 0}, Case{Module::mla_up, up, up},
        Case{Module::attention, core, core}, Case{Module::ffn, ffn, 0}, Case{Module::experts, 0, 9 * expert}}) {
    ParallelPlan plan = one_gpu(4096);
    const BlockList kept = make_blocks(model, plan);
    plan.recompute.modules = {c.module};
    const BlockList blocks = make_blocks(model, plan);
    const auto extra = [&](int layer) {
      return flops_of(blocks.block(layer).backward).flops - flops_of(kept.block(layer).backward).flops;
    };
    EXPECT_NEAR(extra(1), c.dense, 1e-12 * ffn) << static_cast<int>(c.module);
    EXPECT_NEAR(extra(10), c.experts, 1e-12 * ffn) << static_cast<int>(c.module);
    EXPECT_EQ(extra(0), 0);
    EXPECT_EQ(extra(62), 0);
  }
}

// The shared expert stands between the dispatch and what waits for it; weight gradients behind the backward's return.
TEST(Order, SharedExpertCoversTheDispatch) {
  ParallelPlan plan = one_gpu(4096);
  plan.parallel.expert = 64;
  const Block block = make_blocks(deepseek_v3(), plan).block(10);
  const int dispatch = find(block.forward, "dispatch"), permute = find(block.forward, "permute");
  EXPECT_LT(dispatch, find(block.forward, "shared gate_up"));
  EXPECT_LT(find(block.forward, "shared down"), permute);
  EXPECT_EQ(block.forward[permute].needs, std::vector<int>{dispatch});
  for (int i = dispatch + 1; i < permute; ++i) EXPECT_TRUE(block.forward[i].needs.empty());

  const int arrives = find(block.backward, "combine gradient"), starts = find(block.backward, "permute");
  EXPECT_LT(arrives, find(block.backward, "shared down"));
  EXPECT_LT(find(block.backward, "shared gate_up", Phase::weight_gradient), starts);
  EXPECT_EQ(block.backward[starts].needs, std::vector<int>{arrives});
  const int back = find(block.backward, "dispatch gradient");
  EXPECT_LT(back, find(block.backward, "expert down", Phase::weight_gradient));
  const int select = find(block.backward, "top_k");
  EXPECT_EQ(block.backward[select].needs, std::vector<int>{back});
  EXPECT_LT(find(block.backward, "expert gate_up", Phase::weight_gradient), select);
}

TEST(Order, TensorReductionRunsBesideTheWeightGradient) {
  ParallelPlan plan = one_gpu(4096);
  plan.parallel.tensor = 8;
  const Block block = make_blocks(llama_405b(), plan).block(1);
  const int dgrad = find(block.backward, "qkv", Phase::input_gradient);
  EXPECT_EQ(name_of(block.backward[dgrad + 1]), "attention input gradient");
  EXPECT_EQ(block.backward[dgrad + 2].phase, Phase::weight_gradient);
  EXPECT_TRUE(block.backward[dgrad + 2].needs.empty());
  EXPECT_EQ(block.backward[dgrad + 3].needs, std::vector<int>{dgrad + 1});
}

TEST(Kernels, ShapesAndTraffic) {
  ParallelPlan plan = one_gpu(4096, 2);
  plan.parallel.tensor = 8;
  const Block block = make_blocks(llama_405b(), plan).block(1);
  const Kernel down = std::get<Kernel>(block.forward[find(block.forward, "down")].what);
  EXPECT_EQ(down.m, 8192);
  EXPECT_EQ(down.n, 16384);
  EXPECT_EQ(down.k, 53248 / 8);
  EXPECT_EQ(down.bytes.value, 2.0 * (8192.0 * 6656 + 6656.0 * 16384 + 8192.0 * 16384));
  const int at = find(block.backward, "down", Phase::weight_gradient);
  const Kernel gradient = std::get<Kernel>(block.backward[at].what);
  EXPECT_EQ(gradient.flops, down.flops);
  EXPECT_EQ(gradient.bytes.value, 2.0 * 8192 * (6656 + 16384) + 2 * 4 * 6656.0 * 16384);  // FP32 main gradient
}

// Quantising reads BF16 and writes a byte an element and four a 128: once forward, twice for the gradients.
TEST(Kernels, QuantisingOnlyWithFp8) {
  ParallelPlan plan = one_gpu(4096);
  EXPECT_EQ(find(make_blocks(deepseek_v3(), plan).block(1).forward, "quantise"), -1);
  plan.precision.linear = Precision::fp8;
  const Block block = make_blocks(deepseek_v3(), plan).block(1);
  const auto first = [](const std::vector<Item>& items) {
    return std::get<Kernel>(items[find(items, "quantise")].what).bytes.value;
  };
  EXPECT_EQ(first(block.forward), 4096.0 * (2 * 7168 + 7392));
  EXPECT_EQ(first(block.backward), 4096.0 * (2 * 7168 + 2 * 7392));
  const Kernel core = std::get<Kernel>(block.forward[find(block.forward, "core attention")].what);
  EXPECT_EQ(core.precision, Precision::bf16);
  EXPECT_EQ(std::get<Kernel>(block.forward[find(block.forward, "o")].what).precision, Precision::fp8);
}

TEST(Kernels, GroupedGemmsOverLocalExperts) {
  ParallelPlan plan = one_gpu(4096);
  plan.parallel.expert = 64;
  plan.parallel.expert_tensor = 2;
  const Block block = make_blocks(deepseek_v3(), plan).block(10);
  const Kernel up = std::get<Kernel>(block.forward[find(block.forward, "expert gate_up")].what);
  EXPECT_EQ(up.kind, KernelClass::grouped_gemm);
  EXPECT_EQ(up.groups, 4);        // 256 experts over 64 ranks
  EXPECT_EQ(up.m, 4096 * 8 * 2);  // balanced, rows of both expert-tensor ranks
  EXPECT_EQ(up.n, 2 * 2048 / 2);
  EXPECT_EQ(up.bytes.value, 2.0 * (up.m * 7168 + 4 * 7168.0 * 2048 + up.m * 2048));
}

TEST(Kernels, OptimizerTraffic) {
  Precisions classic;  // BF16 weights and gradients, FP32 master and moments
  classic.gradients = Precision::bf16;
  EXPECT_EQ(optimizer_kernel(1e6, classic).bytes.value, 1e6 * (2 + 4 * 4 + 2 * 4 + 2));
  Precisions bare = classic;
  bare.master = Precision::none;
  EXPECT_EQ(optimizer_kernel(1e6, bare).bytes.value, 1e6 * (2 + 4 * 4 + 2 * 2));
}

}  // namespace stepsim::layer_order_test
