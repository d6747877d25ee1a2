// Models, plans and experiments: what is shipped reads without a problem; what is wrong is named by file, line and key.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "support/temp_folder.hpp"
#include "workloads/experiment.hpp"
#include "workloads/model.hpp"
#include "workloads/plan.hpp"

namespace stepsim::inputs_test {

const std::string kHome = STEPSIM_SOURCE_DIR;
using Texts = std::vector<std::string>;

using Folder = test::TempFolder;

// "LINE KEY: REASON" of each problem.
Texts lines_of(const Reading& reading) {
  Texts result;
  for (const Problem& p : reading.problems) result.push_back(fmt::format("{} {}: {}", p.line, p.key, p.reason));
  return result;
}

const std::string kModel =
    "name: m\nlayers: 4\nhidden: 64\nvocabulary: 100\nheads: 8\nkv_heads: 2\nffn: 256\n";  // 7 lines
const std::string kMoe =
    "name: m\nlayers: 4\nhidden: 64\nvocabulary: 100\nheads: 8\nffn: 256\n"
    "experts:\n  count: 8\n  top_k: 2\n  ffn: 32\n";
const std::string kPlan = "name: p\nbatch: {global_sequences: 8, sequence_length: 128}\n";

Texts model_problems(const std::string& text) {
  const Folder folder;
  Reading reading;
  read_model(reading, folder.write("m.yaml", text), {});
  return lines_of(reading);
}

Texts plan_problems(const std::string& text) {
  const Folder folder;
  Reading reading;
  read_plan(reading, folder.write("p.yaml", text), {});
  return lines_of(reading);
}

ModelSpec shipped_model(const std::string& name) {
  Reading reading;
  const ModelSpec model = read_model(reading, kHome + "/workloads/models/" + name + ".yaml", {});
  EXPECT_EQ(lines_of(reading), Texts{});
  return model;
}

TEST(Shipped, EveryModelReads) {
  const Texts names = shipped(kHome, Document::model);
  EXPECT_GE(names.size(), 3u);
  for (const std::string& name : names) EXPECT_EQ(shipped_model(name).name, name);
}

TEST(Shipped, EveryPlanReads) {
  const Texts names = shipped(kHome, Document::plan);
  EXPECT_GE(names.size(), 8u);
  for (const std::string& name : names) {
    Reading reading;
    EXPECT_EQ(read_plan(reading, kHome + "/workloads/plans/" + name + ".yaml", {}).name, name);
    EXPECT_EQ(lines_of(reading), Texts{}) << name;
  }
}

TEST(Shipped, EveryExperimentReads) {
  const Texts names = shipped(kHome, Document::experiment);
  EXPECT_GE(names.size(), 8u);
  for (const std::string& name : names) {
    Reading reading;
    const Experiment e = read_experiment(reading, kHome + "/workloads/experiments/" + name + ".yaml", kHome);
    EXPECT_EQ(lines_of(reading), Texts{}) << name;
    EXPECT_EQ(e.name, name);
    EXPECT_FALSE(e.description.empty());
  }
}

TEST(Shipped, DeepSeekV3IsItsConfig) {
  const ModelSpec m = shipped_model("deepseek-v3");
  EXPECT_EQ(m.layers, 61);
  EXPECT_EQ(m.hidden, 7168);
  EXPECT_EQ(m.attention, (Attention{Attention::Kind::mla, 1536, 512, 64, 128, 128}));
  EXPECT_EQ(m.experts, (Experts{256, 8, 2048, 1, 2048, 3, 1, 8}));
  EXPECT_FALSE(m.has_experts(2));
  EXPECT_TRUE(m.has_experts(3));
  EXPECT_EQ(m.value_dim(), 128);
}

TEST(Shipped, TheTrainedPlanIsTheReports) {
  Reading reading;
  const ParallelPlan p = read_plan(reading, kHome + "/workloads/plans/deepseek-v3-dualpipe.yaml", {});
  EXPECT_EQ(p.parallel.expert, 64);
  EXPECT_EQ(p.parallel.pipeline, 16);
  EXPECT_EQ(p.parallel.data, 0);
  EXPECT_EQ(p.batch, (Batch{15360, 1, 4096}));
  EXPECT_EQ(p.schedule, "dualpipe");
  EXPECT_EQ(p.overlap.expert, Overlap::Policy::paired);
  EXPECT_EQ(p.recompute.modules, (std::set<Module>{Module::norm, Module::mla_up, Module::swiglu}));
  EXPECT_EQ(p.precision.moments, Precision::bf16);
  EXPECT_EQ(p.precision.gather, Precision::fp8);
  EXPECT_EQ(p.routing.max_nodes, 4);
  EXPECT_EQ(p.sms.communication, 20);
}

TEST(Models, DefaultsFollowFromWhatIsGiven) {
  const Folder folder;
  Reading reading;
  const ModelSpec m = read_model(reading, folder.write("m.yaml", kMoe), {});
  EXPECT_EQ(lines_of(reading), Texts{});
  EXPECT_EQ(m.kv_heads, 8);
  EXPECT_EQ(m.head_dim, 8);
  EXPECT_EQ(m.experts, (Experts{8, 2, 32, 0, 0, 0, 1, 1}));
  EXPECT_EQ(m.attention.kind, Attention::Kind::gqa);
}

TEST(Models, CrossChecks) {
  EXPECT_EQ(model_problems(kModel), Texts{});
  EXPECT_EQ(model_problems(""), (Texts{"0 : is empty; a mapping of keys is due"}));
  EXPECT_EQ(model_problems(kModel + "head: 3\n"), (Texts{"8 head: unknown key; did you mean heads?"}));
  EXPECT_EQ(model_problems("name: m\nlayers: 4\nhidden: 64\nvocabulary: 100\nheads: 8\nkv_heads: 3\nffn: 256\n"),
            (Texts{"6 kv_heads: 3 does not divide 8 heads"}));
  EXPECT_EQ(model_problems("name: m\nlayers: 4\nhidden: 65\nvocabulary: 100\nheads: 8\nffn: 256\n"),
            (Texts{"1 head_dim: missing, and hidden 65 is not a multiple of heads 8; write head_dim"}));
  EXPECT_EQ(model_problems(kModel + "attention: {kind: gqa, kv_rank: 3}\n"),
            (Texts{"8 attention.kv_rank: belongs to latent attention; write kind: mla, or leave it out"}));
  EXPECT_EQ(model_problems(kModel + "attention: {kind: mla, kv_rank: 3, rope_dim: 4, nope_dim: 8, v_dim: 8}\n"),
            (Texts{"6 kv_heads: latent attention has a key and a value for each of the 8 heads; write 8"}));
  EXPECT_EQ(
      model_problems(kModel + "attention: {kind: mla}\n"),
      (Texts{"8 attention.kv_rank: missing; write a whole number",
             "8 attention.rope_dim: missing; write a whole number",
             "8 attention.nope_dim: missing; write a whole number", "8 attention.v_dim: missing; write a whole number",
             "6 kv_heads: latent attention has a key and a value for each of the 8 heads; write 8"}));
  EXPECT_EQ(model_problems(kMoe + "  groups: 3\n"), (Texts{"11 experts.groups: 3 does not divide 8 experts"}));
  EXPECT_EQ(
      model_problems(kMoe + "  dense_layers: 4\n"),
      (Texts{"11 experts.dense_layers: 4 leaves none of 4 layers with experts; for a dense model leave out experts"}));
  EXPECT_EQ(model_problems(kMoe + "  shared_ffn: 4\n"),
            (Texts{"11 experts.shared_ffn: there are no shared experts; write shared, or leave it out"}));
  EXPECT_EQ(model_problems("name: m\nlayers: 4\nhidden: 64\nvocabulary: 100\nheads: 8\n"),
            (Texts{"1 ffn: missing; write a whole number"}));
  EXPECT_EQ(
      model_problems("model_type: llama\n"),
      (Texts{"1 num_hidden_layers: missing; write a whole number", "1 hidden_size: missing; write a whole number",
             "1 vocab_size: missing; write a whole number", "1 num_attention_heads: missing; write a whole number",
             "1 intermediate_size: missing; write a whole number"}));
  EXPECT_EQ(model_problems("name: m\nlayers: 2000000000\nhidden: 64\nvocabulary: 100\nheads: 8\nffn: 1\n"),
            (Texts{"2 layers: 2000000000 is too large; at most 10000"}));
}

TEST(Models, TooManyPicks) {
  const std::string text =
      "name: m\nlayers: 4\nhidden: 64\nvocabulary: 100\nheads: 8\nexperts: {count: 2, top_k: 3, ffn: 32}\n";
  EXPECT_EQ(model_problems(text), (Texts{"6 experts.top_k: 3 is more than the 2 experts"}));
}

TEST(Plans, EveryKeyHasADefaultOrIsRequired) {
  const Folder folder;
  Reading reading;
  const ParallelPlan plan = read_plan(reading, folder.write("p.yaml", kPlan), {});
  EXPECT_EQ(lines_of(reading), Texts{});
  ParallelPlan expected;
  expected.name = "p";
  expected.batch = {8, 1, 128};
  EXPECT_EQ(plan, expected);
  for (const Explained& e : reading.explained) {
    const bool given = e.key == "name" || e.key == "batch.global_sequences" || e.key == "batch.sequence_length";
    EXPECT_EQ(e.origin.starts_with("default: "), !given) << e.key << " " << e.origin;
    EXPECT_GT(e.origin.size(), std::string("default: ").size()) << e.key;
  }
  EXPECT_EQ(plan_problems("name: p\n"),
            (Texts{"1 batch: missing; write a mapping", "1 batch.global_sequences: missing; write a whole number",
                   "1 batch.sequence_length: missing; write a whole number"}));
}

TEST(Plans, ReadsWhatTheDefaultsAreNot) {
  const Folder folder;
  Reading reading;
  const ParallelPlan p = read_plan(
      reading,
      folder.write("p.yaml", kPlan + "parallel: {data: 16, zero: 2, zero_group: node, context_method: all_to_all, "
                                     "reshard_after_forward: false, order: [pipeline, data, tensor, expert, context]}\n"
                                     "stage_layers: [3, 0]\nrecompute: full\nsms: {communication: 8, policy: shared}\n"
                                     "overlap: {gather_prefetch: 2, reduce: at_end, tensor: async, context: blocking, "
                                     "expert: async, pipeline: blocking}\n"),
      {});
  EXPECT_EQ(lines_of(reading), Texts{});
  EXPECT_EQ(p.parallel.data, 16);
  EXPECT_EQ(p.parallel.zero_group, -1);
  EXPECT_EQ(p.parallel.context_method, Parallel::ContextMethod::all_to_all);
  EXPECT_FALSE(p.parallel.reshard_after_forward);
  EXPECT_EQ(p.parallel.order[0], Axis::pipeline);
  EXPECT_EQ(p.parallel.order[4], Axis::context);
  EXPECT_EQ(p.stage_layers, (std::vector<int>{3, 0}));
  EXPECT_TRUE(p.recompute.full);
  EXPECT_EQ(p.sms.policy, SmUse::Sharing::shared);
  EXPECT_EQ(p.overlap, (Overlap{2, Overlap::Reduce::at_end, Overlap::Parameters::at_end, Overlap::Policy::async,
                                Overlap::Policy::blocking, Overlap::Policy::async, Overlap::Policy::blocking}));
}

TEST(Plans, WhatNoCodeHonoursIsRefused) {
  EXPECT_EQ(plan_problems(kPlan + "parallel: {tp: 6}\n").size(), 1u);
  EXPECT_EQ(plan_problems(kPlan + "paralel: {tensor: 6}\n"), (Texts{"3 paralel: unknown key; did you mean parallel?"}));
  EXPECT_EQ(plan_problems(kPlan + "parallel: 3\n"), (Texts{"3 parallel: found a single value where a mapping is due"}));
  EXPECT_EQ(plan_problems(kPlan + "parallel: {data: atuo}\n"),
            (Texts{"3 parallel.data: \"atuo\" is neither auto nor a whole number of at least 1; did you mean auto?"}));
  EXPECT_EQ(plan_problems(kPlan + "parallel: {zero_group: -2}\n"),
            (Texts{"3 parallel.zero_group: \"-2\" is neither all nor node nor a whole number of at least 1"}));
  EXPECT_EQ(plan_problems(kPlan + "parallel: {zero: 4}\n"), (Texts{"3 parallel.zero: 4 is too large; at most 3"}));
  EXPECT_EQ(
      plan_problems(kPlan + "parallel: {order: [tensor, data, data, expert, pipelin]}\n"),
      (Texts{
          "3 parallel.order: \"pipelin\" is not one of tensor, context, expert, data, pipeline; did you mean pipeline?",
          "3 parallel.order: context stands 0 times in it; each axis once is due",
          "3 parallel.order: data stands 2 times in it; each axis once is due",
          "3 parallel.order: pipeline stands 0 times in it; each axis once is due"}));
  EXPECT_EQ(plan_problems(kPlan + "overlap: {tensor: paired}\n"),
            (Texts{"3 overlap.tensor: \"paired\" is not one of blocking, async"}));
  EXPECT_EQ(plan_problems(kPlan + "routing: {balance: unifrom}\n"),
            (Texts{"3 routing.balance: \"unifrom\" is neither uniform, nor zipf:EXPONENT, nor a .csv or .yaml file of "
                   "recorded counts; did you mean uniform?"}));
  EXPECT_EQ(plan_problems(kPlan + "rates: measured\n"),
            (Texts{"3 rates: \"measured\" is not one of speed_of_light, calibrated"}));
  EXPECT_EQ(
      plan_problems(kPlan + "recompute: [norm, swigl]\n"),
      (Texts{"3 recompute: \"swigl\" is neither none, nor full, nor a list of norm, attention, mla_up, swiglu, ffn, "
             "experts, alternate; did you mean swiglu?"}));
  EXPECT_EQ(plan_problems(kPlan + "recompute: [norm, norm]\n"), (Texts{"3 recompute: norm stands twice in it"}));
  EXPECT_EQ(plan_problems(kPlan + "stage_layers: 4\n"),
            (Texts{"3 stage_layers: write auto, or a list with a number of layers for each stage"}));
  EXPECT_EQ(plan_problems(kPlan + "stage_layers: []\n"),
            (Texts{"3 stage_layers: the list is empty; write auto, or a number of layers for each stage"}));
  EXPECT_EQ(plan_problems(kPlan + "precision: {linear: fp4, weights: none, reduce: tf32, master: none}\n"),
            (Texts{"3 precision.linear: there is no rate for fp4 arithmetic; one of fp8, bf16, fp16, tf32, fp32",
                   "3 precision.weights: there is no step without it; one of fp4, fp8, bf16, fp16, fp32",
                   "3 precision.gather: there is no step without it; one of fp4, fp8, bf16, fp16, fp32",
                   "3 precision.reduce: tf32 is stored as fp32; write fp32"}));
}

TEST(Experiments, PathsAreRelativeToTheirFolder) {
  const Folder folder;
  const std::string model = folder.write("m.yaml", kModel);
  const std::string path =
      folder.write("e.yaml", "name: e\nmodel: m.yaml\ncluster: h800-256x8\nplan: ./m.yaml\nscenario: m.yaml\n");
  Reading reading;
  const Experiment e = read_experiment(reading, path, kHome);
  EXPECT_EQ(lines_of(reading), Texts{});
  EXPECT_EQ(e.model, model);
  EXPECT_EQ(e.plan, model);
  EXPECT_EQ(e.scenario, model);
  EXPECT_EQ(e.cluster, kHome + "/platforms/h800-256x8.yaml");
}

TEST(Experiments, UnknownNamesListTheShippedOnes) {
  const Folder folder;
  Reading reading;
  const std::string path = folder.write("e.yaml", "name: e\nmodel: deepseek-v33\ncluster: nowhere/c.yaml\nplna: x\n");
  read_experiment(reading, path, kHome);
  ASSERT_EQ(reading.problems.size(), 4u);
  const Texts found = lines_of(reading);
  EXPECT_TRUE(found[0].starts_with("2 model: no model \"deepseek-v33\" is shipped; did you mean deepseek-v3? one of "))
      << found[0];
  EXPECT_TRUE(found[1].starts_with("3 cluster: there is no file ")) << found[1];
  EXPECT_EQ(found[2], "1 plan: missing; write a text");
  EXPECT_EQ(found[3], "4 plna: unknown key; did you mean plan?");
}

TEST(Overridden, KeysGoToTheirDocument) {
  Reading reading;
  const Overrides o = split_overrides(reading, {"plan.schedule=1f1b", "model.layers=4", "cluster.nodes=8",
                                                "scenario.stragglers=[{ranks: [1]}]", "plan.parallel.tensor=2=3"});
  EXPECT_EQ(lines_of(reading), Texts{});
  ASSERT_EQ(o.plan.size(), 2u);
  EXPECT_EQ(o.plan[0].key, "schedule");
  EXPECT_EQ(o.plan[0].value, "1f1b");
  EXPECT_EQ(o.plan[1].key, "parallel.tensor");
  EXPECT_EQ(o.plan[1].value, "2=3");
  EXPECT_EQ(o.model.at(0).key, "layers");
  EXPECT_EQ(o.cluster.at(0).value, "8");
  EXPECT_EQ(o.scenario.at(0).value, "[{ranks: [1]}]");
}

TEST(Overridden, UnknownDocumentsAreProblems) {
  Reading reading;
  split_overrides(reading, {"plann.schedule=x", "schedule=x", "plan.schedule", ""});
  EXPECT_EQ(lines_of(reading),
            (Texts{"0 plann.schedule: \"plann\" is not one of model, cluster, plan, scenario; did you mean plan?",
                   "0 schedule: write DOCUMENT.KEY=VALUE, such as plan.schedule=1f1b",
                   "0 plan.schedule: write DOCUMENT.KEY=VALUE, such as plan.schedule=1f1b",
                   "0 : write DOCUMENT.KEY=VALUE, such as plan.schedule=1f1b"}));
}

}  // namespace stepsim::inputs_test
