// Summaries of a validation, what rows are taken to mean, and what elements are worth.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <map>

#include "sim/validate/validation.hpp"
#include "tests/support/temp_file.hpp"

namespace stepsim::validation_test {

RunResult row(const std::string& family, double error) {
  RunResult r;
  r.family = family;
  r.gpu = "a GPU";
  r.run.step_s = 10;
  r.predicted_s = 10 * (1 + error);
  r.error = error;
  return r;
}

// Family A errs by 10 %, 20 % and 30 %, family B by -8 % once: means 20 % and 8 %, alike 14 %. Of the weight, half lies on
// B's one row and half on A's three: the median stands between -8 % and 10 %.
TEST(Validation, FamiliesWeighAlike) {
  Validation v;
  v.results = {row("A", 0.1), row("A", 0.2), row("A", 0.3), row("B", -0.08)};
  summarise(v);
  EXPECT_NEAR(v.rows_alike.mean_absolute, 0.17, 1e-12);
  EXPECT_NEAR(v.rows_alike.signed_median, 0.15, 1e-12);
  EXPECT_NEAR(v.families_alike.mean_absolute, 0.14, 1e-12);
  EXPECT_NEAR(v.families_alike.signed_median, 0.01, 1e-12);
  ASSERT_EQ(v.families.size(), 2u);
  EXPECT_EQ(v.families[0].simulated, 3);
}

TEST(Validation, WhatWasNotSimulatedIsCountedAndHasNoError) {
  Validation v;
  v.results = {row("A", 0.1), row("A", 0.5)};
  v.results[1].problems = {"gpu: none is shipped"};
  summarise(v);
  EXPECT_EQ(v.families[0].rows, 2);
  EXPECT_EQ(v.families[0].simulated, 1);
  EXPECT_NEAR(v.families_alike.mean_absolute, 0.1, 1e-12);
}

TEST(Validation, AFamilyIsItsSourceWithoutTheRelease) {
  PublishedRun run;
  run.source = "NVIDIA DGXC benchmarking recipes v25.04.02";
  EXPECT_EQ(family_of(run), "NVIDIA DGXC benchmarking recipes");
}

PublishedRun megatron() {
  PublishedRun run;
  run.id = "a run";
  run.layers = 8;
  run.hidden = 1024;
  run.ffn = 4096;
  run.ffn_matrices = 2;
  run.heads = run.kv_heads = 16;
  run.head_dim = 64;
  run.vocabulary = 51200;
  run.attention = "MHA";
  run.sequence_length = 2048;
  run.gpu = "A100-80GB-SXM";
  run.gpus = run.gpus_per_node = 8;
  run.tensor = 2;
  run.pipeline = 2;
  run.data = 2;
  run.microbatch = 1;
  run.global_batch = 16;
  run.shard = "DDP (no ZeRO)";
  run.precision = "fp16";
  run.recompute = "none";
  run.schedule = "1F1B";
  run.flash_attention = "no (fused softmax)";
  return run;
}

bool assumes(const Translation& t, std::string_view id) {
  return std::find(t.assumptions.begin(), t.assumptions.end(), id) != t.assumptions.end();
}

TEST(Translation, MegatronWaitsForMessagesAndKeepsMasters) {
  const Translation t = translate(megatron());
  EXPECT_TRUE(t.problems.empty()) << t.problems[0];
  EXPECT_EQ(t.plan.overlap.pipeline, Overlap::Policy::blocking);
  EXPECT_EQ(t.plan.kernels.loss, Kernels::Loss::separate);
  EXPECT_EQ(t.plan.kernels.optimizer, Kernels::Optimizer::masters);
  EXPECT_EQ(t.plan.kernels.attention, Kernels::Attention::unfused);
  EXPECT_TRUE(assumes(t, "blocking-messages"));
}

// A row that stands twice counts once, and a step takes a time that steps take.
TEST(Runs, RowsTwiceAndImpossibleTimesAreProblems) {
  std::ifstream published(STEPSIM_SOURCE_DIR "/workloads/runs/published.csv");
  std::string names, row;
  std::getline(published, names);
  std::getline(published, row);
  const std::string id = row.substr(0, row.find(','));
  const test::TempFile twice(names + "\n" + row + "\n" + row + "\n", ".csv");
  const RunFile file = read_runs(twice.path());
  ASSERT_EQ(file.rows.size(), 2u);
  EXPECT_TRUE(file.rows[0].problems.empty());
  EXPECT_EQ(file.rows[1].problems, (std::vector<std::string>{"id: " + id + " stands in line 2, too"}));
  for (const char* time : {"1e-308", "0", "1e9"}) {
    // Every other column is left empty: only what is said of the time counts here.
    std::string line = id;
    for (std::size_t at = names.find(','); at != std::string::npos; at = names.find(',', at + 1)) {
      line += ",";
      if (names.compare(at + 1, 7, "step_s,") == 0) line += time;
    }
    const test::TempFile odd(names + "\n" + line + "\n", ".csv");
    const std::vector<std::string> problems = read_runs(odd.path()).rows[0].problems;
    EXPECT_NE(std::find(problems.begin(), problems.end(), std::string("step_s: \"") + time + "\" is not a step's time, 1e-6 to 1e6 seconds"),
              problems.end())
        << time;
  }
}

// Megatron-Bridge's recipe for DeepSeek-V3: 61 layers on 16 stages are 4 each and 1. A row says whether it also predicts.
TEST(Translation, DeepSeekV3InMegatronBridge) {
  std::map<std::string, PublishedRun> runs;
  for (const RunRow& row : read_runs(STEPSIM_SOURCE_DIR "/workloads/runs/published.csv").rows) runs[row.run.id] = row.run;
  std::vector<int> stages(16, 4);
  stages.back() = 1;
  const Translation with = translate(runs.at("MB25.11-deepseek-v3-B200-FP8-MX-251"));
  EXPECT_EQ(with.plan.stage_layers, stages);
  EXPECT_TRUE(with.plan.multi_token_prediction);
  EXPECT_EQ(with.model.prediction_layers, 1);
  const Translation without = translate(runs.at("MB25.11-deepseek-v3-GB200-BF16-242"));
  EXPECT_EQ(without.plan.stage_layers, stages);  // 4 pipeline ranks of 4 chunks
  EXPECT_FALSE(without.plan.multi_token_prediction);
}

TEST(Translation, GpusAreWholeNodes) {
  PublishedRun run = megatron();
  run.gpus = 8;
  run.gpus_per_node = 3;
  const std::vector<std::string> problems = translate(run).problems;
  EXPECT_NE(std::find(problems.begin(), problems.end(), "8 GPUs are no whole number of nodes of 3"), problems.end());
}

// The notes of SimuMax's rows say "mem = max allocated GiB"; BigScience's give no unit.
TEST(Translation, MeasuredMemoryInTheUnitOfItsNotes) {
  std::map<std::string, double> memory;
  for (const RunRow& row : read_runs(STEPSIM_SOURCE_DIR "/workloads/runs/published.csv").rows) {
    if (row.run.memory_gb) memory[row.run.id] = *row.run.memory_gb;
  }
  EXPECT_DOUBLE_EQ(memory.at("SMX-llama3_70b_l12_tp1_pp2_dp4_mbc4"), 66.55 * 1024 * 1024 * 1024 / 1e9);
  EXPECT_DOUBLE_EQ(memory.at("BS-001"), 35);
}

TEST(Translation, FusedLossWhereTheRowSaysSo) {
  PublishedRun run = megatron();
  run.notes = "cross-entropy fusion; tp-comm-overlap off";
  EXPECT_EQ(translate(run).plan.kernels.loss, Kernels::Loss::fused);
}

TEST(Translation, ComposerShardsFlatAndAttendsInTriton) {
  PublishedRun run = megatron();
  run.tensor = run.pipeline = 1;
  run.data = 8;
  run.shard = "FSDP FULL_SHARD (mixed precision DEFAULT)";
  run.precision = "amp_bf16";
  run.flash_attention = "yes (attn_impl flash/triton default)";
  const Translation t = translate(run);
  EXPECT_EQ(t.plan.kernels.shards, Kernels::Shards::flat);
  EXPECT_EQ(t.plan.kernels.optimizer, Kernels::Optimizer::separate);
  EXPECT_EQ(t.plan.kernels.attention, Kernels::Attention::triton);
  EXPECT_EQ(t.plan.precision.reduce, Precision::fp32);
}

TEST(Translation, FSDP2CopiesByParameter) {
  PublishedRun run = megatron();
  run.tensor = run.pipeline = 1;
  run.data = 8;
  run.shard = "FSDP2 (ZeRO-3)";
  run.flash_attention = "yes (SDPA)";
  run.recompute = "selective (op)";
  const Translation t = translate(run);
  EXPECT_EQ(t.plan.kernels.shards, Kernels::Shards::by_parameter);
  EXPECT_FALSE(t.plan.kernels.fused);
  EXPECT_TRUE(t.plan.recompute.modules.contains(Module::alternate));
}

// Every assumption has a name of its own, and what would be decided otherwise is a key of model, plan or cluster.
TEST(Assumptions, AreNamedOnceAndSayWhatInstead) {
  std::vector<std::string_view> ids;
  for (const auto* table : {&run_assumptions(), &cost_elements()}) {
    for (const Assumption& a : *table) {
      EXPECT_EQ(std::find(ids.begin(), ids.end(), a.id), ids.end()) << a.id;
      ids.push_back(a.id);
      for (const std::string& set : a.instead) {
        const bool known = set.starts_with("plan.") || set.starts_with("model.") || set.starts_with("cluster.");
        EXPECT_TRUE(known) << a.id << ": " << set;
      }
    }
  }
}

}  // namespace stepsim::validation_test
