// What the plan's choice of kernels does to a layer: unfused attention, unfused elementwise kernels, dropout, and which
// parameters' gradients are partial on a tensor rank. GPT-3's layer, 2 sequences of 2048 tokens, BF16.
#include <gtest/gtest.h>

#include "support/block_sums.hpp"
#include "support/sample_models.hpp"

namespace stepsim::layer_kernels_test {
using namespace samples;

constexpr double kLength = 2048, kTokens = 2 * kLength, kHidden = 12288, kHeads = 96;
constexpr double kScores = kHeads * kLength * kTokens;

ParallelPlan unfused_attention() {
  ParallelPlan plan = one_gpu(2048, 2);
  plan.kernels.attention = Kernels::Attention::unfused;
  return plan;
}

Block layer(const ParallelPlan& plan) {
  return make_blocks(gpt3(), plan).block(1);
}

double bytes_of(const std::vector<Item>& items, std::string_view name) {
  double sum = 0;
  for (const Item& item : items) {
    if (name_of(item) == name) sum += std::get<Kernel>(item.what).bytes.value;
  }
  return sum;
}

int count_of(const std::vector<Item>& items, std::string_view name) {
  return static_cast<int>(
      std::count_if(items.begin(), items.end(), [&](const Item& item) { return name_of(item) == name; }));
}

// All scores are computed, two products forward and four backward; half of them (and the diagonal) count for the model.
TEST(UnfusedAttention, FlopsAndBytesOfScores) {
  const Block flash = layer(one_gpu(2048, 2)), block = layer(unfused_attention());
  const double one = 2 * kTokens * kLength * kHidden, seen = (kLength + 1) / 2 / kLength;
  const Sum f = flops_of(block.forward), b = flops_of(block.backward);
  EXPECT_DOUBLE_EQ(f.flops - flops_of(flash.forward).flops, 2 * one * (1 - seen));
  EXPECT_DOUBLE_EQ(f.model_flops, flops_of(flash.forward).model_flops);
  // Flash attention's backward: five products of what is seen.
  EXPECT_DOUBLE_EQ(b.flops - flops_of(flash.backward).flops, one * (4 - 5 * seen));
  EXPECT_DOUBLE_EQ(b.model_flops, flops_of(flash.backward).model_flops);
  const double operand = kTokens * kHidden * 2;
  EXPECT_DOUBLE_EQ(bytes_of(block.forward, "scores"), 2 * operand + 2 * kScores);
  EXPECT_DOUBLE_EQ(bytes_of(block.forward, "softmax"), 3 * kScores);
  EXPECT_DOUBLE_EQ(bytes_of(block.backward, "softmax"), 6 * kScores);
  EXPECT_EQ(find(block.forward, "core attention"), -1);
  EXPECT_EQ(find(block.forward, "attention dropout"), -1);
}

// NCCL's all-to-all sends from where rows stand by destination: a copy of each of 4096 tokens for its 8 experts is written
// before it, and its results are read and summed after it, 7168 elements wide; DeepEP's kernels do both as they move.
TEST(Experts, RowsArePackedForNccl) {
  ParallelPlan plan = one_gpu(4096, 1);
  plan.parallel.expert = 8;
  plan.precision.dispatch = Precision::fp8;
  const auto packed = [&](const std::string& algorithm) {
    plan.collectives.all_to_all = algorithm;
    const Block block = make_blocks(deepseek_v3(), plan).block(4);
    return std::vector<double>{bytes_of(block.forward, "pack"), bytes_of(block.forward, "sum of experts"),
                               bytes_of(block.backward, "pack"), bytes_of(block.backward, "sum of experts")};
  };
  const double rows = 9 * 4096.0, fp8 = 7168 + 56 * 4, bf16 = 7168 * 2;  // a scale for each 128 elements
  const std::vector<double> nccl{rows * fp8, rows * bf16, rows * fp8, rows * bf16};
  EXPECT_EQ(packed("pairwise"), nccl);
  EXPECT_EQ(packed("rail_aligned"), nccl);
  EXPECT_EQ(packed("node_limited"), std::vector<double>(4, 0));
  EXPECT_EQ(packed("auto"), std::vector<double>(4, 0));
  plan.parallel.expert = 1;
  EXPECT_EQ(packed("pairwise"), std::vector<double>(4, 0));
}

// Korthikanti et al., "Reducing Activation Recomputation in Large Transformer Models", equation 2: a layer with dropout
// and unfused attention keeps s b h (34 + 5 a s / h) bytes; equation 4 with tensor and sequence parallelism: / t.
TEST(UnfusedAttention, ActivationsOfThePaper) {
  ParallelPlan plan = unfused_attention();
  plan.kernels.dropout = true;
  const double paper = kTokens * kHidden * (34 + 5 * kHeads * kLength / kHidden);
  EXPECT_DOUBLE_EQ(layer(plan).activations.kept.value, paper);
  plan.parallel.tensor = 8;
  plan.parallel.sequence = true;
  EXPECT_DOUBLE_EQ(layer(plan).activations.kept.value, paper / 8);
  // Selective recomputation of the core (section 5): 34 s b h / t.
  plan.recompute.modules = {Module::attention};
  EXPECT_DOUBLE_EQ(layer(plan).activations.kept.value, kTokens * (34 - 2) * kHidden / 8);
}

TEST(UnfusedAttention, RecomputeOfTheCoreRepeatsItsKernels) {
  ParallelPlan plan = unfused_attention();
  plan.recompute.modules = {Module::attention};
  const Block block = layer(plan);
  for (const std::string_view name : {"scores", "softmax", "weighted values"}) {
    EXPECT_NE(find(block.backward, name, Phase::recompute), -1) << name;
  }
}

TEST(Elementwise, UnfusedKernelsMoveMoreBytesInMorePieces) {
  ParallelPlan plan = one_gpu(2048, 2);
  const Block fused = layer(plan);
  plan.kernels.fused = false;
  const Block unfused = layer(plan);
  const double elements = kTokens * kHidden;
  EXPECT_EQ(count_of(fused.forward, "attention norm"), 1);
  EXPECT_DOUBLE_EQ(bytes_of(fused.forward, "attention norm"), elements * 4);
  // Read 2, write 4; 4 and 4; 4; 4 and 4; 4 and 2; 2 and 2 bytes an element.
  EXPECT_EQ(count_of(unfused.forward, "attention norm"), 6);
  EXPECT_DOUBLE_EQ(bytes_of(unfused.forward, "attention norm"), elements * (6 + 8 + 4 + 8 + 6 + 4));
  EXPECT_EQ(count_of(unfused.backward, "attention norm"), 8);
  EXPECT_DOUBLE_EQ(bytes_of(unfused.forward, "gelu"), 2 * bytes_of(fused.forward, "gelu"));
  EXPECT_EQ(flops_of(unfused.forward).flops, flops_of(fused.forward).flops);
  // Gradients of the four weights, BF16, are written by the GEMM and added to FP32 ones: 2 + 4 + 4 bytes instead of 8.
  EXPECT_EQ(count_of(unfused.backward, "accumulate"), 4);
  EXPECT_DOUBLE_EQ(bytes_of(unfused.backward, "accumulate"), 12 * kHidden * kHidden * 10);
}

TEST(Dropout, MasksAreWrittenKeptAndRead) {
  ParallelPlan plan = one_gpu(2048, 2);
  const Block without = layer(plan);
  plan.kernels.dropout = true;
  const Block with = layer(plan);
  const double mask = kTokens * kHidden;
  EXPECT_DOUBLE_EQ(bytes_of(with.forward, "residual") - bytes_of(without.forward, "residual"), 2 * mask);
  EXPECT_DOUBLE_EQ(bytes_of(with.backward, "dropout"), 2 * 5 * mask);
  EXPECT_DOUBLE_EQ((with.activations.kept - without.activations.kept).value, 2 * mask);
}

// Norms under sequence parallelism see only a rank's rows; MLA's down projections too; the router always.
TEST(PartialGradients, OfWhatEveryTensorRankHolds) {
  ParallelPlan plan = one_gpu(4096);
  EXPECT_EQ(make_blocks(deepseek_v3(), plan).block(10).parameters.partial, 0);
  plan.parallel.tensor = 8;
  const double router = 256 * 7168;
  EXPECT_EQ(make_blocks(deepseek_v3(), plan).block(10).parameters.partial, router);
  EXPECT_EQ(make_blocks(deepseek_v3(), plan).block(1).parameters.partial, 0);
  plan.parallel.sequence = true;
  const double dense = 2 * 7168 + 1536 + 512 + 7168 * 1536 + 7168 * 576;
  EXPECT_EQ(make_blocks(deepseek_v3(), plan).block(1).parameters.partial, dense);
  EXPECT_EQ(make_blocks(deepseek_v3(), plan).block(10).parameters.partial, dense + router);
  EXPECT_EQ(make_blocks(deepseek_v3(), plan).block(62).parameters.partial, 7168);
}

}  // namespace stepsim::layer_kernels_test
