// Parameters and FLOPs a token against published totals and sums written out by hand.
#include <gtest/gtest.h>

#include "support/sample_models.hpp"
#include "workloads/layers.hpp"

namespace stepsim::parameters_test {
TEST(Parameters, DeepSeekV3ToTheLastDigit) {
  const ModelSpec model = samples::deepseek_v3();
  const ParameterCount count = count_parameters(model);
  EXPECT_EQ(count.embedding, 926'679'040);
  EXPECT_EQ(count.head, 926'679'040);
  EXPECT_EQ(count.attention, 61 * 187'105'280.0);
  EXPECT_EQ(count.router, 58 * 1'835'008.0);
  EXPECT_EQ(count.dense_ffn, 3 * 396'361'728.0);
  EXPECT_EQ(count.routed_experts, 58 * 11'274'289'152.0);
  EXPECT_EQ(count.shared_experts, 58 * 44'040'192.0);
  EXPECT_EQ(count.norms, 61 * (2 * 7168 + 1536 + 512) + 7168);
  EXPECT_EQ(count.routing_bias, 58 * 256);
  EXPECT_EQ(count.total(), 671'026'419'200);
}

TEST(Parameters, DeepSeekV3AttentionMatrixByMatrix) {
  const std::vector<Matrix> matrices = attention_matrices(samples::deepseek_v3());
  ASSERT_EQ(matrices.size(), 5U);
  const std::vector<std::pair<std::string_view, double>> expected{
      {"q_a", 11'010'048}, {"q_b", 37'748'736}, {"kv_a", 4'128'768}, {"kv_b", 16'777'216}, {"o", 117'440'512}};
  for (std::size_t i = 0; i < expected.size(); ++i) {
    EXPECT_EQ(matrices[i].name, expected[i].first);
    EXPECT_EQ(matrices[i].size(), expected[i].second);
  }
}

TEST(Parameters, DeepSeekV3ActivePerToken) {
  const ParameterCount count = count_parameters(samples::deepseek_v3());
  EXPECT_NEAR(count.active / 1e9, 37.552, 5e-4);
  EXPECT_NEAR(count.active_without_embedding / 1e9, 36.626, 5e-4);
  // All but the 248 experts a layer that a token does not visit.
  EXPECT_EQ(count.active, 671'026'419'200 - 58.0 * 248 * 44'040'192);
}

TEST(Parameters, DeepSeekV3FlopsPerToken) {
  const ModelSpec model = samples::deepseek_v3();
  const double forward = forward_flops_per_token(model, 4096);
  EXPECT_NEAR(forward / 1e9, 83.49, 5e-3);
  EXPECT_NEAR(2 * forward / 1e9, 166.97, 5e-3);
  EXPECT_NEAR(3 * forward / 1e9, 250.46, 5e-3);
  EXPECT_NEAR(3 * forward_flops_per_token(model, 4096, false) / 1e9, 281.15, 5e-3);
  // Attention alone: the two differ by (S - 1) / 2 keys a query.
  const double full = forward_flops_per_token(model, 4096, false);
  EXPECT_EQ(full - forward, 61 * 2.0 * 128 * (192 + 128) * 4095 / 2);
}

TEST(Parameters, Llama405B) {
  const ParameterCount count = count_parameters(samples::llama_405b());
  EXPECT_EQ(count.total(), 405'853'388'800);  // the published checkpoint's number of weights
  EXPECT_EQ(count.active, count.total());
}

TEST(Parameters, Gpt3TiedEmbeddingCountsOnce) {
  const ParameterCount count = count_parameters(samples::gpt3());
  EXPECT_EQ(count.head, 0);
  EXPECT_NEAR(count.total() / 1e9, 174.6, 0.05);
  EXPECT_EQ(count.total() - count.norms - count.embedding, 96 * 12.0 * 12288 * 12288);
  EXPECT_EQ(count.active_without_embedding, count.total());
  // The tied matrix still multiplies as the head.
  const double expected = 2 * (96 * 12.0 * 12288 * 12288 + 50257.0 * 12288) + 96 * 2.0 * 96 * 256 * 2049 / 2;
  EXPECT_DOUBLE_EQ(forward_flops_per_token(samples::gpt3(), 2048), expected);
}

TEST(Parameters, QueryWithoutACompressedRank) {  // DeepSeek-V2-Lite's attention
  ModelSpec model = samples::deepseek_v3();
  model.attention.q_rank = 0;
  const std::vector<Matrix> matrices = attention_matrices(model);
  ASSERT_EQ(matrices.size(), 4U);
  EXPECT_EQ(matrices[0].name, "q");
  EXPECT_EQ(matrices[0].size(), 7168.0 * 128 * 192);
  EXPECT_EQ(norm_parameters(model), 2 * 7168 + 512);
}

TEST(Parameters, ExpertsEveryOtherLayer) {
  ModelSpec model = samples::deepseek_v3();
  model.layers = 7;
  model.experts.every = 2;  // of layers 3..6: 3 and 5
  EXPECT_EQ(count_parameters(model).router, 2 * 1'835'008.0);
  EXPECT_EQ(count_parameters(model).dense_ffn, 5 * 396'361'728.0);
}

}  // namespace stepsim::parameters_test
