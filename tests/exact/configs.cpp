// Hugging Face configs: parameter counts against the totals published with the checkpoints, unit by unit, and what the
// shapes do to kernels, FLOPs and activations.
#include <gtest/gtest.h>

#include <cstdint>
#include <string>

#include "support/block_sums.hpp"
#include "support/configs.hpp"
#include "support/temp_file.hpp"
#include "workloads/layers.hpp"
#include "workloads/model.hpp"

namespace stepsim::configs_test {
using samples::find;
using samples::flops_of;
using samples::one_gpu;
using test::all_configs;
using test::read_config_of;

struct Published {
  const char* name;
  std::int64_t parameters;
};

// Of the checkpoints on Hugging Face (their safetensors' totals; GPT-2, GPT-NeoX and Phi-2: without buffers), without
// multi-token prediction.
const Published kPublished[] = {
    {"Llama-2-7B", 6'738'415'616},
    {"Llama-3.2-1B", 1'235'814'400},
    {"Llama-3.1-8B", 8'030'261'248},
    {"Llama-3.1-70B", 70'553'706'496},
    {"Llama-3.1-405B", 405'853'388'800},
    {"Mistral-7B-v0.1", 7'241'732'096},
    {"Mixtral-8x7B", 46'702'792'704},
    {"Mixtral-8x22B", 140'620'634'112},
    {"Qwen2.5-0.5B", 494'032'768},
    {"Qwen2.5-7B", 7'615'616'512},
    {"Qwen2.5-72B", 72'706'203'648},
    {"Qwen1.5-MoE-A2.7B", 14'315'784'192},
    {"Qwen3-0.6B", 596'049'920},
    {"Qwen3-8B", 8'190'735'360},
    {"Qwen3-32B", 32'762'123'264},
    {"Qwen3-30B-A3B", 30'532'122'624},
    {"Qwen3-235B-A22B", 235'093'634'560},
    {"DeepSeek-V2-Lite", 15'706'484'224},
    {"DeepSeek-V2", 235'741'434'880},
    {"DeepSeek-V3", 671'026'419'200},
    {"gpt-oss-20b", 20'914'757'184},
    {"gpt-oss-120b", 116'829'156'672},
    {"gemma-7b", 8'537'680'896},
    {"gemma-2-9b", 9'241'705'984},
    {"gemma-2-27b", 27'227'128'320},
    {"gemma-3-1b", 999'885'952},
    {"Phi-3-mini-4k", 3'821'079'552},
    {"phi-4", 14'659'507'200},
    {"phi-2", 2'779'683'840},
    {"gpt2", 124'439'808},
    {"gpt2-xl", 1'557'611'200},
    {"gpt-neox-20b", 20'554'567'680},
};

TEST(Configs, ParametersAreThePublishedOnes) {
  for (const Published& published : kPublished) {
    const double total = count_parameters(read_config_of(published.name).model).total();
    EXPECT_EQ(static_cast<std::int64_t>(total), published.parameters) << published.name;
  }
}

// Their checkpoints hold one layer of multi-token prediction, with an embedding and a head of its own.
TEST(Configs, Glm45WithItsPredictionLayer) {
  for (const auto& [name, published] :
       {std::pair("GLM-4.5", 358'337'791'296.0), std::pair("GLM-4.5-Air", 110'468'824'832.0)}) {
    const auto [model, reading] = read_config_of(name);
    const ParameterCount count = count_parameters(model);
    EXPECT_EQ(count.total() + count.prediction + 2.0 * model.vocabulary * model.hidden, published) << name;
    EXPECT_TRUE(reading.notes.empty()) << name;
  }
}

// 1.03 T by the model's card; by hand: like DeepSeek-V3 with 64 heads, 384 experts, one dense layer.
TEST(Configs, KimiK2) {
  const double h = 7168, expert = 3 * h * 2048;
  const double attention = h * 1536 + 1536.0 * 64 * 192 + h * (512 + 64) + 512.0 * 64 * 256 + 64 * 128 * h;
  const double norms = 2 * h + 1536 + 512;
  const double total =
      2 * 163840 * h + h + 61 * (attention + norms) + 3 * h * 18432 + 60 * (385 * expert + 384 * (h + 1));
  const ParameterCount count = count_parameters(read_config_of("Kimi-K2").model);
  EXPECT_EQ(count.total(), total);
  EXPECT_NEAR(count.total() / 1e12, 1.03, 0.005);
  EXPECT_NEAR(count.active / 1e9, 32.9, 0.05);  // published: 32 B
}

// "gpt-oss-120b & gpt-oss-20b Model Card", table 1: active parameters, the unembedding counted, the embedding not.
TEST(Configs, GptOssActive) {
  EXPECT_NEAR(count_parameters(read_config_of("gpt-oss-120b").model).active_without_embedding / 1e9, 5.13, 0.005);
  EXPECT_NEAR(count_parameters(read_config_of("gpt-oss-20b").model).active_without_embedding / 1e9, 3.61, 0.005);
}

// The vision tower is left out; what the text's config leaves out is what its class takes.
TEST(Configs, MultimodalModelsAreReadForTheirText) {
  const auto [model, reading] = read_config_of("gemma-3-27b-it");
  const double h = 5376, layer = h * (32 + 2 * 16) * 128 + 32 * 128 * h + 3 * h * 21504 + 4 * h + 2 * 128;
  EXPECT_EQ(count_parameters(model).total(), 62 * layer + 262'208 * h + h);
  EXPECT_TRUE(model.tied_embeddings);
  EXPECT_EQ(model.attention.window, 1024);
  ASSERT_EQ(reading.notes.size(), 1U);
  EXPECT_NE(reading.notes[0].find("text_config"), std::string::npos);
}

TEST(Configs, NamesOfLayers) {
  const ModelSpec gemma = read_config_of("gemma-3-1b").model, oss = read_config_of("gpt-oss-20b").model;
  EXPECT_EQ(oss.attention.windowed, (std::vector<bool>{true, false}));  // 24 layer_types, in short
  for (int layer = 0; layer < 24; ++layer) {
    EXPECT_EQ(gemma.has_window(layer), layer % 6 != 5) << layer;
    EXPECT_EQ(oss.has_window(layer), layer % 2 == 0) << layer;
  }
  const ModelSpec sparse =
      read_config_of("Qwen3-30B-A3B", {{"decoder_sparse_step", "3"}, {"mlp_only_layers", "[1, 5, 11]"}}).model;
  for (int layer = 0; layer < 48; ++layer) {
    EXPECT_EQ(sparse.has_experts(layer), (layer + 1) % 3 == 0 && layer != 5 && layer != 11) << layer;
  }
  const ModelSpec deepseek = read_config_of("DeepSeek-V3", {{"moe_layer_freq", "2"}}).model;
  for (int layer = 0; layer < 61; ++layer)
    EXPECT_EQ(deepseek.has_experts(layer), layer >= 3 && layer % 2 == 0) << layer;
}

TEST(Configs, EveryModelsBlocksHoldItsParameters) {
  for (const std::string& name : all_configs()) {
    const ModelSpec model = read_config_of(name).model;
    const BlockList blocks = make_blocks(model, one_gpu(4096));
    double held = 0;
    for (int i = 0; i < blocks.size(); ++i)
      held += blocks.block(i).parameters.dense + blocks.block(i).parameters.expert;
    EXPECT_EQ(held, count_parameters(model).total()) << name;
  }
}

TEST(Configs, EveryModelsBlocksDoItsFlops) {
  for (const std::string& name : all_configs()) {
    const ModelSpec model = read_config_of(name).model;
    const double expected = 3 * 6000 * forward_flops_per_token(model, 6000);
    EXPECT_NEAR(flops_of(make_blocks(model, one_gpu(6000))).model_flops / expected, 1, 1e-12) << name;
  }
}

TEST(Configs, YamlGivesEveryModelBack) {
  for (const std::string& name : all_configs()) {
    const ModelSpec model = read_config_of(name).model;
    const test::TempFile file(to_yaml(model), ".yaml");
    Reading reading;
    EXPECT_EQ(read_model(reading, file.path(), {}), model) << to_yaml(model);
    for (const Problem& problem : reading.problems) ADD_FAILURE() << to_text(problem);
  }
}

// --- windows ---

TEST(Windows, AverageKeysAreCounted) {
  ModelSpec model;
  for (const int window : {1, 5, 128, 400, 999}) {
    model.attention.window = window;
    double keys = 0;
    for (int query = 0; query < 400; ++query) keys += std::min(query + 1, window);
    EXPECT_DOUBLE_EQ(average_keys(model, 400, true), keys / 400);
    EXPECT_EQ(average_keys(model, 400, false), 401 / 2.0);
  }
}

TEST(Windows, CoreAttentionOfWindowedLayersIsSmaller) {
  const ModelSpec model = read_config_of("gpt-oss-20b").model;
  const BlockList blocks = make_blocks(model, one_gpu(4096));
  EXPECT_EQ(blocks.kinds.size(), 4U);  // embedding, windowed, full, head
  const auto core = [&](int block) {
    const std::vector<Item>& items = blocks.block(block).forward;
    return std::get<Kernel>(items[find(items, "core attention")].what).flops.value;
  };
  const double keys = (128 * 129 / 2.0 + (4096 - 128) * 128.0) / 4096;
  EXPECT_DOUBLE_EQ(core(1), 4096.0 * 64 * 2 * keys * 128);  // block 1 is layer 0
  EXPECT_DOUBLE_EQ(core(2), 4096.0 * 64 * 2 * 4097 / 2.0 * 128);
}

// --- biases, norms, positions ---

double bytes_of(const std::vector<Item>& items, const char* name) {
  const int at = find(items, name);
  return at < 0 ? 0 : std::get<Kernel>(items[at].what).bytes.value;
}

TEST(Layers, BiasesAreCutAsTheirMatricesAre) {
  ParallelPlan plan = one_gpu(4096);
  const ModelSpec qwen = read_config_of("Qwen2.5-7B").model;
  ModelSpec bare = qwen;
  bare.attention.qkv_bias = false;
  const auto dense = [&](const ModelSpec& model, int block) {
    return make_blocks(model, plan).block(block).parameters.dense;
  };
  plan.parallel.tensor = 4;
  EXPECT_EQ(dense(qwen, 1) - dense(bare, 1), (28 + 2 * 4) * 128 / 4);
  // Of GPT-2 the output's and the second FFN's biases stand whole on every tensor rank.
  const ModelSpec gpt = read_config_of("gpt2").model;
  ModelSpec plain = gpt;
  plain.attention.qkv_bias = plain.attention.output_bias = plain.ffn_bias = false;
  EXPECT_EQ(dense(gpt, 1) - dense(plain, 1), 3 * 768 / 4 + 768 + 3072 / 4 + 768);
  // gpt-oss: an expert's two biases of 2 x 2880 and 2880, 32 experts, over 8 ranks; sinks over the tensor ranks.
  plan.parallel.tensor = 1;
  plan.parallel.expert = 8;
  const ModelSpec oss = read_config_of("gpt-oss-20b").model;
  ModelSpec without = oss;
  without.experts.bias = without.attention.sinks = false;
  EXPECT_EQ(make_blocks(oss, plan).block(1).parameters.expert - make_blocks(without, plan).block(1).parameters.expert,
            4 * 3 * 2880);
  EXPECT_EQ(dense(oss, 1) - dense(without, 1), 64);
}

TEST(Layers, NormsOfQueriesAndKeys) {
  const ModelSpec model = read_config_of("Qwen3-8B").model;
  ModelSpec without = model;
  without.attention.qk_norm = Attention::QkNorm::none;
  const Block with = make_blocks(model, one_gpu(4096)).block(1), bare = make_blocks(without, one_gpu(4096)).block(1);
  const double normed = 4096.0 * (32 + 8) * 128 * 2;  // bytes of queries and keys
  EXPECT_EQ(bytes_of(with.forward, "q k norm"), 2 * normed);
  EXPECT_EQ(bytes_of(with.backward, "q k norm"), 3 * normed);
  EXPECT_EQ(bytes_of(bare.forward, "q k norm"), 0);
  EXPECT_EQ(with.activations.kept.value - bare.activations.kept.value, normed);
  ParallelPlan plan = one_gpu(4096);
  plan.recompute.modules = {Module::norm};
  EXPECT_EQ(make_blocks(model, plan).block(1).activations.kept.value,
            make_blocks(without, plan).block(1).activations.kept.value);
}

TEST(Layers, NormsAfterAttentionAndFfn) {
  const ModelSpec model = read_config_of("gemma-2-9b").model;
  ModelSpec without = model;
  without.norms = 2;
  const Block with = make_blocks(model, one_gpu(4096)).block(2), bare = make_blocks(without, one_gpu(4096)).block(2);
  const double stream = 4096.0 * 3584 * 2;
  for (const char* name : {"attention post norm", "ffn post norm"}) {
    EXPECT_EQ(bytes_of(with.forward, name), 2 * stream) << name;
    EXPECT_EQ(bytes_of(with.backward, name), 3 * stream) << name;
    EXPECT_EQ(bytes_of(bare.forward, name), 0) << name;
  }
  EXPECT_EQ(with.activations.kept.value - bare.activations.kept.value, 2 * stream);
}

TEST(Layers, OneNormForAttentionAndFfn) {
  const ModelSpec model = read_config_of("phi-2").model;
  ModelSpec two = model;
  two.norms = 2;
  const Block one = make_blocks(model, one_gpu(2048)).block(1), both = make_blocks(two, one_gpu(2048)).block(1);
  EXPECT_EQ(bytes_of(one.forward, "ffn norm"), 0);
  EXPECT_GT(bytes_of(both.forward, "ffn norm"), 0);
  EXPECT_EQ(both.activations.kept.value - one.activations.kept.value, 2 * 2048.0 * 2560 * 2);  // its input and output
  EXPECT_EQ(both.parameters.dense - one.parameters.dense, 2 * 2560);
}

TEST(Layers, RotaryTurnsAPartOfAHead) {
  ModelSpec model = read_config_of("GLM-4.5-Air").model;  // half
  const double half = bytes_of(make_blocks(model, one_gpu(4096)).block(1).forward, "rope");
  EXPECT_EQ(half, 4096.0 * 2 * (96 + 8) * 64 * 2);
  model.rotary = 0;
  EXPECT_EQ(bytes_of(make_blocks(model, one_gpu(4096)).block(1).forward, "rope"), 0);
  EXPECT_EQ(bytes_of(make_blocks(read_config_of("gpt2").model, one_gpu(1024)).block(1).forward, "rope"), 0);
}

}  // namespace stepsim::configs_test
