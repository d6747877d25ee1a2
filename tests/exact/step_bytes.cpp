// Bytes of a step by dimension, summed over the events of all ranks, against closed forms.
#include <gtest/gtest.h>

#include <fmt/format.h>

#include <map>
#include <tuple>

#include "support/sanitized.hpp"
#include "support/shipped.hpp"
#include "workloads/step.hpp"

namespace stepsim::step_bytes_test {
// DeepSeek-V3: parameters (published shapes, multiplied out by hand).
constexpr double kTotal = 671'026'419'200, kExpert = 44'040'192, kRouted = 58 * 256 * kExpert,
                 kDense = kTotal - kRouted;
constexpr double kTokens = 15360.0 * 4096;
constexpr double kFp8Copy = 7168 + 56 * 4, kBf16Copy = 7168 * 2;

// The gradients' norm: one FP32 number of each of 2048 ranks.
constexpr double kNorm = 2048 * 4;

// Payloads by dimension and operation over all ranks of the cluster.
std::map<std::string, double> payloads(const std::string& experiment, std::vector<std::string> overrides = {}) {
  const Inputs in = testing::shipped(experiment, std::move(overrides));
  const Step step = make_step(in.model, in.cluster, in.plan, Detail::aggregate);
  // Of each program first: its calls are the same on every rank that runs it.
  std::vector<std::map<std::tuple<Dimension, std::int16_t, std::int16_t>, double>> of_program;
  for (const Program& program : step.graph.programs) {
    auto& sums = of_program.emplace_back();
    for (const OpView op : program.ops) {
      if (op.kind == OpKind::transfer) sums[{op.tags.dimension, op.slot, op.pattern}] += op.payload_bytes;
    }
  }
  std::map<std::string, double> sums;
  for (const Rank& rank : step.graph.ranks) {
    for (const auto& [call, bytes] : of_program[rank.program]) {
      const auto& [dimension, slot, pattern] = call;
      const Group& group = step.graph.groups[rank.slots[slot]];
      sums[std::string(to_text(dimension)) + " " + group.patterns[pattern].operation] += bytes;
    }
  }
  return sums;
}

void expect_close(const std::map<std::string, double>& found, const std::map<std::string, double>& expected) {
  for (const auto& [what, bytes] : expected) {
    ASSERT_TRUE(found.contains(what)) << what;
    EXPECT_NEAR(found.at(what), bytes, 1e-12 * bytes) << what;
  }
  for (const auto& [what, bytes] : found)
    EXPECT_TRUE(expected.contains(what)) << what << " was not expected: " << bytes;
}

// Every token passes 58 expert layers: dispatch and its gradient's combine in FP8 with scales, the others in BF16. It
// crosses 15 stage boundaries there and back, counted at both ends. Each of the two copies of a stage reduces its
// gradients (FP32) on every data-parallel rank; experts are spread over 64 of them.
std::map<std::string, double> pipelined_experts(double copies) {
  return {{"expert all_to_all", 58 * kTokens * 2 * (kFp8Copy + kBf16Copy)},
          {"pipeline point_to_point", 2 * 2 * 15 * kTokens * 7168 * 2},
          {"reduce reduce_scatter", 4 * copies * 128 * (kDense + kRouted / 64)},
          {"gather all_gather", 1 * copies * 128 * (kDense + kRouted / 64)},
          {"reduce all_reduce", kNorm}};
}

TEST(StepBytes, DualPipe) {
  expect_close(payloads("deepseek-v3-dualpipe"), pipelined_experts(2));
}
TEST(StepBytes, OneForwardOneBackward) {
  expect_close(payloads("deepseek-v3-1f1b"), pipelined_experts(1));
}

// 2048 nodes: eight times the tokens and the data-parallel ranks, else the same.
TEST(StepBytes, DualPipeOn2048Nodes) {
  if (testing::kSanitized) GTEST_SKIP() << "16,384 ranks: optimised only";
  std::map<std::string, double> expected;
  for (const auto& [what, bytes] : pipelined_experts(2)) expected[what] = 8 * bytes;
  expect_close(payloads("deepseek-v3-2048-nodes"), expected);
}

// Tensor parallelism of 8 with sequence parallelism, as Megatron runs latent attention: the down projections and their
// latents (1536; 512 + 64) are whole on every rank, so only latents are gathered around attention, and again for the
// recomputed up projections and for the weight gradients; the FFN (dense or shared expert) gathers its input, forward
// and again for its weight gradient. Experts cut into 8 gather rows (FP8, again for the gradient) and scatter sums
// (BF16). A rank's payload is its group's whole microbatch, so all 8 count each token.
TEST(StepBytes, TensorAndPipeline) {
  const double row = kTokens * 7168 * 2, q = 1536.0 / 7168, c = 576.0 / 7168, kv = 512.0 / 7168;
  const double forward = q + c + 1, backward = 3 + (q + c) + (q + kv);
  const double replicated = 61 * (11'010'048.0 + 4'128'768 + 2 * 7168 + 1536 + 512) + 58 * (1'835'008.0 + 256) + 7168;
  const double held = (kDense - replicated) / 8 + replicated + kRouted / 8;
  expect_close(payloads("deepseek-v3-tp8-pp16"),
               {{"tensor all_gather", 8 * row * (61 * (forward + backward) + 1 + 2)},  // + embedding, head
                {"tensor reduce_scatter", 8 * row * (61 * (3 + q + c) + 1 + 1)},
                // The loss, FP32; gradients of what all tensor ranks hold (router biases have none), FP32.
                {"tensor all_reduce", 8 * kTokens * 3 * 4 + 128 * 4 * (replicated - 58 * 256)},
                {"reduce all_reduce", kNorm},
                {"expert all_gather", 8 * kTokens * 58 * 2 * kFp8Copy},
                {"expert reduce_scatter", 8 * kTokens * 58 * 2 * kBf16Copy},
                {"pipeline point_to_point", 2 * 2 * 15 * row},
                {"reduce reduce_scatter", 4 * 16 * 8 * held},
                {"gather all_gather", 1 * 16 * 8 * held}});
}

// ZeRO-3 gathers every parameter twice a micro-step on each of 2048 ranks, and scatters its gradient once, in BF16.
TEST(StepBytes, Zero3) {
  const std::map<std::string, double> one = {{"gather all_gather", 2048 * 2 * kTotal * 2},
                                             {"reduce reduce_scatter", 2048 * kTotal * 2},
                                             {"reduce all_reduce", kNorm}};
  expect_close(payloads("deepseek-v3-zero3-flat"), one);
  expect_close(payloads("deepseek-v3-zero3-hierarchical"), one);
  std::map<std::string, double> eight;
  for (const auto& [what, bytes] : one) eight[what] = (what == "reduce all_reduce" ? 1 : 8) * bytes;
  expect_close(payloads("deepseek-v3-zero3-accumulate"), eight);
}

// With experts spread over 64 ranks a rank gathers 1/64 of them; full recompute repeats the forward's all-to-alls.
TEST(StepBytes, Zero3WithExperts) {
  const Inputs in = testing::shipped("deepseek-v3-zero3-ep64");
  const double tokens = static_cast<double>(in.plan.batch.global_sequences) * 4096;
  const double steps = static_cast<double>(in.plan.batch.global_sequences) / 2048 / in.plan.batch.microbatch_sequences;
  const double there = activation_row_bytes(7168, in.plan.precision.dispatch);
  const double back = activation_row_bytes(7168, in.plan.precision.combine);
  expect_close(payloads("deepseek-v3-zero3-ep64"),
               {{"gather all_gather", steps * 2048 * 2 * 2 * (kDense + kRouted / 64)},
                {"reduce reduce_scatter", steps * 2048 * 2 * (kDense + kRouted / 64)},
                {"reduce all_reduce", kNorm},
                {"expert all_to_all", 58 * tokens * (in.plan.recompute.full ? 3 : 2) * (there + back)}});
}

// Resharding after the forward pass or not: one gather less.
TEST(StepBytes, WithoutResharding) {
  expect_close(payloads("deepseek-v3-zero3-flat", {"plan.parallel.reshard_after_forward=false"}),
               {{"gather all_gather", 2048 * kTotal * 2},
                {"reduce reduce_scatter", 2048 * kTotal * 2},
                {"reduce all_reduce", kNorm}});
}

// Hybrid sharding within 64 ranks: scatter there, then all-reduce the 1/64 across the 32 groups.
TEST(StepBytes, HybridSharding) {
  expect_close(payloads("deepseek-v3-zero3-flat", {"plan.parallel.zero_group=64"}),
               {{"gather all_gather", 2048 * 2 * kTotal * 2},
                {"reduce reduce_scatter", 2048 * kTotal * 2},
                {"reduce all_reduce", 2048 * kTotal / 64 * 2 + kNorm}});
}

// ZeRO-3 in a pipeline of 16: each stage gathers its parameters for each of the 120 microbatches, forward and backward,
// in FP8; or, without resharding, once. Gradients (FP32) are scattered once a step.
TEST(StepBytes, Zero3InAPipeline) {
  for (const bool reshard : {true, false}) {
    auto expected = pipelined_experts(1);
    expected["gather all_gather"] = (reshard ? 2 * 120 : 1) * 128 * (kDense + kRouted / 64);
    expect_close(payloads("deepseek-v3-1f1b",
                          {"plan.parallel.zero=3", fmt::format("plan.parallel.reshard_after_forward={}", reshard)}),
                 expected);
  }
}

// A plain data-parallel step (ZeRO-0) all-reduces gradients and gathers nothing; each rank has the whole norm.
TEST(StepBytes, PlainDataParallel) {
  expect_close(payloads("deepseek-v3-zero3-flat", {"plan.parallel.zero=0"}),
               {{"reduce all_reduce", 2048 * kTotal * 2}});
}

// Without clipping there is no norm.
TEST(StepBytes, WithoutClipping) {
  expect_close(payloads("deepseek-v3-zero3-flat", {"plan.clip_gradients=false"}),
               {{"gather all_gather", 2048 * 2 * kTotal * 2}, {"reduce reduce_scatter", 2048 * kTotal * 2}});
}

// A tied matrix (129280 x 7168) at both ends of 16 stages: its FP32 gradients are summed between the 128 ranks of the
// first and the 128 of the last, where each end holds a copy. DualPipe's and V-shaped pipelines hold both ends on one rank:
// one matrix less to reduce and gather.
TEST(StepBytes, TiedEmbeddings) {
  auto expected = pipelined_experts(1);
  expected["reduce all_reduce"] += 2 * 128 * 129280.0 * 7168 * 4;
  expect_close(payloads("deepseek-v3-1f1b", {"model.tied_embeddings=true"}), expected);
  auto bent = pipelined_experts(2);  // FP8 gathered, FP32 reduced
  bent["gather all_gather"] -= 2 * 128 * 129280.0 * 7168 * 1;
  bent["reduce reduce_scatter"] -= 2 * 128 * 129280.0 * 7168 * 4;
  expect_close(payloads("deepseek-v3-dualpipe", {"model.tied_embeddings=true"}), bent);
}

}  // namespace stepsim::step_bytes_test
