// Names of hosts by pattern.
#include "sim/cluster/host_pattern.hpp"

#include <gtest/gtest.h>

#include <string>

namespace stepsim::host_pattern_test {
TEST(HostPattern, ReplacesEveryExpression) {
  const RankNumbers numbers{.rank = 21, .node = 2, .local = 5};
  EXPECT_EQ(HostPattern("gpu{rank}").name(numbers), "gpu21");
  EXPECT_EQ(HostPattern("host").name(numbers), "host");
  EXPECT_EQ(HostPattern("").name(numbers), "");
  EXPECT_EQ(HostPattern("n{node}-g{local}.cluster").name(numbers), "n2-g5.cluster");
  EXPECT_EQ(HostPattern("nic{node*4+local/2}").name(numbers), "nic10");
  EXPECT_EQ(HostPattern("{ ( node + 1 ) * 8 - local % 3 }").name(numbers), "22");
  EXPECT_EQ(HostPattern("{2+3*4}{10-3-2}{7/2*2}{9/(1+2)}").name(numbers), "14563");
  EXPECT_EQ(HostPattern("n{node:03}g{local:02}r{rank:01}").name(numbers), "n002g05r21");
}

std::string refusal(const std::string& pattern, const RankNumbers& numbers = {}) {
  try {
    return "accepted: " + HostPattern(pattern).name(numbers);
  } catch (const PatternError& error) {
    return error.what();
  }
}

void expect_refusal(const std::string& pattern, const std::string& words) {
  EXPECT_NE(refusal(pattern).find(words), std::string::npos) << pattern << ": " << refusal(pattern);
}

TEST(HostPattern, WhatCannotBeReadIsNamed) {
  expect_refusal("gpu{gpu}", "{gpu}: cannot read 'gpu'");
  expect_refusal("gpu{rank", "brace without its partner");
  expect_refusal("gpu}", "brace without its partner");
  expect_refusal("gpu{rank}{", "brace without its partner");
  expect_refusal("gpu{}", "ends too early");
  expect_refusal("gpu{rank*}", "ends too early");
  expect_refusal("gpu{(rank}", "lacks a ')'");
  expect_refusal("gpu{rank)}", "cannot read ')'");
  expect_refusal("gpu{rank local}", "cannot read 'local'");
  expect_refusal("gpu{-1}", "cannot read '-1'");
  expect_refusal("gpu{rank-1}", "is -1 for rank 0");
  expect_refusal("gpu{1/rank}", "divides 1 by 0");
  expect_refusal("gpu{1%0}", "divides 1 by 0");
  expect_refusal("gpu{99999999999}", "is too large");
  expect_refusal("gpu{99999*99999}", "is too large");
  expect_refusal("gpu{99999999999999999999999}", "cannot read");
  expect_refusal("gpu{rank:2}", "is not a width");
  expect_refusal("gpu{rank:0x}", "is not a width");
  expect_refusal("gpu{rank:0999}", "is not a width");
  expect_refusal("gpu{" + std::string(1000, '(') + "1" + std::string(1000, ')') + "}", "is too deep");
}

}  // namespace stepsim::host_pattern_test
