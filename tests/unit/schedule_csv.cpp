// PyTorch's schedule CSV: what is written is read back the same; what is wrong is named.
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "sim/base/errors.hpp"
#include "support/contains.hpp"
#include "workloads/schedule_csv.hpp"

namespace stepsim::schedule_csv_test {
std::string refusal(std::string_view csv) {
  try {
    schedule_from_csv(csv, "x.csv");
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

TEST(ScheduleCsv, RoundTrip) {
  rc::check("a schedule read back from its CSV is the same schedule", [] {
    const ScheduleKind& kind = schedules()[*rc::gen::inRange<std::size_t>(0, schedules().size())];
    const int chunks = kind.fixed_chunks != 0 ? kind.fixed_chunks : *rc::gen::inRange(1, 4);
    const ScheduleShape shape{*rc::gen::inRange(1, 9), chunks, *rc::gen::inRange(1, 33)};
    if (!kind.refuses(shape).empty()) return;
    const Schedule schedule = kind.make(shape);
    RC_ASSERT(schedule_from_csv(schedule_to_csv(schedule), "x.csv") == schedule);
  });
}

TEST(ScheduleCsv, PyTorchsForms) {
  const Schedule schedule = schedule_from_csv(
      " 0F0, ,0F1 ,0B0,(0F2; 0B1)OVERLAP_F_B,0SEND_F2,0I2,0UNSHARD,0W2\r\n"
      ",1F0,1RECV_F0,1B0,1F1,1B1,1F2,1B2,\r\n\r\n",
      "x.csv");
  EXPECT_EQ(schedule.stages, 2);
  EXPECT_EQ(schedule.microbatches, 3);
  EXPECT_EQ(schedule.placement, (std::vector<std::vector<int>>{{0}, {1}}));
  EXPECT_EQ(schedule_to_csv(schedule), "0F0,0F1,0B0,(0F2;0B1)OVERLAP_F_B,0I2,0W2\n1F0,1B0,1F1,1B1,1F2,1B2\n");
}

// PyTorch cannot say that a stage is on two ranks; direction 1 carries an r.
TEST(ScheduleCsv, TwoDirections) {
  const Schedule schedule = find_schedule("dualpipe")->make({2, 2, 4});
  const std::string csv = schedule_to_csv(schedule);
  EXPECT_TRUE(contains(csv, "(1rF3;0B0)OVERLAP_F_B"));
  EXPECT_EQ(schedule_from_csv(csv, "x.csv").microbatch_direction, (std::vector<int>{0, 0, 1, 1}));
}

TEST(ScheduleCsv, WrongCells) {
  EXPECT_TRUE(contains(refusal("0F0,0B0,F3"), "x.csv:1: \"F3\" is no action"));
  EXPECT_TRUE(contains(refusal("0F0,0B0\n1F0,1X0"), "x.csv:2: \"1X0\" is no action"));
  EXPECT_TRUE(contains(refusal("0F"), "\"0F\" is no action"));
  EXPECT_TRUE(contains(refusal("0F0x"), "\"0F0x\" is no action"));
  EXPECT_TRUE(contains(refusal("-1F0"), "\"-1F0\" is no action"));
  EXPECT_TRUE(contains(refusal("99999999999999F0"), "is no action"));
  EXPECT_TRUE(contains(refusal("(0F0;0B0)OVERLAP"), "is no overlapped pair"));
  EXPECT_TRUE(contains(refusal("(0F0)OVERLAP_F_B"), "is no overlapped pair"));
  EXPECT_TRUE(contains(refusal("(0F0;0B0"), "is no overlapped pair"));
  EXPECT_TRUE(contains(refusal("(0F0;zz)OVERLAP_F_B"), "\"zz\" in"));
  const std::string both = refusal("0F0,??\n1F0,!!");
  EXPECT_TRUE(contains(both, "x.csv:1"));
  EXPECT_TRUE(contains(both, "x.csv:2"));
}

TEST(ScheduleCsv, WrongSchedules) {
  EXPECT_TRUE(contains(refusal(""), "no pass at all"));
  EXPECT_TRUE(contains(refusal("\n0F0,0B0\n"), "x.csv:1: rank 0 has no pass"));
  EXPECT_TRUE(contains(refusal("0F0,0B0,0F1"), "B (or I) of microbatch 1 at stage 0 is missing"));
  EXPECT_TRUE(contains(refusal("0F0,0B0\n0F0,0B0"), "stage 0 is on ranks 0 and 1"));
  EXPECT_TRUE(contains(refusal("0B0,0F0"), "out of order"));
  EXPECT_TRUE(contains(refusal("0F0,0B0,0rF0,0rB0"), "microbatch 0 runs in both directions"));
  EXPECT_TRUE(contains(refusal("0F0,0B0,900000000F900000000"), "but there are 3"));
}

TEST(ScheduleCsv, UnreadableFile) {
  try {
    read_schedule_csv("/nonexistent/x.csv");
    FAIL();
  } catch (const InputError& error) {
    EXPECT_TRUE(contains(error.what(), "/nonexistent/x.csv: cannot be read"));
  }
}

}  // namespace stepsim::schedule_csv_test
