// Memory against counts by hand.
#include "workloads/memory.hpp"

#include <gtest/gtest.h>

#include "support/block_sums.hpp"
#include "support/sample_models.hpp"

namespace stepsim::memory_test {
using namespace samples;

// --- activations of a layer ---
//
// A GPT layer in 16 bits, elements a token, in units of the hidden size h (Korthikanti et al., "Reducing activation
// recomputation", section 4.1, without dropout masks and with a flash kernel instead of scores):
//   attention norm's input 1, QKV's input 1, Q K V 3, output projection's input 1,
//   FFN norm's input 1, up-projection's input 1, GELU's input 4, down-projection's input 4: together 16, 32 bytes;
//   and 4 bytes a token and head, the log-sum-exp.
constexpr double kTokens = 2.0 * 2048;
constexpr double kHidden = 12288, kHeads = 96;

TEST(Activations, GptLayer) {
  const ActivationBytes a = make_blocks(gpt3(), one_gpu(2048, 2)).block(1).activations;
  EXPECT_EQ(a.kept.value, kTokens * (32 * kHidden + 4 * kHeads));
  // Inputs of the four linears 1 + 1 + 1 + 4, gradients of their outputs 3 + 1 + 4 + 1.
  EXPECT_EQ(a.weight_grad_kept.value, kTokens * 2 * (7 + 9) * kHidden);
  EXPECT_EQ(a.transient.value, kTokens * 2 * 4 * kHidden);  // the widest gradient: that of GELU's input
}

double part(const ActivationBytes& a, ActivationPart which) {
  return a.kept_by[static_cast<std::size_t>(which)].value;
}

TEST(Activations, GptLayerByPart) {
  const ActivationBytes a = make_blocks(gpt3(), one_gpu(2048, 2)).block(1).activations;
  EXPECT_EQ(part(a, ActivationPart::norm), kTokens * 8 * kHidden);                      // inputs and outputs of two
  EXPECT_EQ(part(a, ActivationPart::attention), kTokens * (8 * kHidden + 4 * kHeads));  // Q K V, output's input
  EXPECT_EQ(part(a, ActivationPart::ffn), kTokens * 16 * kHidden);
  EXPECT_EQ(part(a, ActivationPart::experts) + part(a, ActivationPart::head), 0);
}

TEST(Activations, PartsSumToAllUnderEveryPolicy) {
  for (const Module module :
       {Module::norm, Module::attention, Module::mla_up, Module::swiglu, Module::ffn, Module::experts}) {
    ParallelPlan plan = one_gpu(4096);
    plan.parallel.expert = 64;
    plan.recompute.modules = {module};
    const BlockList blocks = make_blocks(deepseek_v3(), plan);
    for (const Block& block : blocks.kinds) {
      double sum = 0;
      for (const Bytes bytes : block.activations.kept_by) sum += bytes.value;
      EXPECT_EQ(sum, block.activations.kept.value);
    }
    EXPECT_GT(part(blocks.block(10).activations, ActivationPart::experts), 0);
    EXPECT_EQ(part(blocks.block(62).activations, ActivationPart::head), blocks.block(62).activations.kept.value);
  }
}

TEST(Activations, GptLayerUnderTensorParallelism) {
  ParallelPlan plan = one_gpu(2048, 2);
  plan.parallel.tensor = 8;
  // Without sequence parallelism the norms' inputs and outputs stand whole on every rank.
  EXPECT_EQ(make_blocks(gpt3(), plan).block(1).activations.kept.value,
            kTokens * (8 * kHidden + (24 * kHidden + 4 * kHeads) / 8));
  plan.parallel.sequence = true;
  EXPECT_EQ(make_blocks(gpt3(), plan).block(1).activations.kept.value, kTokens * (32 * kHidden + 4 * kHeads) / 8);
  plan.parallel.context = 2;
  EXPECT_EQ(make_blocks(gpt3(), plan).block(1).activations.kept.value, kTokens * (32 * kHidden + 4 * kHeads) / 16);
}

TEST(Activations, GptLayerWithRecompute) {
  ParallelPlan plan = one_gpu(2048, 2);
  plan.recompute.full = true;
  const ActivationBytes full = make_blocks(gpt3(), plan).block(1).activations;
  EXPECT_EQ(full.kept.value, kTokens * 2 * kHidden);
  EXPECT_EQ(full.transient.value, kTokens * (30 * kHidden + 4 * kHeads) + kTokens * 8 * kHidden);
  const auto kept_with = [&](Module module) {
    plan.recompute = {.full = false, .modules = {module}};
    return make_blocks(gpt3(), plan).block(1).activations.kept.value;
  };
  EXPECT_EQ(kept_with(Module::norm), kTokens * (28 * kHidden + 4 * kHeads));
  EXPECT_EQ(kept_with(Module::swiglu), kTokens * (24 * kHidden + 4 * kHeads));
  EXPECT_EQ(kept_with(Module::ffn), kTokens * (16 * kHidden + 4 * kHeads));
  EXPECT_EQ(kept_with(Module::attention), kTokens * 30 * kHidden);
}

// DeepSeek-V3's own policy: norms, up-projections and SwiGLU recomputed, linears' inputs kept in FP8 (a row of n
// elements takes n + 4 n / 128 bytes), latents and the attention output in BF16.
TEST(Activations, DeepSeekV3ExpertLayer) {
  ParallelPlan plan = one_gpu(4096);
  plan.parallel.expert = 64;
  plan.precision.linear = plan.precision.activations = Precision::fp8;
  plan.recompute.modules = {Module::norm, Module::mla_up, Module::swiglu};
  const double attention = 2 * 7168 + 2 * (1536 + 512 + 64) + 2 * 128 * 128 + 4 * 128;
  const double arrived = 8 * 7392, gate_up = 4096 + 4 * 32;
  const double experts = 2 * 7168 + 4 * 256 + 8 * 8 + arrived + 8 * gate_up + gate_up;
  EXPECT_EQ(make_blocks(deepseek_v3(), plan).block(10).activations.kept.value, 4096 * (attention + experts));
}

TEST(Activations, HeadHoldsLogitsWhileItRuns) {
  ParallelPlan plan = one_gpu(4096);
  plan.parallel.tensor = 4;
  plan.recompute.full = true;  // leaves the head alone
  const ActivationBytes a = make_blocks(llama_405b(), plan).block(127).activations;
  EXPECT_EQ(a.kept.value, 4096.0 * 2 * 2 * 16384);
  const double logits = 4096.0 * 128256 / 4;
  EXPECT_EQ(a.transient.value, logits * (2 + 4) + logits * 2);  // BF16 logits, FP32 softmax, their gradient
  EXPECT_EQ(a.logits.value, logits * (2 + 4));
  // PyTorch's own loss: the log-softmax beside its FP32 input or gradient. Megatron-LM's works in place.
  const auto held = [&](bool fused, Kernels::Loss loss) {
    plan.kernels.fused = fused;
    plan.kernels.loss = loss;
    return make_blocks(llama_405b(), plan).block(127).activations.logits.value;
  };
  EXPECT_EQ(held(false, Kernels::Loss::fused), logits * (2 + 4 + 4));
  EXPECT_EQ(held(false, Kernels::Loss::separate), logits * (2 + 4));
  EXPECT_EQ(held(true, Kernels::Loss::separate), logits * (2 + 4));
}

// --- states and peaks ---

// Blocks with round numbers; schedules written out.
BlockList simple_blocks(int count, double kept, double weight_grad_kept, double transient) {
  Block block;
  block.activations = {Bytes(kept), Bytes(weight_grad_kept), Bytes(transient)};
  block.parameters = {.dense = 1000, .expert = 500};
  return {.kinds = {block}, .kind_of = std::vector<int>(count, 0)};
}

Schedule schedule_of(std::vector<std::vector<int>> placement, std::vector<std::vector<Pass>> order, int stages) {
  Schedule schedule;
  schedule.stages = stages;
  schedule.placement = std::move(placement);
  schedule.order = std::move(order);
  return schedule;
}

constexpr Pass forward(int m, int chunk = 0, bool paired = false) {
  return {PassKind::forward, m, chunk, paired};
}
constexpr Pass backward(int m, int chunk = 0) {
  return {PassKind::backward, m, chunk, false};
}

MemoryUse one_rank(const ParallelPlan& plan, std::vector<Pass> order, ShardDegrees shards = {}, int blocks = 1) {
  std::vector<int> all(blocks);
  for (int i = 0; i < blocks; ++i) all[i] = i;
  const Schedule schedule = schedule_of({{0}}, {std::move(order)}, 1);
  return memory_of(plan, schedule, simple_blocks(blocks, 100, 30, 7), {all}, shards, gpt3())[0];
}

double states(const MemoryUse& use) {
  return (use.weights + use.gradients + use.master + use.moments).value;
}

TEST(States, BytesPerParameter) {
  ParallelPlan plan = one_gpu(2048);
  plan.parallel.zero = 0;
  plan.precision.gradients = Precision::bf16;
  EXPECT_EQ(states(one_rank(plan, {})), 1500 * 16);  // 2 + 2 + 4 + 8
  plan.precision.gradients = Precision::fp32;
  EXPECT_EQ(states(one_rank(plan, {})), 1500 * 18);
  plan.precision.weights = Precision::fp8;
  plan.precision.moments = Precision::bf16;
  EXPECT_EQ(states(one_rank(plan, {})), 1500 * 13);  // DeepSeek-V3: 1 + 4 + 4 + 2 + 2
  plan.precision.master = Precision::none;
  EXPECT_EQ(states(one_rank(plan, {})), 1500 * 9);
}

TEST(States, ZeroStagesShardMoreAndMore) {
  ParallelPlan plan = one_gpu(2048);
  const ShardDegrees shards{.dense = 10, .expert = 5};  // 1000 and 500 become 100 each
  const double whole = 1500, cut = 200;
  const auto use = [&](int zero) {
    plan.parallel.zero = zero;
    return one_rank(plan, {}, shards);
  };
  EXPECT_EQ(states(use(0)), whole * (2 + 4 + 4 + 8));
  EXPECT_EQ(states(use(1)), whole * (2 + 4) + cut * (4 + 8));
  EXPECT_EQ(states(use(2)), whole * 2 + cut * (4 + 4 + 8));
  EXPECT_EQ(states(use(3)), cut * (2 + 4 + 4 + 8));
  EXPECT_EQ(use(1).unsharded.value, 0);
  EXPECT_EQ(use(2).unsharded.value, whole * 4);              // one block's gradients
  EXPECT_EQ(use(3).unsharded.value, whole * 4 + whole * 2);  // and its parameters, as gathered
}

TEST(States, GatheredBlocksInFlight) {
  ParallelPlan plan = one_gpu(2048);
  plan.parallel.zero = 3;
  plan.precision.gather = Precision::fp8;
  const auto gathered = [&](int prefetch, bool reshard) {
    plan.overlap.gather_prefetch = prefetch;
    plan.parallel.reshard_after_forward = reshard;
    return one_rank(plan, {}, {.dense = 4, .expert = 1}, 5).unsharded.value - 1000 * 4;  // experts are not sharded
  };
  EXPECT_EQ(gathered(0, true), 1000);
  EXPECT_EQ(gathered(2, true), 3000);
  EXPECT_EQ(gathered(9, true), 5000);
  EXPECT_EQ(gathered(0, false), 5000);
}

TEST(Peak, OneForwardOneBackwardHoldsItsWarmUp) {
  const ParallelPlan plan = one_gpu(2048);
  const MemoryUse use = one_rank(
      plan, {forward(0), forward(1), forward(2), backward(0), forward(3), backward(1), backward(2), backward(3)});
  EXPECT_EQ(use.activations.value, 300);
  EXPECT_EQ(use.transient.value, 7);
}

TEST(Peak, SplitBackwardHoldsInputsAndGradientsUntilW) {
  const ParallelPlan plan = one_gpu(2048);
  const auto input = [](int m) { return Pass{PassKind::input_gradient, m, 0, false}; };
  const auto weight = [](int m) { return Pass{PassKind::weight_gradient, m, 0, false}; };
  const MemoryUse late = one_rank(
      plan, {forward(0), input(0), forward(1), input(1), forward(2), input(2), weight(0), weight(1), weight(2)});
  EXPECT_EQ(late.activations.value, 30 + 30 + 100);
  EXPECT_EQ(late.activations_by.back().value, 30 + 30);  // wait for their weight gradients
  const MemoryUse early = one_rank(plan, {forward(0), input(0), weight(0), forward(1), input(1), weight(1)});
  EXPECT_EQ(early.activations.value, 100);
}

TEST(Peak, APairHoldsBothAndBothTransients) {
  ParallelPlan plan = one_gpu(2048);
  plan.overlap.expert = Overlap::Policy::paired;
  const std::vector<Pass> order{forward(0), forward(1, 0, true), backward(0), backward(1)};
  const MemoryUse use = one_rank(plan, order);
  EXPECT_EQ(use.activations.value, 200);
  EXPECT_EQ(use.transient.value, 14);
  plan.overlap.expert = Overlap::Policy::blocking;  // one after the other
  EXPECT_EQ(one_rank(plan, order).transient.value, 7);
}

// Two chunks a rank (as DualPipe's two directions): parameters of both; only a stage's own blocks are kept.
TEST(Peak, RankWithTwoChunks) {
  ParallelPlan plan = one_gpu(2048);
  plan.parallel.pipeline = 2;
  plan.parallel.zero = 0;
  const Schedule schedule =
      schedule_of({{0, 1}, {1, 0}},
                  {{forward(0, 0), forward(1, 1), backward(1, 1), backward(0, 0)}, {forward(1, 1), backward(1, 1)}}, 2);
  const std::vector<MemoryUse> uses = memory_of(plan, schedule, simple_blocks(3, 100, 0, 0), {{0}, {1, 2}}, {}, gpt3());
  ASSERT_EQ(uses.size(), 2U);
  EXPECT_EQ(uses[0].weights.value, 3 * 1500 * 2);
  EXPECT_EQ(uses[1].weights.value, uses[0].weights.value);
  EXPECT_EQ(uses[0].activations.value, 100 + 200);
  EXPECT_EQ(uses[1].activations.value, 100);
  // One neighbour: an activation and a gradient.
  EXPECT_EQ(uses[0].buffers.value, 2 * 2048.0 * 12288 * 2);
}

// A ring has the block it works on and the one that comes; an all-gather all keys and values. Its own are activations.
TEST(Buffers, KeysAndValuesOfOtherRanks) {
  ParallelPlan plan = one_gpu(8192);
  plan.parallel.context = 4;
  const double all = 8192.0 * 8 * (128 + 128) * 2;
  const auto buffers = [&] {
    return memory_of(plan, schedule_of({{0}}, {{}}, 1), make_blocks(llama_405b(), plan), {{1}}, {}, llama_405b())[0].buffers.value;
  };
  EXPECT_EQ(buffers(), 2 * all / 4);
  plan.parallel.context_method = Parallel::ContextMethod::all_gather;
  EXPECT_EQ(buffers(), all);
}

TEST(Buffers, DispatchAndCombineArrive) {
  ParallelPlan plan = one_gpu(4096);
  plan.parallel.expert = 64;
  plan.precision.dispatch = Precision::fp8;
  const ModelSpec model = deepseek_v3();
  const BlockList blocks = make_blocks(model, plan);
  const Schedule schedule = schedule_of({{0}}, {{}}, 1);
  // Balanced: as many copies arrive as leave, eight a token.
  EXPECT_EQ(memory_of(plan, schedule, blocks, {{10}}, {}, model)[0].buffers.value, 4096.0 * 8 * (7392 + 14336));
  EXPECT_EQ(memory_of(plan, schedule, blocks, {{1}}, {}, model)[0].buffers.value, 0);
}

}  // namespace stepsim::memory_test
