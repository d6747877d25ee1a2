// Why a plan cannot run: every reason at once, with the key, what was found and what would do.
#include "workloads/check.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <filesystem>

#include "workloads/experiment.hpp"
#include "workloads/grid.hpp"

namespace stepsim::check_test {

const std::string kHome = STEPSIM_SOURCE_DIR;
using Texts = std::vector<std::string>;

ClusterSpec cluster_of(int nodes, int gpus_per_node = 8) {
  ClusterSpec cluster;
  cluster.name = "small";
  cluster.nodes = nodes;
  cluster.gpus_per_node = gpus_per_node;
  cluster.gpu.name = "gpu";
  cluster.gpu.sms = 132;
  return cluster;
}

ModelSpec model_of(const std::string& name) {
  Reading reading;
  const ModelSpec model = read_model(reading, kHome + "/workloads/models/" + name + ".yaml", {});
  reading.throw_if_any();
  return model;
}

struct Read {
  ParallelPlan plan;
  PlanSource source;
};
Read plan_of(const std::string& name, const std::vector<Override>& overrides = {}) {
  Reading reading;
  const std::string path = kHome + "/workloads/plans/" + name + ".yaml";
  ParallelPlan plan = read_plan(reading, path, overrides);
  reading.throw_if_any();
  return {plan, source_of(path, reading)};
}

// "KEY: REASON" of each problem.
Texts texts(const std::vector<Problem>& problems) {
  Texts result;
  for (const Problem& p : problems) result.push_back(fmt::format("{}: {}", p.key, p.reason));
  return result;
}

Texts deepseek(const std::string& plan, const std::vector<Override>& overrides, int nodes = 256) {
  return texts(check(model_of("deepseek-v3"), cluster_of(nodes), plan_of(plan, overrides).plan, {}));
}
Texts dualpipe(const std::vector<Override>& overrides) {
  return deepseek("deepseek-v3-dualpipe", overrides);
}
Texts zero3(const std::vector<Override>& overrides) {
  return deepseek("deepseek-v3-zero3-flat", overrides);
}

// A dense model on few GPUs, 1F1B.
Texts llama(const std::vector<Override>& overrides, int nodes = 4) {
  std::vector<Override> all{{"parallel.expert_tensor", "1"},    {"recompute", "none"},
                            {"parallel.pipeline", "1"},         {"parallel.tensor", "1"},
                            {"parallel.sequence", "false"},     {"batch.global_sequences", "1024"},
                            {"batch.microbatch_sequences", "1"}};
  all.insert(all.end(), overrides.begin(), overrides.end());
  return texts(check(model_of("llama-3.1-405b"), cluster_of(nodes), plan_of("deepseek-v3-tp8-pp16", all).plan, {}));
}

TEST(Check, ShippedExperimentsPass) {
  for (const std::string& name : shipped(kHome, Document::experiment)) {
    Reading reading;
    const Experiment experiment = read_experiment(reading, kHome + "/workloads/experiments/" + name + ".yaml", kHome);
    const ParallelPlan plan = read_plan(reading, experiment.plan, {});
    const ModelSpec model = read_model(reading, experiment.model, {});
    reading.throw_if_any();
    const bool large = experiment.cluster.ends_with("h800-2048x8.yaml");
    EXPECT_EQ(texts(check(model, cluster_of(large ? 2048 : 256), plan, {})), Texts{}) << name;
  }
  EXPECT_EQ(llama({}), Texts{});
}

TEST(Check, MicrobatchesOfTheShippedPlans) {
  const ClusterSpec small = cluster_of(256), large = cluster_of(2048);
  EXPECT_EQ(microbatches_of(plan_of("deepseek-v3-dualpipe").plan, small), 120);
  EXPECT_EQ(microbatches_of(plan_of("deepseek-v3-2048-nodes").plan, large), 120);
  EXPECT_EQ(microbatches_of(plan_of("deepseek-v3-zero3-flat").plan, small), 1);
  EXPECT_EQ(microbatches_of(plan_of("deepseek-v3-zero3-accumulate").plan, small), 8);
  EXPECT_EQ(microbatches_of(plan_of("deepseek-v3-tp8-pp16").plan, small), 480);
  EXPECT_EQ(resolve(plan_of("deepseek-v3-dualpipe").plan, small).parallel.data, 128);
  EXPECT_EQ(microbatches_of(plan_of("deepseek-v3-zero3-flat",
                                    {{"batch.global_sequences", "15360"}, {"batch.microbatch_sequences", "1"}})
                                .plan,
                            small),
            7.5);
}

TEST(Check, NamesFileAndLine) {
  Read read = plan_of("deepseek-v3-dualpipe");
  read.plan.parallel.pipeline = 7;  // as if its line said so
  const auto problems = check(model_of("deepseek-v3"), cluster_of(256), read.plan, read.source);
  ASSERT_EQ(problems.size(), 1u);
  EXPECT_EQ(problems[0].file, kHome + "/workloads/plans/deepseek-v3-dualpipe.yaml");
  EXPECT_EQ(problems[0].line, 10);
  EXPECT_EQ(problems[0].key, "parallel.pipeline");

  const Read overridden = plan_of("deepseek-v3-dualpipe", {{"parallel.pipeline", "7"}});
  const auto again = check(model_of("deepseek-v3"), cluster_of(256), overridden.plan, overridden.source);
  ASSERT_EQ(again.size(), 1u);
  EXPECT_EQ(to_text(again[0]), "--set: parallel.pipeline: 7 does not divide 2048 GPUs (256 nodes of 8); nearest: 4, 8");
}

TEST(Check, DegreesDivideTheWorld) {
  EXPECT_EQ(dualpipe({{"parallel.pipeline", "7"}}),
            (Texts{"parallel.pipeline: 7 does not divide 2048 GPUs (256 nodes of 8); nearest: 4, 8"}));
  EXPECT_EQ(llama({{"parallel.tensor", "16"}, {"parallel.context", "4"}}),
            (Texts{"parallel.tensor: tensor 16 x context 4 x pipeline 1 = 64 does not divide 32 GPUs (4 nodes of 8); "
                   "nearest: 8"}));
  EXPECT_EQ(
      llama({{"parallel.data", "16"}, {"parallel.tensor", "4"}}),
      (Texts{"parallel.data: 16 given, but 32 GPUs (4 nodes of 8) over tensor 4 x context 1 x pipeline 1 leave 8; "
             "write auto or 8"}));
  EXPECT_EQ(llama({{"parallel.data", "8"}, {"parallel.tensor", "4"}}), Texts{});
}

TEST(Check, DegreesAtTheirLimitDoNotOverflow) {
  EXPECT_FALSE(
      llama({{"parallel.tensor", "1000000"}, {"parallel.context", "1000000"}, {"parallel.pipeline", "1000000"}})
          .empty());
  EXPECT_FALSE(deepseek("deepseek-v3-dualpipe", {{"parallel.expert", "1000000"}, {"parallel.expert_tensor", "1000000"}})
                   .empty());
}

TEST(Check, ExpertsDivide) {
  EXPECT_EQ(dualpipe({{"parallel.expert", "3"}}),
            (Texts{"parallel.expert: 3 does not divide 256 experts; nearest: 2, 4"}));
  EXPECT_EQ(dualpipe({{"parallel.expert", "256"}}),
            (Texts{"parallel.expert: 256 does not divide the 128 GPUs of a pipeline rank; nearest: 128"}));
  EXPECT_EQ(
      dualpipe({{"parallel.expert_tensor", "4"}}),
      (Texts{"parallel.expert_tensor: expert 64 x expert_tensor 4 = 256 does not divide the 128 GPUs of a pipeline "
             "rank; nearest: 2"}));
  EXPECT_EQ(dualpipe({{"parallel.expert_tensor", "3"}}),
            (Texts{"parallel.expert_tensor: 3 does not divide the experts' width 2048; nearest: 2"}));
  EXPECT_EQ(llama({{"parallel.expert", "8"}, {"parallel.expert_tensor", "2"}, {"routing.max_nodes", "4"}}),
            (Texts{"parallel.expert: llama-3.1-405b has no experts; write 1",
                   "parallel.expert_tensor: llama-3.1-405b has no experts; write 1",
                   "routing.max_nodes: llama-3.1-405b has no experts; write 0"}));
}

TEST(Check, ANodeLimitMustLeaveEnoughExperts) {
  // Experts over 256 GPUs, one each: a node of 8 has 8. Nodes of 4 have 4, too few for top-8 within one.
  const auto plan = plan_of("deepseek-v3-zero3-ep64", {{"parallel.expert", "256"}, {"routing.max_nodes", "1"}}).plan;
  EXPECT_EQ(texts(check(model_of("deepseek-v3"), cluster_of(256), plan, {})), Texts{});
  EXPECT_EQ(texts(check(model_of("deepseek-v3"), cluster_of(512, 4), plan, {})),
            (Texts{"routing.max_nodes: 1 nodes hold at most 4 experts, a token needs 8"}));
}

TEST(Check, TheBatchDivides) {
  EXPECT_EQ(zero3({{"batch.global_sequences", "15360"}, {"batch.microbatch_sequences", "1"}}),
            (Texts{"batch.global_sequences: 7.5 sequences a GPU: 15360 do not divide by 2048 data-parallel ranks x 1 "
                   "sequences a microbatch; nearest: 14336, 16384"}));
  EXPECT_EQ(
      zero3({{"batch.global_sequences", "100"}}),
      (Texts{"batch.global_sequences: 0.0488281 sequences a GPU: 100 do not divide by 2048 data-parallel ranks x 8 "
             "sequences a microbatch; nearest: 16384"}));
  EXPECT_EQ(deepseek("deepseek-v3-1f1b", {{"batch.global_sequences", "15361"}}).size(), 1u);
}

TEST(Check, ShapesDivide) {
  EXPECT_EQ(llama({{"parallel.tensor", "6"}}, 3),
            (Texts{"parallel.tensor: 6 does not divide 128 heads; nearest: 4, 8",
                   "parallel.tensor: 6 does not divide 8 key/value heads, nor they it; nearest: 4, 8",
                   "parallel.tensor: 6 does not divide the feed-forward width 53248; nearest: 4, 8"}));
  EXPECT_EQ(llama({{"parallel.tensor", "16"}}), Texts{});  // 8 key/value heads are repeated
}

TEST(Check, SequenceAndContext) {
  EXPECT_EQ(llama({{"parallel.sequence", "true"}}),
            (Texts{"parallel.sequence: has no effect when tensor is 1; write false, or a larger tensor"}));
  EXPECT_EQ(llama({{"parallel.context", "4"}}), Texts{});
  EXPECT_EQ(
      llama({{"parallel.context", "4"}, {"batch.sequence_length", "4100"}}),
      (Texts{"parallel.context: 4 ranks with an early and a late piece each do not divide a sequence of 4100 tokens; "
             "nearest: 2"}));
  EXPECT_EQ(
      llama({{"parallel.context", "4"}, {"batch.sequence_length", "4100"}, {"parallel.context_method", "all_to_all"}}),
      Texts{});
  EXPECT_EQ(
      llama({{"parallel.context", "4"}, {"batch.sequence_length", "4100"}, {"parallel.context_method", "all_gather"}}).size(), 1u);
  EXPECT_EQ(llama({{"parallel.context", "32"}, {"parallel.tensor", "8"}, {"parallel.context_method", "all_gather"}}, 32), Texts{});
  EXPECT_EQ(
      llama({{"parallel.context", "32"}, {"parallel.tensor", "8"}, {"parallel.context_method", "all_to_all"}}, 32),
      (Texts{"parallel.context: 32 does not divide the 16 heads of a tensor rank, which all_to_all spreads; "
             "nearest: 16"}));
}

TEST(Check, Schedules) {
  const Texts unknown = dualpipe({{"schedule", "dualpip"}});
  ASSERT_EQ(unknown.size(), 1u);
  EXPECT_TRUE(unknown[0].starts_with("schedule: \"dualpip\" is not one of ")) << unknown[0];
  EXPECT_TRUE(unknown[0].ends_with("; did you mean dualpipe?")) << unknown[0];
  EXPECT_EQ(dualpipe({{"schedule", "1f1b"}}).size(), 1u);  // expert: paired
  EXPECT_TRUE(dualpipe({{"schedule", "1f1b"}})[0].starts_with(
      "overlap.expert: paired needs a schedule with overlapped pairs of forward and backward; 1f1b has none; write "
      "blocking or async"));
  EXPECT_EQ(dualpipe({{"schedule", "1f1b"}, {"overlap.expert", "async"}}), Texts{});
  const Texts few = dualpipe({{"batch.global_sequences", "2048"}});  // 16 microbatches; 32 are the least
  ASSERT_EQ(few.size(), 1u);
  EXPECT_TRUE(few[0].starts_with("schedule: 16 microbatches on 16 pipeline ranks: ")) << few[0];
  const Texts chunks = llama({{"parallel.virtual_stages", "2"}});
  ASSERT_EQ(chunks.size(), 1u);
  EXPECT_TRUE(chunks[0].starts_with("parallel.virtual_stages: ")) << chunks[0];
  EXPECT_EQ(llama({{"batch.global_sequences", "9007199254740992"}}).size(), 1u);
}

TEST(Check, Stages) {
  EXPECT_EQ(llama({{"parallel.pipeline", "4"}, {"stage_layers", "[31, 32, 32, 31]"}}), Texts{});
  EXPECT_EQ(llama({{"parallel.pipeline", "4"}, {"stage_layers", "[0, 63, 63, 0]"}}), Texts{});
  EXPECT_EQ(llama({{"parallel.pipeline", "4"}, {"stage_layers", "[63, 0, 31, 31]"}}),
            (Texts{"stage_layers: the numbers add up to 125; the model has 126 layers",
                   "stage_layers: stage 1 would hold nothing; give it a layer"}));
  EXPECT_EQ(llama({{"parallel.pipeline", "4"}, {"stage_layers", "[63, 63]"}}),
            (Texts{"stage_layers: has 2 numbers; the schedule has 4 stages, 1 of them a pipeline rank"}));
  EXPECT_EQ(llama({{"parallel.pipeline", "256"}}, 32),
            (Texts{"parallel.pipeline: 256 stages for 126 layers, embedding and head; at most 128"}));
}

TEST(Check, Zero) {
  EXPECT_EQ(deepseek("deepseek-v3-1f1b", {{"parallel.zero", "2"}}), Texts{});
  EXPECT_EQ(dualpipe({{"parallel.zero", "2"}}), Texts{});
  // 48 data ranks over 16 experts' GPUs: an expert is on 3, which 2 does not divide.
  EXPECT_EQ(deepseek("deepseek-v3-zero3-flat",
                     {{"parallel.expert", "16"}, {"parallel.zero_group", "2"}, {"batch.global_sequences", "384"}}, 6),
            (Texts{"parallel.zero_group: 2 does not divide the 3 ranks that hold the same experts; nearest: 1, 3"}));
  // 192 data ranks over 64: again 3, and in DualPipe the two ranks that hold a stage have 6, which 4 does not divide.
  EXPECT_EQ(deepseek("deepseek-v3-dualpipe", {{"parallel.zero_group", "4"}, {"batch.global_sequences", "23040"}}, 384),
            (Texts{"parallel.zero_group: 4 does not divide the 3 ranks that hold the same experts; nearest: 3, 6"}));
  EXPECT_EQ(deepseek("deepseek-v3-dualpipe",
                     {{"parallel.zero_group", "6"}, {"batch.global_sequences", "23040"}, {"collectives.all_gather", "auto"},
                      {"collectives.reduce_scatter", "auto"}, {"collectives.all_reduce", "auto"}},
                     384),
            Texts{});
  EXPECT_EQ(dualpipe({{"parallel.zero", "3"}}), Texts{});
  EXPECT_EQ(
      llama({{"parallel.zero_group", "5"}}),
      (Texts{"parallel.zero_group: 5 does not divide the 32 ranks that hold the same parameters; nearest: 4, 8"}));
  EXPECT_EQ(llama({{"parallel.zero_group", "16"}}), Texts{});
  EXPECT_EQ(llama({{"parallel.zero_group", "node"}}), Texts{});
  EXPECT_EQ(llama({{"parallel.zero_group", "node"}, {"parallel.tensor", "8"}}),
            (Texts{"parallel.zero_group: no two ranks of a data-parallel group share a node; write all or a number"}));
  EXPECT_EQ(llama({{"parallel.zero_group", "node"}, {"parallel.zero", "0"}}),
            (Texts{"parallel.zero_group: has no effect when zero is 0; write all"}));
  EXPECT_EQ(llama({{"parallel.reshard_after_forward", "false"}}),
            (Texts{"parallel.reshard_after_forward: has no effect unless zero is 3; write true"}));
}

TEST(Check, Order) {
  EXPECT_EQ(dualpipe({{"parallel.order", "[pipeline, tensor, context, expert, data]"}}), Texts{});
  EXPECT_EQ(
      deepseek("deepseek-v3-1f1b", {{"parallel.order", "[tensor, context, expert, pipeline, data]"}}),
      (Texts{"parallel.order: the ranks of a pipeline stage are not the same for dense layers and for experts; put "
             "pipeline first or last"}));
  EXPECT_EQ(llama({{"parallel.tensor", "2"},
                   {"parallel.pipeline", "2"},
                   {"parallel.order", "[tensor, context, expert, pipeline, data]"}}),
            Texts{});  // no experts: nothing to disagree with
}

TEST(Check, AlgorithmsAndSms) {
  const Texts unknown = dualpipe({{"collectives.all_gather", "hierarchica"}});
  ASSERT_EQ(unknown.size(), 1u);
  EXPECT_TRUE(unknown[0].starts_with("collectives.all_gather: \"hierarchica\" is not one of auto, ")) << unknown[0];
  EXPECT_TRUE(unknown[0].ends_with("did you mean hierarchical?")) << unknown[0];
  EXPECT_EQ(
      llama({{"collectives.all_to_all", "node_limited"}}),
      (Texts{"collectives.all_to_all: node_limited routes tokens to experts; llama-3.1-405b has none; write auto"}));
  EXPECT_EQ(dualpipe({{"sms.communication", "132"}}),
            (Texts{"sms.communication: 132 leaves none of the 132 SMs of gpu to compute; at most 131"}));
  EXPECT_EQ(llama({{"recompute", "[mla_up, experts]"}}),
            (Texts{"recompute: llama-3.1-405b has no latent attention; leave out mla_up",
                   "recompute: llama-3.1-405b has no experts; leave out experts"}));
}

TEST(Check, GroupsThatAnAlgorithmCannotServe) {
  // 12 pipeline-free ranks of 3 nodes of 4: tensor groups of 6 lie 4 + 2 and 2 + 4 on two nodes.
  ModelSpec model = model_of("llama-3.1-405b");
  model.heads = model.kv_heads = 12;
  model.ffn = 12;
  const auto plan = plan_of("deepseek-v3-tp8-pp16", {{"parallel.expert_tensor", "1"},
                                                     {"recompute", "none"},
                                                     {"parallel.pipeline", "1"},
                                                     {"parallel.tensor", "6"},
                                                     {"parallel.sequence", "false"},
                                                     {"collectives.all_reduce", "hierarchical"},
                                                     {"batch.global_sequences", "8"}})
                        .plan;
  const Texts found = texts(check(model, cluster_of(3, 4), plan, {}));
  ASSERT_EQ(found.size(), 1u);
  EXPECT_TRUE(found[0].starts_with("collectives.all_reduce: hierarchical cannot serve the tensor groups of 6 ranks: "))
      << found[0];
}

TEST(Check, AllProblemsAtOnce) {
  EXPECT_EQ(dualpipe({{"parallel.pipeline", "7"},
                      {"parallel.expert", "3"},
                      {"schedule", "x"},
                      {"sms.communication", "999"},
                      {"collectives.all_gather", "x"},
                      {"parallel.sequence", "true"}})
                .size(),
            6u);
}

TEST(Check, WhatPassesHasAWholeGridAndWholeMicrobatches) {
  const ModelSpec model = model_of("deepseek-v3");
  const ParallelPlan base = plan_of("deepseek-v3-1f1b").plan;
  rc::check("random degrees are refused, or fit", [&] {
    ParallelPlan plan = base;
    const auto degree = rc::gen::element(1, 2, 3, 4, 5, 8, 16, 64, 1000);
    plan.parallel.tensor = *degree;
    plan.parallel.context = *degree;
    plan.parallel.pipeline = *degree;
    plan.parallel.expert = *degree;
    plan.parallel.expert_tensor = *degree;
    plan.batch.global_sequences = *rc::gen::element(1, 30, 512, 4096);
    const ClusterSpec cluster = cluster_of(*rc::gen::element(1, 3, 16));
    if (!check(model, cluster, plan, {}).empty()) return;
    const Grid grid = make_grid(resolve(plan, cluster), cluster.ranks());
    RC_ASSERT(grid.tensor * grid.context * grid.data * grid.pipeline == cluster.ranks());
    RC_ASSERT(grid.expert_tensor * grid.expert * grid.expert_data * grid.pipeline == cluster.ranks());
    RC_ASSERT(grid.pipelines_agree);
    const double microbatches = microbatches_of(plan, cluster);
    RC_ASSERT(microbatches >= 1 && microbatches == std::floor(microbatches));
  });
}

}  // namespace stepsim::check_test
