// Quantities as text, both ways.
#include "sim/base/text_units.hpp"

#include <gtest/gtest.h>
#include <rapidcheck.h>

namespace stepsim::text_units_test {

TEST(TextUnits, ReadsSimGridsSpelling) {
  EXPECT_EQ(bandwidth_from("50GBps"), BytesPerSecond(50e9));
  EXPECT_EQ(bandwidth_from("400Gbps"), BytesPerSecond(50e9));
  EXPECT_EQ(bandwidth_from("3.35TBps"), BytesPerSecond(3.35e12));
  EXPECT_EQ(bandwidth_from("1KiBps"), BytesPerSecond(1024));
  EXPECT_EQ(bandwidth_from("8bps"), BytesPerSecond(1));
  EXPECT_EQ(time_from("2us"), Seconds(2e-6));
  EXPECT_EQ(time_from("3.33us"), Seconds(3.33e-6));
  EXPECT_EQ(time_from("0s"), Seconds(0));
  EXPECT_EQ(time_from("2m"), Seconds(120));
  EXPECT_EQ(time_from("1w"), Seconds(604800));
  EXPECT_EQ(size_from("80GiB"), Bytes(80.0 * 1024 * 1024 * 1024));
  EXPECT_EQ(size_from("80GB"), Bytes(80e9));
  EXPECT_EQ(size_from("16b"), Bytes(2));
  EXPECT_EQ(rate_from("758Tf"), FlopsPerSecond(758e12));
  EXPECT_EQ(rate_from("1.46Pf"), FlopsPerSecond(1.46e15));
  EXPECT_EQ(rate_from("7f"), FlopsPerSecond(7));
}

TEST(TextUnits, KeepsTheSignForTheReaderToJudge) {
  EXPECT_EQ(bandwidth_from("-50GBps"), BytesPerSecond(-50e9));
}

TEST(TextUnits, ANumberWithoutUnitIsNoQuantity) {
  for (const char* text : {"50", "0", "", " ", "-", "GBps", "50 GBps", "50GBps ", "50gBps", "50GB", "50GBpsx",
                           "nanGBps", "infGBps", "1e999GBps", "0x10Bps", ".5GBps", "+5GBps", "5KBps", "-GBps"}) {
    EXPECT_FALSE(bandwidth_from(text)) << text;
  }
  for (const char* text : {"2", "2 us", "us", "2usec", "2kus", "nans", "1e400s"}) EXPECT_FALSE(time_from(text)) << text;
  for (const char* text : {"80", "80G", "80GBps", "1e300EB"}) EXPECT_FALSE(size_from(text)) << text;
  for (const char* text : {"758", "758T", "758TFLOPS", "758GBps"}) EXPECT_FALSE(rate_from(text)) << text;
}

TEST(TextUnits, WritesThreeSignificantDigits) {
  EXPECT_EQ(to_text(Seconds(26.736)), "26.7 s");
  EXPECT_EQ(to_text(Seconds(0.9997)), "1 s");
  EXPECT_EQ(to_text(Seconds(3.33e-6)), "3.33 us");
  EXPECT_EQ(to_text(Seconds(-0.0123)), "-12.3 ms");
  EXPECT_EQ(to_text(Seconds(1234.5)), "1230 s");
  EXPECT_EQ(to_text(Seconds(0)), "0 s");
  EXPECT_EQ(to_text(Bytes(1.342e12)), "1.34 TB");
  EXPECT_EQ(to_text(Bytes(0)), "0 B");
  EXPECT_EQ(to_text(Bytes(7392)), "7.39 kB");
  EXPECT_EQ(to_text(BytesPerSecond(160e9)), "160 GB/s");
  EXPECT_EQ(to_text(BytesPerSecond(999.6e9)), "1 TB/s");
  EXPECT_EQ(to_text(FlopsPerSecond(758e12)), "758 TFLOP/s");
  EXPECT_EQ(to_text(Flops(250.46e9)), "250 GFLOP");
}

TEST(TextUnits, AnyTextEndsInAValueOrInNone) {
  rc::check("never crashes, never yields a value that is not finite", [](const std::string& text) {
    for (const std::string& tried : {text, "1" + text, text + "GBps", "5" + text + "s"}) {
      if (auto v = bandwidth_from(tried)) RC_ASSERT(std::isfinite(v->value));
      if (auto v = time_from(tried)) RC_ASSERT(std::isfinite(v->value));
      if (auto v = size_from(tried)) RC_ASSERT(std::isfinite(v->value));
      if (auto v = rate_from(tried)) RC_ASSERT(std::isfinite(v->value));
    }
  });
}

TEST(TextUnits, WhatIsReadIsWhatWasWritten) {
  rc::check("n of a unit is n times that unit", [](int number) {
    const std::string text = std::to_string(number);
    RC_ASSERT(bandwidth_from(text + "MBps")->value == 1e6 * number);
    RC_ASSERT(size_from(text + "MiB")->value == 1048576.0 * number);
    RC_ASSERT(time_from(text + "ms")->value == number / 1e3);
  });
}

}  // namespace stepsim::text_units_test
