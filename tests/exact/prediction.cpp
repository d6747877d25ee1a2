// Multi-token prediction behind the head, against arithmetic.
#include <gtest/gtest.h>

#include "sim/report/calls.hpp"
#include "sim/simulate.hpp"
#include "support/block_sums.hpp"
#include "support/sample_models.hpp"
#include "support/shipped.hpp"
#include "workloads/check.hpp"
#include "workloads/memory.hpp"
#include "workloads/plan_schedule.hpp"
#include "workloads/step.hpp"

namespace stepsim::prediction_test {
using namespace samples;

ModelSpec predicting(int layers) {
  ModelSpec model = deepseek_v3();
  model.prediction_layers = layers;
  return model;
}

// A layer with experts: MLA, router, 8 of 256 experts and the shared one; the projection of 14336 to 7168; the head again.
TEST(Prediction, FlopsOfAToken) {
  const double h = 7168, mla = 1536 * h + 1536 * 128 * 192 + 576 * h + 512 * 128 * 256 + 128 * 128 * h;
  const double layer = mla + 256 * h + 9 * 3 * h * 2048, head = 129280 * h;
  const double attention = 2 * 128 * (192 + 128) * (4097 / 2.0);
  EXPECT_DOUBLE_EQ(prediction_flops_per_token(predicting(1), 4096), 2 * (layer + 2 * h * h + head) + attention);
  EXPECT_DOUBLE_EQ(prediction_flops_per_token(predicting(3), 4096), 3 * prediction_flops_per_token(predicting(1), 4096));
  EXPECT_EQ(prediction_flops_per_token(predicting(0), 4096), 0);
}

// On one GPU the embedding and the head are there: a module adds what count_parameters() counts apart.
TEST(Prediction, ParametersBehindTheHead) {
  for (const int layers : {1, 2}) {
    ParallelPlan plan = one_gpu(4096);
    const ModelSpec model = predicting(layers);
    const BlockParameters without = make_blocks(model, plan).block(62).parameters;
    plan.multi_token_prediction = true;
    const BlockParameters with = make_blocks(model, plan).block(62).parameters;
    EXPECT_EQ(with.dense + with.expert - without.dense - without.expert, count_parameters(model).prediction);
    // The head of a pipeline has a copy of the embedding, unless the pipeline bends back to it.
    plan.parallel.pipeline = 2;
    const double apart = make_blocks(model, plan).block(62).parameters.dense;
    EXPECT_EQ(apart - with.dense, 129280.0 * 7168);
    plan.schedule = "dualpipev";
    EXPECT_EQ(make_blocks(model, plan).block(62).parameters.dense, with.dense);
    // The same passes from a file: what counts is where the stages are.
    plan.passes = schedule_of(plan, 8);
    plan.schedule = "some.csv";
    EXPECT_EQ(make_blocks(model, plan).block(62).parameters.dense, with.dense);
  }
}

// Forward: the head, then module by module; backward the other way round. Two logits wait for their backward pass.
TEST(Prediction, ModulesRunBehindTheHead) {
  ParallelPlan plan = one_gpu(4096);
  plan.parallel.expert = 8;
  plan.multi_token_prediction = true;
  const Block head = make_blocks(predicting(1), plan).block(62), plain = make_blocks(predicting(0), plan).block(62);
  const auto places = [](const std::vector<Item>& items, std::string_view name) {
    std::vector<int> at;
    for (std::size_t i = 0; i < items.size(); ++i) {
      const Kernel* kernel = std::get_if<Kernel>(&items[i].what);
      const CollectiveCall* call = std::get_if<CollectiveCall>(&items[i].what);
      if ((kernel != nullptr && kernel->name == name) || (call != nullptr && call->name == name)) at.push_back(static_cast<int>(i));
    }
    return at;
  };
  const std::vector<int> heads = places(head.forward, "head"), core = places(head.forward, "core attention"), joined = places(head.forward, "prediction");
  ASSERT_EQ(heads.size(), 2u);
  ASSERT_EQ(core.size(), 1u);
  ASSERT_EQ(joined.size(), 1u);
  EXPECT_TRUE(heads[0] < joined[0] && joined[0] < core[0] && core[0] < heads[1]);
  EXPECT_EQ(places(head.forward, "dispatch").size(), 1u);
  const std::vector<int> back = places(head.backward, "head"), core_back = places(head.backward, "core attention");
  ASSERT_EQ(back.size(), 4u);  // an input and a weight gradient each
  EXPECT_TRUE(back[1] < core_back[0] && core_back[0] < back[2]);
  EXPECT_EQ(head.activations.logits.value, 2 * plain.activations.logits.value);
}

// A learned table of positions is the embedding's alone.
TEST(Prediction, PositionsAreNotCopied) {
  for (const int positions : {0, 2048}) {
    ModelSpec model = gpt3();
    model.tied_embeddings = false;
    model.prediction_layers = 1;
    model.learned_positions = positions;
    ParallelPlan plan = one_gpu(2048);
    plan.parallel.tensor = 8;
    plan.parallel.pipeline = 2;
    const double without = make_blocks(model, plan).block(97).parameters.dense;
    plan.multi_token_prediction = true;
    const double added = make_blocks(model, plan).block(97).parameters.dense - without;
    model.learned_positions = 1;
    EXPECT_EQ(added, make_blocks(model, plan).block(97).parameters.dense - without) << positions;
  }
}

// Modules run one after another: they take the buffers of dispatch and combine again. Logits before them wait meanwhile.
TEST(Prediction, MemoryOfSeveralModules) {
  ParallelPlan plan = one_gpu(4096);
  plan.parallel.expert = 64;
  plan.multi_token_prediction = true;
  const auto buffers = [&](int layers) {
    return memory_of(plan, schedule_of(plan, 1), make_blocks(predicting(layers), plan), {{62}}, {}, predicting(layers))[0].buffers.value;
  };
  EXPECT_GT(buffers(1), 0);
  EXPECT_EQ(buffers(2), buffers(1));
  const ActivationBytes plain = make_blocks(predicting(0), plan).block(62).activations, one = make_blocks(predicting(1), plan).block(62).activations;
  const ActivationBytes layer = make_blocks(predicting(0), plan).block(61).activations;
  EXPECT_EQ(one.transient.value, plain.logits.value + std::max(plain.transient.value, layer.transient.value));
}

Simulation step_of(const std::string& schedule, bool trained) {
  const Inputs in = testing::shipped("deepseek-v3-1f1b", {"cluster.nodes=4", "model.layers=8", "model.prediction_layers=1", "plan.parallel.pipeline=2",
                                                          "plan.parallel.expert=16", "plan.batch.global_sequences=256", "plan.schedule=" + schedule,
                                                          std::string("plan.multi_token_prediction=") + (trained ? "true" : "false")});
  Options options;
  options.elasticities = false;
  return simulate(in, options);
}

// The two ends of a pipeline hold the embedding: its gradients are summed as those of a tied one. DualPipe's ranks hold both
// ends.
TEST(Prediction, EndsSumTheEmbeddingsGradients) {
  const auto sums = [](const Simulation& done) {
    double bytes = 0;
    for (const CollectiveRow& row : done.report.collectives) bytes += row.name == "tied embedding gradients" ? row.bytes_per_rank : 0;
    return bytes;
  };
  EXPECT_EQ(sums(step_of("1f1b", true)), 129280.0 * 7168 * 4);
  EXPECT_EQ(sums(step_of("1f1b", false)), 0);
  EXPECT_EQ(sums(step_of("dualpipe", true)), 0);
  EXPECT_GT(step_of("1f1b", true).report.step_time_s, step_of("1f1b", false).report.step_time_s);
}

TEST(Prediction, NeedsLayersOfTheModel) {
  try {
    (void)testing::shipped("llama-3.1-405b-8192-gpus", {"plan.multi_token_prediction=true"});
    FAIL() << "accepted";
  } catch (const InputError& wrong) {
    ASSERT_EQ(wrong.problems().size(), 1u);
    EXPECT_EQ(wrong.problems()[0].key, "plan.multi_token_prediction");
    EXPECT_EQ(wrong.problems()[0].reason, "llama-3.1-405b has no prediction_layers");
  }
}

}  // namespace stepsim::prediction_test
