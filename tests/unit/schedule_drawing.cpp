// A schedule as text and as SVG.
#include <gtest/gtest.h>

#include <algorithm>

#include "support/contains.hpp"
#include "workloads/schedule_drawing.hpp"

namespace stepsim::schedule_drawing_test {
TEST(ScheduleText, OneForwardOneBackward) {
  const Schedule schedule = find_schedule("1f1b")->make({2, 1, 2});
  EXPECT_EQ(schedule_to_text(schedule, unit_times(), Seconds(1)),
            "rank 0 F0 F1 .  .  B0 -  .  B1 -\n"
            "rank 1 .  F0 B0 -  F1 B1 -  .  .\n");
}

TEST(ScheduleText, BlocksOfSlots) {
  const Schedule schedule = find_schedule("1f1b")->make({2, 1, 2});
  EXPECT_EQ(schedule_to_text(schedule, unit_times(), Seconds(1), 22),
            "slots 0 to 4\n"
            "rank 0 F0 F1 .  .  B0\n"
            "rank 1 .  F0 B0 -  F1\n"
            "slots 5 to 8\n"
            "rank 0 -  .  B1 -\n"
            "rank 1 B1 -  .  .\n");
}

TEST(ScheduleText, PairsAndStages) {
  const std::string text = schedule_to_text(find_schedule("dualpipe")->make({2, 2, 4}), unit_times(), Seconds(1));
  EXPECT_TRUE(contains(text, " 1F3&0B0 "));
}

TEST(ScheduleText, SlotsOfOtherLength) {
  PassTimes times = unit_times();
  times.stages = {{Seconds(0.002), Seconds(0.002), Seconds(0.002)}};
  EXPECT_EQ(schedule_to_text(find_schedule("gpipe")->make({1, 1, 1}), times, Seconds(0.002)), "rank 0 F0 B0 -\n");
  EXPECT_EQ(schedule_to_text(find_schedule("gpipe")->make({1, 1, 1}), times, Seconds(0.001)),
            "rank 0 F0 -  B0 -  -  -\n");
}

// One tooltip a pass, and no element left open.
TEST(ScheduleSvg, EveryPassOnce) {
  for (const ScheduleKind& kind : schedules()) {
    const Schedule schedule = kind.make({2, kind.fixed_chunks != 0 ? kind.fixed_chunks : 2, 4});
    const std::string svg = schedule_to_svg(schedule, unit_times());
    const auto count = [&](std::string_view what) {
      std::size_t found = 0;
      for (auto at = svg.find(what); at != std::string::npos; at = svg.find(what, at + 1)) ++found;
      return found;
    };
    std::size_t passes = 0;
    for (const auto& order : schedule.order) passes += order.size();
    EXPECT_EQ(count("<title>"), passes) << kind.name;
    EXPECT_EQ(count("<g>"), count("</g>"));
    EXPECT_EQ(count("<text"), count("</text>"));
    EXPECT_EQ(count("<svg"), count("</svg>"));
    EXPECT_TRUE(contains(svg, "rank 1: "));
  }
}

}  // namespace stepsim::schedule_drawing_test
