// What a layer puts on the wires, against closed forms.
#include <gtest/gtest.h>

#include "support/block_sums.hpp"
#include "support/sample_models.hpp"

namespace stepsim::layer_collectives_test {
using namespace samples;
using Calls = std::vector<Called>;

constexpr Operation kGather = Operation::all_gather, kScatter = Operation::reduce_scatter,
                    kReduce = Operation::all_reduce, kExchange = Operation::all_to_all;

ParallelPlan tensor_plan(bool sequence) {
  ParallelPlan plan = one_gpu(4096, 2);
  plan.parallel.tensor = 8;
  plan.parallel.sequence = sequence;
  return plan;
}

// Megatron-LM: two all-reduces of b s h elements forward, two backward.
TEST(TensorCollectives, FourAllReducesALayer) {
  const double v = 2.0 * 4096 * 16384 * 2;
  const Block block = make_blocks(llama_405b(), tensor_plan(false)).block(1);
  EXPECT_EQ(calls_of(block.forward, GroupKind::tensor),
            (Calls{{"attention output", kReduce, v}, {"ffn output", kReduce, v}}));
  EXPECT_EQ(calls_of(block.backward, GroupKind::tensor),
            (Calls{{"ffn input gradient", kReduce, v}, {"attention input gradient", kReduce, v}}));
}

// Sequence parallelism (Korthikanti et al., section 4.2.2): each all-reduce becomes a gather and a scatter, and the
// backward pass gathers the two column-parallel inputs again.
TEST(TensorCollectives, SequenceParallelism) {
  const double v = 2.0 * 4096 * 16384 * 2;
  const Block block = make_blocks(llama_405b(), tensor_plan(true)).block(1);
  EXPECT_EQ(calls_of(block.forward, GroupKind::tensor), (Calls{{"attention input", kGather, v},
                                                               {"attention output", kScatter, v},
                                                               {"ffn input", kGather, v},
                                                               {"ffn output", kScatter, v}}));
  EXPECT_EQ(calls_of(block.backward, GroupKind::tensor), (Calls{{"ffn output gradient", kGather, v},
                                                                {"ffn input again", kGather, v},
                                                                {"ffn input gradient", kScatter, v},
                                                                {"attention output gradient", kGather, v},
                                                                {"attention input again", kGather, v},
                                                                {"attention input gradient", kScatter, v}}));
}

TEST(TensorCollectives, FullRecomputeRepeatsTheForwardOnes) {
  ParallelPlan plan = tensor_plan(false);
  plan.recompute.full = true;
  EXPECT_EQ(calls_of(make_blocks(llama_405b(), plan).block(1).backward, GroupKind::tensor).size(), 4U);
  plan.parallel.sequence = true;
  EXPECT_EQ(calls_of(make_blocks(llama_405b(), plan).block(1).backward, GroupKind::tensor).size(), 10U);
}

TEST(TensorCollectives, EmbeddingAndHead) {
  const double v = 2.0 * 4096 * 16384 * 2, scalar = 2.0 * 4096 * 4;
  const BlockList plain = make_blocks(llama_405b(), tensor_plan(false));
  EXPECT_EQ(calls_of(plain.block(0).forward, GroupKind::tensor), (Calls{{"embedding output", kReduce, v}}));
  EXPECT_TRUE(calls_of(plain.block(0).backward, GroupKind::tensor).empty());
  EXPECT_EQ(
      calls_of(plain.block(127).forward, GroupKind::tensor),
      (Calls{{"loss maximum", kReduce, scalar}, {"loss target", kReduce, scalar}, {"loss sum", kReduce, scalar}}));
  EXPECT_EQ(calls_of(plain.block(127).backward, GroupKind::tensor), (Calls{{"head input gradient", kReduce, v}}));
  const BlockList cut = make_blocks(llama_405b(), tensor_plan(true));
  EXPECT_EQ(calls_of(cut.block(0).forward, GroupKind::tensor), (Calls{{"embedding output", kScatter, v}}));
  EXPECT_EQ(calls_of(cut.block(0).backward, GroupKind::tensor), (Calls{{"embedding output gradient", kGather, v}}));
  EXPECT_EQ(calls_of(cut.block(127).backward, GroupKind::tensor),
            (Calls{{"head input again", kGather, v}, {"head input gradient", kScatter, v}}));
}

// MLA's down-projections are whole on every tensor rank, so only latents are gathered and their gradients reduced.
TEST(TensorCollectives, LatentAttentionMovesLatents) {
  const double token = 2.0 * 4096 * 2, v = token * 7168;
  const Block plain = make_blocks(deepseek_v3(), tensor_plan(false)).block(1);
  EXPECT_EQ(calls_of(plain.forward, GroupKind::tensor),
            (Calls{{"attention output", kReduce, v}, {"ffn output", kReduce, v}}));
  EXPECT_EQ(calls_of(plain.backward, GroupKind::tensor), (Calls{{"ffn input gradient", kReduce, v},
                                                                {"query latent gradient", kReduce, token * 1536},
                                                                {"key/value latent gradient", kReduce, token * 576}}));
  const Block cut = make_blocks(deepseek_v3(), tensor_plan(true)).block(1);
  EXPECT_EQ(calls_of(cut.forward, GroupKind::tensor), (Calls{{"query latent", kGather, token * 1536},
                                                             {"key/value latent", kGather, token * 576},
                                                             {"attention output", kScatter, v},
                                                             {"ffn input", kGather, v},
                                                             {"ffn output", kScatter, v}}));
}

ParallelPlan expert_plan() {
  ParallelPlan plan = one_gpu(4096);
  plan.parallel.expert = 64;
  plan.precision.dispatch = Precision::fp8;
  return plan;
}

// One copy of each of 4096 tokens: 7392 B in FP8 with its scales, 14336 B in BF16.
TEST(ExpertCollectives, FourAllToAllsALayerAndSixWithFullRecompute) {
  const double dispatch = 4096.0 * 7392, combine = 4096.0 * 14336;
  ParallelPlan plan = expert_plan();
  const Calls forward{{"dispatch", kExchange, dispatch}, {"combine", kExchange, combine}};
  Calls backward{{"combine gradient", kExchange, dispatch}, {"dispatch gradient", kExchange, combine}};
  const Block block = make_blocks(deepseek_v3(), plan).block(10);
  EXPECT_EQ(calls_of(block.forward, GroupKind::expert), forward);
  EXPECT_EQ(calls_of(block.backward, GroupKind::expert), backward);
  plan.recompute.full = true;
  backward.insert(backward.begin(), forward.begin(), forward.end());
  EXPECT_EQ(calls_of(make_blocks(deepseek_v3(), plan).block(10).backward, GroupKind::expert), backward);
  EXPECT_TRUE(calls_of(make_blocks(deepseek_v3(), plan).block(3).forward, GroupKind::expert).empty());  // dense
}

TEST(ExpertCollectives, TensorRanksRouteTheirSlices) {
  ParallelPlan plan = expert_plan();
  plan.parallel.tensor = 4;
  const Block slices = make_blocks(deepseek_v3(), plan).block(10);
  EXPECT_EQ(calls_of(slices.forward, GroupKind::expert)[0].payload, 1024.0 * 7392);
  const double v = 4096.0 * 7168 * 2;
  EXPECT_EQ(calls_of(slices.forward, GroupKind::tensor),
            (Calls{{"attention output", kReduce, v}, {"shared output", kReduce, v}, {"expert output", kGather, v}}));
  plan.parallel.sequence = true;
  const Block cut = make_blocks(deepseek_v3(), plan).block(10);
  EXPECT_EQ(calls_of(cut.forward, GroupKind::expert), calls_of(slices.forward, GroupKind::expert));
  EXPECT_EQ(calls_of(cut.forward, GroupKind::tensor).size(), 5U);  // 2 latents, attention, shared in and out
}

TEST(ExpertCollectives, ExpertTensorGathersRowsAndScattersSums) {
  ParallelPlan plan = expert_plan();
  plan.parallel.expert_tensor = 2;
  const double rows = 4096.0 * 8 * 2;
  const Block block = make_blocks(deepseek_v3(), plan).block(10);
  EXPECT_EQ(calls_of(block.forward, GroupKind::expert_tensor),
            (Calls{{"expert rows", kGather, rows * 7392}, {"expert partial sums", kScatter, rows * 14336}}));
  EXPECT_EQ(calls_of(block.backward, GroupKind::expert_tensor),
            (Calls{{"expert partial sums gradient", kGather, rows * 7392},
                   {"expert rows gradient", kScatter, rows * 14336}}));
}

TEST(ContextCollectives, RingPassesKeysAndValues) {
  ParallelPlan plan = one_gpu(8192, 2);
  plan.parallel.context = 4;
  plan.parallel.tensor = 2;
  const double v = 2.0 * 8192 * (8 / 2) * (128 + 128) * 2;  // whole sequences, keys and values of 4 heads
  const Block block = make_blocks(llama_405b(), plan).block(1);
  // Blocks of a quarter: three come in the forward pass; in the backward pass three come again and the gradients of
  // each travel four steps, the last one home.
  const Called ring{"kv ring", Operation::shift, v / 4}, gradient{"kv ring gradient", Operation::shift, v / 4};
  EXPECT_EQ(calls_of(block.forward, GroupKind::context), (Calls{ring, ring, ring}));
  EXPECT_EQ(calls_of(block.backward, GroupKind::context),
            (Calls{ring, gradient, ring, gradient, ring, gradient, gradient}));
}

// Whole sequences' keys and values to every rank, again for the backward pass; their gradients' sums to whose they are.
TEST(ContextCollectives, AllGatherBringsAllKeysAndValues) {
  ParallelPlan plan = one_gpu(8192, 2);
  plan.parallel.context = 4;
  plan.parallel.tensor = 2;
  plan.parallel.context_method = Parallel::ContextMethod::all_gather;
  const double v = 2.0 * 8192 * (8 / 2) * (128 + 128) * 2;
  const Called gather{"kv gather", kGather, v}, scatter{"kv gradient", kScatter, v};
  const BlockList blocks = make_blocks(llama_405b(), plan);
  EXPECT_EQ(calls_of(blocks.block(1).forward, GroupKind::context), (Calls{gather}));
  EXPECT_EQ(calls_of(blocks.block(1).backward, GroupKind::context), (Calls{gather, scatter}));
  // The core waits for what is gathered, and does as much for each rank's queries as a ring's steps together.
  double core = 0;
  for (const Item& item : blocks.block(1).forward) {
    const Kernel* kernel = std::get_if<Kernel>(&item.what);
    if (kernel == nullptr || kernel->name != "core attention") continue;
    core += kernel->flops.value;
    ASSERT_FALSE(item.needs.empty());
    EXPECT_EQ(std::get<CollectiveCall>(blocks.block(1).forward[static_cast<std::size_t>(item.needs.back())].what).name, "kv gather");
  }
  EXPECT_DOUBLE_EQ(core, 2.0 * 2 * 8192 / 4 * (8193 / 2.0) * (128 + 128) * 64);  // sequences, queries, keys, widths, heads
  // A recomputed core gathers for itself, too.
  plan.recompute.modules = {Module::attention};
  EXPECT_EQ(calls_of(make_blocks(llama_405b(), plan).block(1).backward, GroupKind::context), (Calls{gather, gather, scatter}));
}

TEST(ContextCollectives, AllToAllExchangesHeadsForTokens) {
  ParallelPlan plan = one_gpu(8192, 2);
  plan.parallel.context = 4;
  plan.parallel.context_method = Parallel::ContextMethod::all_to_all;
  const double token = 2.0 * 8192 / 4 * 128 * 2, q = token * 128, kv = token * 8;
  const Block block = make_blocks(llama_405b(), plan).block(1);
  EXPECT_EQ(calls_of(block.forward, GroupKind::context), (Calls{{"query exchange", kExchange, q},
                                                                {"key exchange", kExchange, kv},
                                                                {"value exchange", kExchange, kv},
                                                                {"output exchange", kExchange, q}}));
  EXPECT_EQ(calls_of(block.backward, GroupKind::context), (Calls{{"output exchange gradient", kExchange, q},
                                                                 {"query exchange gradient", kExchange, q},
                                                                 {"key exchange gradient", kExchange, kv},
                                                                 {"value exchange gradient", kExchange, kv}}));
}

TEST(Collectives, OneGpuHasNone) {
  const BlockList blocks = make_blocks(deepseek_v3(), one_gpu(4096));
  for (const Block& block : blocks.kinds) {
    for (GroupKind kind : {GroupKind::tensor, GroupKind::context, GroupKind::expert, GroupKind::expert_tensor}) {
      EXPECT_TRUE(calls_of(block.forward, kind).empty());
      EXPECT_TRUE(calls_of(block.backward, kind).empty());
    }
  }
}

}  // namespace stepsim::layer_collectives_test
