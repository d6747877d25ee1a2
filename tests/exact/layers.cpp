// FLOPs, parameters and soundness of the blocks' items against closed forms.
#include "workloads/layers.hpp"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <cmath>
#include <set>

#include "support/block_sums.hpp"
#include "support/sample_models.hpp"

namespace stepsim::layers_test {
using namespace samples;

// Model FLOPs of one microbatch over all GPUs that share it: tensor x context (experts add none: every GPU works on as
// many rows as it routes).
void expect_whole_model(const ModelSpec& model, const ParallelPlan& plan) {
  const Batch& batch = plan.batch;
  const double tokens = static_cast<double>(batch.microbatch_sequences) * batch.sequence_length;
  const double predicted = plan.multi_token_prediction ? prediction_flops_per_token(model, batch.sequence_length) : 0;
  const double expected = 3 * (forward_flops_per_token(model, batch.sequence_length) + predicted) * tokens;
  const double found = flops_of(make_blocks(model, plan)).model_flops * plan.parallel.tensor * plan.parallel.context;
  EXPECT_NEAR(found / expected, 1, 1e-12) << model.name;
}

TEST(Flops, WholeModelsUnderManyPlans) {
  for (const ModelSpec& model : {deepseek_v3(), llama_405b(), gpt3()}) {
    for (int tensor : {1, 8}) {
      for (int context : {1, 4}) {
        for (bool sequence : {false, true}) {
          ParallelPlan plan = one_gpu(4096, 2);
          plan.parallel.tensor = tensor;
          plan.parallel.context = context;
          plan.parallel.sequence = sequence;
          expect_whole_model(model, plan);
          if (context == 1) {
            plan.kernels.attention = Kernels::Attention::unfused;
            expect_whole_model(model, plan);
            plan.kernels.attention = Kernels::Attention::flash;
          }
          plan.parallel.context_method = Parallel::ContextMethod::all_gather;
          expect_whole_model(model, plan);
          ModelSpec predicting = model;
          predicting.prediction_layers = 2;
          plan.multi_token_prediction = true;
          expect_whole_model(predicting, plan);
          plan.multi_token_prediction = false;
          expect_whole_model(predicting, plan);
          plan.parallel.context_method = Parallel::ContextMethod::all_to_all;
          plan.parallel.expert = 8;
          plan.precision.linear = Precision::fp8;
          plan.recompute.full = true;
          expect_whole_model(model, plan);
          plan.recompute = {.full = false,
                            .modules = {Module::norm, Module::mla_up, Module::swiglu, Module::attention, Module::ffn,
                                        Module::experts}};
          plan.parallel.expert_tensor = 2;
          expect_whole_model(model, plan);
        }
      }
    }
  }
}

ModelSpec random_model() {
  using rc::gen::inRange;
  ModelSpec model = deepseek_v3();
  model.name = "random";
  model.layers = *inRange(1, 9);
  model.hidden = 64 * *inRange(1, 40);
  model.vocabulary = 128 * *inRange(1, 100);
  model.tied_embeddings = *rc::gen::arbitrary<bool>();
  model.heads = 8 * *inRange(1, 9);
  model.kv_heads = *rc::gen::element(8, model.heads);
  model.head_dim = 16 * *inRange(1, 13);
  model.ffn = 64 * *inRange(1, 100);
  model.ffn_matrices = *inRange(2, 4);
  if (*rc::gen::arbitrary<bool>()) model.attention = {};
  if (*rc::gen::arbitrary<bool>()) model.attention.q_rank = 0;
  model.experts.count = 16 * *inRange(0, 5);
  model.experts.top_k = *inRange(1, 9);
  model.experts.ffn = 64 * *inRange(1, 20);
  model.experts.shared = *inRange(0, 3);
  model.experts.dense_layers = *inRange(0, 3);
  model.experts.every = *inRange(1, 3);
  return model;
}

ParallelPlan random_plan() {
  using rc::gen::arbitrary;
  using rc::gen::element;
  ParallelPlan plan = one_gpu(128 * *rc::gen::inRange(1, 40), *rc::gen::inRange(1, 5));
  plan.parallel.tensor = *element(1, 2, 4, 8);
  plan.parallel.sequence = *arbitrary<bool>();
  plan.parallel.context = *element(1, 2, 4);
  plan.parallel.context_method = *element(Parallel::ContextMethod::ring, Parallel::ContextMethod::all_to_all, Parallel::ContextMethod::all_gather);
  plan.parallel.expert = *element(1, 2, 8);
  plan.parallel.expert_tensor = *element(1, 2);
  plan.precision.linear = *element(Precision::fp8, Precision::bf16);
  plan.precision.dispatch = *element(Precision::fp8, Precision::bf16);
  plan.recompute.full = *rc::gen::weightedElement<bool>({{3, false}, {1, true}});
  for (Module module :
       {Module::norm, Module::attention, Module::mla_up, Module::swiglu, Module::ffn, Module::experts}) {
    if (*arbitrary<bool>()) plan.recompute.modules.insert(module);
  }
  return plan;
}

int size_of(GroupKind kind, const Parallel& p) {
  if (kind == GroupKind::tensor) return p.tensor;
  if (kind == GroupKind::context) return p.context;
  return kind == GroupKind::expert ? p.expert : p.expert_tensor;
}

// Every list is sound whatever the plan: needs point back to collectives, groups have members, phases fit the list.
void expect_sound(const std::vector<Item>& items, const ParallelPlan& plan, bool forward) {
  for (std::size_t i = 0; i < items.size(); ++i) {
    RC_ASSERT((items[i].phase == Phase::forward) == forward);
    for (int need : items[i].needs) {
      RC_ASSERT(need >= 0);
      RC_ASSERT(need < static_cast<int>(i));
      RC_ASSERT(std::holds_alternative<CollectiveCall>(items[need].what));
    }
    if (const CollectiveCall* call = std::get_if<CollectiveCall>(&items[i].what)) {
      RC_ASSERT(size_of(call->group, plan.parallel) > 1);
      RC_ASSERT(call->payload.value > 0);
    } else {
      const Kernel& kernel = std::get<Kernel>(items[i].what);
      RC_ASSERT(kernel.bytes.value > 0);
      RC_ASSERT(kernel.model_flops <= kernel.flops);
      RC_ASSERT(items[i].phase != Phase::recompute || kernel.model_flops.value == 0);
    }
  }
}

// A collective whose result nothing waits for would never delay anything.
void expect_used(const std::vector<Item>& items) {
  std::set<int> used;
  for (const Item& item : items) used.insert(item.needs.begin(), item.needs.end());
  for (std::size_t i = 0; i < items.size(); ++i) {
    const bool call = std::holds_alternative<CollectiveCall>(items[i].what);
    // The loss's three scalars a token end the forward list.
    if (call && !name_of(items[i]).starts_with("loss") && !name_of(items[i]).starts_with("embedding output")) {
      RC_ASSERT(used.contains(static_cast<int>(i)));
    }
  }
}

TEST(Flops, RandomModelsAndPlans) {
  EXPECT_TRUE(rc::check("model FLOPs over all shards are the closed form; the lists are sound", [] {
    ModelSpec model = random_model();
    ParallelPlan plan = random_plan();
    model.prediction_layers = *rc::gen::inRange(0, 3);
    plan.multi_token_prediction = model.prediction_layers > 0 && *rc::gen::arbitrary<bool>();
    const BlockList blocks = make_blocks(model, plan);
    RC_ASSERT(blocks.size() == model.layers + 2);
    const double tokens = static_cast<double>(plan.batch.microbatch_sequences) * plan.batch.sequence_length;
    const double predicted = plan.multi_token_prediction ? prediction_flops_per_token(model, plan.batch.sequence_length) : 0;
    const double expected = 3 * (forward_flops_per_token(model, plan.batch.sequence_length) + predicted) * tokens;
    const double found = flops_of(blocks).model_flops * plan.parallel.tensor * plan.parallel.context;
    RC_ASSERT(std::abs(found / expected - 1) < 1e-12);
    for (const Block& block : blocks.kinds) {
      expect_sound(block.forward, plan, true);
      expect_sound(block.backward, plan, false);
      expect_used(block.forward);
      expect_used(block.backward);
    }
  }));
}

TEST(Flops, ParametersOfShardsAreTheModel) {
  const ModelSpec model = deepseek_v3();
  ParallelPlan plan = one_gpu(4096);
  plan.parallel.expert = 64;
  const BlockList blocks = make_blocks(model, plan);
  double dense = 0, expert = 0;
  for (int i = 0; i < blocks.size(); ++i) {
    dense += blocks.block(i).parameters.dense;
    expert += blocks.block(i).parameters.expert;
  }
  EXPECT_EQ(dense + 64 * expert, 671'026'419'200);
}

TEST(Flops, TensorShardsHoldDownProjectionsNormsAndRouterWhole) {
  ParallelPlan plan = one_gpu(4096);
  plan.parallel.tensor = 8;
  plan.parallel.expert_tensor = 8;
  const Block block = make_blocks(deepseek_v3(), plan).block(61);
  const double cut = 37'748'736.0 + 16'777'216 + 117'440'512 + 44'040'192;  // q_b, kv_b, o, shared expert
  const double whole = 11'010'048.0 + 4'128'768 + 2 * 7168 + 1536 + 512 + 256 * 7169;
  EXPECT_EQ(block.parameters.dense, whole + cut / 8);
  EXPECT_EQ(block.parameters.expert, 11'274'289'152.0 / 8);
}

// Flash attention's backward: three products of the query/key width and two of the value width against one and one.
TEST(Flops, AttentionBackwardInHardware) {
  const auto ratio = [](const ModelSpec& model) {
    const Block block = make_blocks(model, one_gpu(4096)).block(1);
    const Kernel forward = std::get<Kernel>(block.forward[find(block.forward, "core attention")].what);
    const Kernel backward = std::get<Kernel>(block.backward[find(block.backward, "core attention")].what);
    EXPECT_EQ(backward.model_flops.value, 2 * forward.flops.value);
    return backward.flops / forward.flops;
  };
  EXPECT_DOUBLE_EQ(ratio(llama_405b()), 2.5);
  EXPECT_DOUBLE_EQ(ratio(deepseek_v3()), 2.6);
}

TEST(Flops, FullRecomputeRepeatsTheForwardPass) {
  ParallelPlan plan = one_gpu(4096);
  plan.parallel.expert = 64;
  const Block kept = make_blocks(deepseek_v3(), plan).block(10);
  plan.recompute.full = true;
  const Block repeated = make_blocks(deepseek_v3(), plan).block(10);
  EXPECT_EQ(repeated.forward, kept.forward);
  ASSERT_EQ(repeated.backward.size(), kept.forward.size() + kept.backward.size());
  EXPECT_DOUBLE_EQ(flops_of(repeated.backward).flops, flops_of(kept.backward).flops + flops_of(kept.forward).flops);
  EXPECT_DOUBLE_EQ(flops_of(repeated.backward).model_flops, flops_of(kept.backward).model_flops);
  for (std::size_t i = 0; i < kept.forward.size(); ++i) {
    EXPECT_EQ(name_of(repeated.backward[i]), name_of(kept.forward[i]));
    EXPECT_EQ(repeated.backward[i].phase, Phase::recompute);
    EXPECT_EQ(repeated.backward[i].needs, kept.forward[i].needs);
  }
}

}  // namespace stepsim::layers_test
