// What a reader of the result should know beside it.
#include <gtest/gtest.h>

#include <algorithm>

#include "support/contains.hpp"
#include "support/shipped.hpp"

namespace stepsim::input_notes_test {

bool has_note(const Inputs& in, const std::string& text) {
  return std::any_of(in.notes.begin(), in.notes.end(), [&](const std::string& note) { return contains(note, text); });
}

TEST(InputNotes, SequencesLongerThanTheTableOfPositions) {
  const auto with = [](const std::string& positions) {
    return has_note(testing::shipped("gpt-3-175b-pipeline", {"plan.batch.sequence_length=2048", positions}), "learned positions for 1024");
  };
  EXPECT_TRUE(with("model.learned_positions=1024"));
  EXPECT_FALSE(with("model.learned_positions=2048"));
  EXPECT_FALSE(with("model.rotary=1"));
}

TEST(InputNotes, LayersOfPredictionLeftOut) {
  const auto noted = [](const std::string& layers, const std::string& trained) {
    return has_note(testing::shipped("deepseek-v3-1f1b", {"model.prediction_layers=" + layers, "plan.multi_token_prediction=" + trained}), "multi-token prediction");
  };
  EXPECT_TRUE(noted("1", "false"));
  EXPECT_TRUE(noted("2", "false"));
  EXPECT_FALSE(noted("1", "true"));
  EXPECT_FALSE(noted("0", "false"));
}

TEST(InputNotes, Fp8WithoutUnits) {
  EXPECT_FALSE(has_note(testing::shipped("deepseek-v3-dualpipe"), "no FP8 units"));
  EXPECT_TRUE(has_note(testing::shipped("deepseek-v3-dualpipe", {"cluster.gpu=a100-80-sxm"}), "no FP8 units"));
  EXPECT_FALSE(has_note(testing::shipped("gpt-3-175b-pipeline", {"cluster.gpu=a100-80-sxm"}), "no FP8 units"));
}

TEST(InputNotes, WholeGradientsInAPipeline) {
  EXPECT_FALSE(has_note(testing::shipped("gpt-3-175b-pipeline", {"plan.parallel.zero=1"}), "kept whole"));
  EXPECT_TRUE(has_note(testing::shipped("gpt-3-175b-pipeline", {"plan.parallel.zero=2"}), "ZeRO-2 with a pipeline"));
}

TEST(InputNotes, ContextThatNothingHides) {
  const auto noted = [](const std::string& method, const std::string& policy, const std::string& degree) {
    return has_note(testing::shipped("gpt-3-175b-pipeline", {"plan.parallel.context_method=" + method, "plan.overlap.context=" + policy,
                                                             "plan.parallel.context=" + degree, "plan.parallel.pipeline=8"}),
                    "overlap.context is async");
  };
  EXPECT_TRUE(noted("all_gather", "async", "2"));
  EXPECT_TRUE(noted("all_to_all", "async", "2"));
  EXPECT_FALSE(noted("ring", "async", "2"));
  EXPECT_FALSE(noted("all_gather", "blocking", "2"));
  EXPECT_FALSE(noted("all_gather", "async", "1"));
}

}  // namespace stepsim::input_notes_test
