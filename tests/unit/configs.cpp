// Hugging Face configs and the keys of a model's YAML that came with them: what is wrong is refused by line and key,
// what is left out or taken for something else is noted.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "support/configs.hpp"
#include "support/contains.hpp"
#include "support/temp_file.hpp"
#include "workloads/families/families.hpp"

namespace stepsim::configs_test {
using Texts = std::vector<std::string>;

struct Outcome {
  ModelSpec model;
  Texts problems, notes;
};

Outcome read(const std::string& text, const std::vector<Override>& changes = {}) {
  const test::TempFile file(text, ".json");
  Reading reading;
  Outcome outcome;
  outcome.model = read_model(reading, file.path(), changes);
  for (const Problem& p : reading.problems)
    outcome.problems.push_back(fmt::format("{} {}: {}", p.line, p.key, p.reason));
  outcome.notes = reading.notes;
  return outcome;
}

// A small model's config with one line replaced or added.
std::string config(const std::string& model_type, const std::string& more = "") {
  return fmt::format(R"({{
  "model_type": "{}",
  "hidden_size": 64, "num_hidden_layers": 4, "num_attention_heads": 8,
  "intermediate_size": 256,
  "vocab_size": 100{}{}
}})",
                     model_type, more.empty() ? "" : ",\n  ", more);
}
const char* const kExperts = R"("num_experts": 8, "num_experts_per_tok": 2, "moe_intermediate_size": 32)";

TEST(Configs, ASmallOneIsRead) {
  const Outcome o = read(config("llama", R"("num_key_value_heads": 2, "rope_theta": 1e6, "head_dim": null)"));
  EXPECT_EQ(o.problems, Texts{});
  EXPECT_EQ(o.notes, Texts{});
  EXPECT_EQ(o.model.kv_heads, 2);
  EXPECT_EQ(o.model.head_dim, 8);
  EXPECT_TRUE(o.model.name.starts_with("stepsim_test_"));
}

TEST(Configs, NamedAfterTheFileOrTheCheckpointsFolder) {
  const std::string folder = fmt::format("/tmp/stepsim_test_{}/My-Model", ::getpid());
  std::filesystem::create_directories(folder);
  std::ofstream(folder + "/config.json") << config("llama");
  for (const std::string& path : {folder, folder + "/", folder + "/config.json"}) {
    Reading reading;
    EXPECT_EQ(read_model(reading, path, {}).name, "My-Model") << path;
    EXPECT_TRUE(reading.problems.empty());
  }
  std::filesystem::remove_all(fmt::format("/tmp/stepsim_test_{}", ::getpid()));
}

TEST(Configs, UnknownFamiliesAreRefusedWithWhatWouldBeMissed) {
  const Texts like_llama = read(config("lama")).problems;
  ASSERT_EQ(like_llama.size(), 1U);
  EXPECT_TRUE(contains(like_llama[0], "2 model_type: \"lama\" is not one of llama, mistral"));
  EXPECT_TRUE(contains(like_llama[0], "did you mean llama?"));
  EXPECT_TRUE(contains(like_llama[0], "it has the keys of llama"));
  const Texts hybrid =
      read(config("jamba", R"("num_experts": 8, "mamba_d_state": 16, "attn_layer_period": 8)")).problems;
  ASSERT_EQ(hybrid.size(), 1U);
  EXPECT_TRUE(contains(hybrid[0],
                       "read like qwen3_moe, it lacks num_experts_per_tok, moe_intermediate_size, and these keys "
                       "would be missed: mamba_d_state, attn_layer_period"));
  EXPECT_EQ(read(R"({"architectures": ["X"]})").problems,
            (Texts{"1 model_type: missing; it says which family the keys belong to"}));
}

TEST(Configs, ExpertsWithoutTheirKeysAndKeysWithoutExperts) {
  EXPECT_EQ(read(config("qwen3_moe")).problems, (Texts{"1 num_experts: missing; write a whole number",
                                                       "1 num_experts_per_tok: missing; write a whole number",
                                                       "1 moe_intermediate_size: missing; write a whole number"}));
  for (const Family& family : families()) {
    if (!family.experts) continue;
    const Texts problems = read(config(std::string(family.model_type))).problems;
    EXPECT_TRUE(contains(problems, "experts")) << family.model_type;
  }
  EXPECT_EQ(
      read(config("llama", R"("num_local_experts": 8)")).problems,
      (Texts{"6 num_local_experts: model_type llama has no experts; write the model_type of a mixture of experts, or "
             "leave it out"}));
  EXPECT_EQ(read(config("llama", R"("num_local_experts": null)")).problems, Texts{});
}

