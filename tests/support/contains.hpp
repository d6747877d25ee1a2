// Whether a text, or one of several, has a part: EXPECT_TRUE(contains(error, "line 7")) says what it looked at.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

namespace stepsim {

inline ::testing::AssertionResult contains(std::string_view text, std::string_view part) {
  if (text.find(part) != std::string_view::npos) return ::testing::AssertionSuccess();
  return ::testing::AssertionFailure() << '"' << part << "\" is not in:\n" << text;
}

inline ::testing::AssertionResult contains(const std::vector<std::string>& texts, std::string_view part) {
  std::string all;
  for (const std::string& text : texts) {
    if (text.find(part) != std::string::npos) return ::testing::AssertionSuccess();
    all += text + '\n';
  }
  return ::testing::AssertionFailure() << '"' << part << "\" is in none of:\n" << all;
}

}  // namespace stepsim