TEST(Configs, AliasesAreTakenAndNoted) {
  const std::string mla = R"("kv_lora_rank": 16, "qk_nope_head_dim": 8, "qk_rope_head_dim": 4, "v_head_dim": 8,
    "num_routed_experts": 8, "num_shared_experts": 1, "num_experts_per_tok": 2, "moe_intermediate_size": 32)";
  const Outcome o = read(config("deepseek_v3", mla));
  EXPECT_EQ(o.problems, Texts{});
  EXPECT_EQ(o.notes, (Texts{"num_routed_experts is taken for n_routed_experts",
                            "num_shared_experts is taken for n_shared_experts"}));
  EXPECT_EQ(o.model.experts.count, 8);
  EXPECT_EQ(o.model.experts.shared, 1);
}

TEST(Configs, KeysThatAreNotKnownAreNoted) {
  EXPECT_EQ(read(config("llama", R"("per_layer_ffn": 3, "bos_token_id": 1)")).notes,
            (Texts{"keys that are not known, and taken to change nothing: per_layer_ffn"}));
}

TEST(Configs, SetReachesItsKeysAndNoOthers) {
  EXPECT_EQ(read(config("llama"), {{"num_hidden_layers", "7"}}).model.layers, 7);
  EXPECT_EQ(read(config("llama"), {{"num_hiden_layers", "7"}}).problems,
            (Texts{"0 num_hiden_layers: unknown key; did you mean num_hidden_layers?"}));
  const std::string wrapped = R"({"model_type": "x_vl", "text_config": )" + config("llama") + "}";
  EXPECT_EQ(read(wrapped, {{"text_config.num_hidden_layers", "7"}}).model.layers, 7);
  EXPECT_EQ(read(wrapped, {{"num_hidden_layers", "7"}}).problems.size(), 1U);
}

TEST(Configs, TheOuterConfigOfAWrapperMayTieTheEmbeddings) {
  const auto wrapped = [](const std::string& inner) {
    return R"({"model_type": "x_vl", "tie_word_embeddings": true, "text_config": )" + config("llama", inner) + "}";
  };
  EXPECT_TRUE(read(wrapped("")).model.tied_embeddings);
  EXPECT_FALSE(read(wrapped(R"("tie_word_embeddings": false)")).model.tied_embeddings);
}

TEST(Configs, Contradictions) {
  EXPECT_EQ(read(config("llama", R"("num_key_value_heads": 3)")).problems,
            (Texts{"6 num_key_value_heads: 3 does not divide 8 heads"}));
  EXPECT_EQ(
      read(config("llama"), {{"hidden_size", "65"}}).problems,
      (Texts{"1 head_dim: missing, and hidden_size 65 is not a multiple of num_attention_heads 8; write head_dim"}));
  EXPECT_EQ(read(config("qwen3_moe", kExperts), {{"num_experts_per_tok", "9"}}).problems,
            (Texts{"0 num_experts_per_tok: 9 is more than the 8 experts"}));
  EXPECT_EQ(read(config("qwen3_moe", kExperts), {{"decoder_sparse_step", "5"}}).problems,
            (Texts{"0 decoder_sparse_step: with mlp_only_layers leaves no layer with experts"}));
  EXPECT_EQ(read(config("gemma2", R"("sliding_window": 16, "layer_types": ["full_attention"])")).problems,
            (Texts{"6 layer_types: names 1 layers, num_hidden_layers is 4"}));
  EXPECT_TRUE(contains(read(config("gemma2", R"("layer_types": ["linear_attention"])")).problems, "linear_attention"));
  EXPECT_EQ(
      read(config("gemma2",
                  R"("layer_types": ["sliding_attention", "full_attention", "full_attention", "full_attention"])"))
          .problems,
      (Texts{"1 sliding_window: missing, and layer_types names layers that have one"}));
  EXPECT_EQ(read(config("llama"), {{"num_hidden_layers", "10001"}}).problems,
            (Texts{"0 num_hidden_layers: 10001 is too large; at most 10000"}));
  EXPECT_EQ(read(config("llama", R"("num_key_value_heads": 0)")).problems,
            (Texts{"6 num_key_value_heads: 0 is too small; at least 1"}));
  EXPECT_EQ(
      read(R"({"model_type": "gpt2", "n_layer": 2, "n_embd": 64, "n_head": 7, "n_positions": 8, "vocab_size": 9})")
          .problems,
      (Texts{"1 n_head: 7 does not divide n_embd 64"}));
  EXPECT_TRUE(contains(read("{\"model_type\": \"llama\", }\n{").problems, "not YAML"));
}

TEST(Configs, QwenUsesItsWindowOnlyWhenToldTo) {
  const std::string window = R"("sliding_window": 16, "max_window_layers": 3)";
  EXPECT_EQ(read(config("qwen2", window)).model.attention.window, 0);
  const ModelSpec used = read(config("qwen2", window + R"(, "use_sliding_window": true)")).model;
  EXPECT_EQ(used.attention.window, 16);
  EXPECT_EQ(used.attention.windowed, (std::vector<bool>{false, false, false, true}));
}

// --- the same in a model's YAML ---

const std::string kModel = "name: m\nlayers: 4\nhidden: 64\nvocabulary: 100\nheads: 8\nffn: 256\n";
const std::string kMoe =
    "name: m\nlayers: 4\nhidden: 64\nvocabulary: 100\nheads: 8\nffn: 256\nexperts:\n  count: 8\n  top_k: 2\n  ffn: "
    "32\n";

TEST(ModelYaml, NewKeysAreRead) {
  const Outcome o = read(kModel +
                         "attention: {qkv_bias: true, output_bias: true, qk_norm: whole, sinks: true, window: 16, "
                         "window_layers: [window, full]}\nffn_bias: true\nhead_bias: true\nnorm: layer\nnorms: 4\n"
                         "learned_positions: 32\n");
  EXPECT_EQ(o.problems, Texts{});
  EXPECT_EQ(o.model.rotary, 0);
  // By hand: matrices, biases, norms (4 a layer, queries and keys at full width, the final one), embedding, head,
  // table.
  const double matrices = 64 * 64 * 4 + 3 * 64 * 256, biases = 4 * 64 + 8 + 2 * 256 + 64;
  const double norms = 2 * (4 * 64 + 2 * 64);
  EXPECT_EQ(count_parameters(o.model).total(), 4 * (matrices + biases + norms) + 2 * 64 + 2 * 6400 + 100 + 32 * 64);
}

TEST(ModelYaml, NewKeysOfExpertsAreRead) {
  const Outcome o =
      read(kMoe + "  also_dense: [2]\n  routing_bias: true\n  bias: true\n  shared: 1\n  shared_gate: true\n");
  EXPECT_EQ(o.problems, Texts{});
  EXPECT_FALSE(o.model.has_experts(2));
  const double attention = 64 * 64 * 4 + 2 * 64, expert = 3 * 64 * 32;
  const double sparse = 8 * (expert + 2 * 32 + 64) + expert + 64 + 8 * 64 + 8;
  EXPECT_EQ(count_parameters(o.model).total(), 4 * attention + 3 * sparse + 3 * 64 * 256 + 64 + 2 * 6400);
}

TEST(ModelYaml, NewKeysContradict) {
  EXPECT_EQ(read(kModel + "attention: {window_layers: [window]}\n").problems,
            (Texts{"7 attention.window_layers: there is no window; write window, or leave it out"}));
  EXPECT_EQ(read(kModel + "attention: {window: 4, window_layers: [full, window, half]}\n").problems,
            (Texts{"7 attention.window_layers: \"half\" is neither window nor full"}));
  EXPECT_EQ(read(kModel + "attention: {window: 4, window_layers: [full, full, full, full, window]}\n").problems,
            (Texts{"7 attention.window_layers: says 5 layers, the model has 4"}));
  EXPECT_EQ(
      read(kModel + "attention: {kind: mla, kv_rank: 3, rope_dim: 4, nope_dim: 8, v_dim: 8, qk_norm: head}\n").problems,
      (Texts{"7 attention.qk_norm: latent attention norms its latents, always; leave it out"}));
  EXPECT_EQ(read(kModel + "norms: 3\n").problems.size(), 1U);
  EXPECT_EQ(read(kMoe + "ffn_bias: true\n").problems,
            (Texts{"11 ffn_bias: no layer is dense; experts.bias is that of experts"}));
  EXPECT_EQ(read(kMoe + "  shared_gate: true\n").problems,
            (Texts{"11 experts.shared_gate: there are no shared experts; write shared, or leave it out"}));
  EXPECT_EQ(read(kMoe + "  dense_layers: 1\n  also_dense: [0, 4]\n").problems,
            (Texts{"12 experts.also_dense: layer 0 has no experts anyway (layers count from 0); leave it out",
                   "12 experts.also_dense: layer 4 has no experts anyway (layers count from 0); leave it out"}));
  EXPECT_EQ(read(kMoe + "  also_dense: [0, 1, 2, 3]\n").problems,
            (Texts{"11 experts.also_dense: leaves no layer with experts"}));
}

TEST(ModelYaml, PredictionLayersAreCountedApart) {
  const Outcome o = read(kModel + "prediction_layers: 2\n");
  EXPECT_EQ(o.problems, Texts{});
  // Each: a layer as the last, the projection of two hidden states to one, three norms.
  const double layer = 64 * 64 * 4 + 3 * 64 * 256 + 2 * 64;
  EXPECT_EQ(count_parameters(o.model).prediction, 2 * (layer + 2 * 64 * 64 + 3 * 64));
  EXPECT_EQ(count_parameters(o.model).total(), 4 * layer + 64 + 2 * 6400);
}

}  // namespace stepsim::configs_test
