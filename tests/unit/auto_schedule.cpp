// Automatic schedules: they run, they fit, and no schedule of the table that fits is shorter.
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>

#include "sim/base/errors.hpp"
#include "workloads/auto_schedule.hpp"

namespace stepsim::auto_schedule_test {
constexpr double rounding = 1e-9;

AutoRequest request_with(int ranks, int microbatches, const StageTimes& times, double communication, double cap) {
  AutoRequest request;
  request.ranks = ranks;
  request.microbatches = microbatches;
  request.times.stages = {times};
  request.times.communication = Seconds(communication);
  request.memory_cap = cap;
  return request;
}

Seconds random_length(int least = 1) {
  return Seconds(*rc::gen::inRange(least, 30) * 0.1);
}

AutoRequest random_request() {
  AutoRequest request = request_with(*rc::gen::inRange(1, 7), *rc::gen::inRange(1, 15), {}, 0, 0);
  request.times.stages.clear();
  const int parts = *rc::gen::inRange(0, 2) == 0 ? 1 : request.ranks;
  for (int i = 0; i < parts; ++i) request.times.stages.push_back({random_length(), random_length(), random_length()});
  request.times.communication = random_length(0) * 0.1;
  request.memory_cap = 1 + 0.25 * *rc::gen::inRange(0, 8 * request.ranks);
  request.kept_for_weight = *rc::gen::element(1.0, 0.5);
  return request;
}

double held_at_most(const Schedule& schedule, const AutoRequest& request) {
  const std::vector<double> peaks = peak_in_flight(schedule, request.kept_for_weight);
  return *std::max_element(peaks.begin(), peaks.end()) * request.ranks / schedule.stages;
}

TEST(AutoSchedule, RunsFitsAndIsNeverWorse) {
  rc::check([] {
    const AutoRequest request = random_request();
    const AutoSchedule found = automatic_schedule(request);
    RC_ASSERT(problems_of(found.schedule).empty());
    RC_ASSERT(found.schedule.microbatches == request.microbatches);
    RC_ASSERT(held_at_most(found.schedule, request) <= request.memory_cap + rounding);
    const PassTimes times = cut_times(request.times, request.ranks, found.schedule.stages);
    RC_ASSERT(times_of(found.schedule, times).makespan == found.makespan);
    for (const ScheduleKind& kind : schedules()) {
      const ScheduleShape shape{request.ranks, kind.fixed_chunks != 0 ? kind.fixed_chunks : 2, request.microbatches};
      if (kind.copies != 1 || !kind.refuses(shape).empty()) continue;
      const Schedule named = kind.make(shape);
      if (held_at_most(named, request) > request.memory_cap) continue;
      const PassTimes named_times = cut_times(request.times, request.ranks, named.stages);
      RC_ASSERT(found.makespan.value <= times_of(named, named_times).makespan.value * (1 + rounding));
    }
  });
}

TEST(AutoSchedule, SameRequestSameSchedule) {
  const AutoRequest request = request_with(4, 12, {Seconds(1), Seconds(1.3), Seconds(0.6)}, 0.1, 5);
  EXPECT_EQ(automatic_schedule(request).schedule, automatic_schedule(request).schedule);
}

// No schedule in a V ends before (ranks - 1)(F/2 + C) of the last rank's waiting, or before its own work is done. With
// memory enough and messages short, that is reached; ZB-V, made for free messages, does not reach it.
TEST(AutoSchedule, ReachesTheBoundWhereMemoryAllows) {
  AutoRequest request = request_with(4, 16, {Seconds(1), Seconds(1), Seconds(1)}, 0.125, 8);
  request.most_chunks = 2;
  const AutoSchedule found = automatic_schedule(request);
  EXPECT_NEAR(found.makespan.value, 16 * 3 + 3 * (0.5 + 0.125), rounding);
  EXPECT_EQ(found.origin, "automatic");
  EXPECT_GT(found.best_named_makespan, found.makespan);
}

// F twice as long as I and W, memory of 1F1B: no named schedule that fits gets along with that; the bound is reached.
TEST(AutoSchedule, UnequalPasses) {
  const AutoSchedule found = automatic_schedule(request_with(8, 32, {Seconds(2), Seconds(1), Seconds(1)}, 0, 8));
  EXPECT_NEAR(found.makespan.value, 32 * 4 + 7 * 1.0, rounding);
  EXPECT_GT(found.best_named_makespan, found.makespan);
  EXPECT_LE(found.memory, 8);
}

TEST(AutoSchedule, OneChunk) {
  AutoRequest request = request_with(4, 8, {Seconds(1), Seconds(1), Seconds(1)}, 0, 4);
  request.most_chunks = 1;
  const AutoSchedule found = automatic_schedule(request);
  EXPECT_EQ(found.schedule.stages, 4);
  EXPECT_NEAR(found.makespan.value, 8 * 3 + 3, rounding);  // ZB-H1's (PP - 1)(F + I - W)
}

TEST(AutoSchedule, Refuses) {
  EXPECT_THROW(automatic_schedule(request_with(4, 8, {}, 0, 0.5)), InputError);
  EXPECT_THROW(automatic_schedule(request_with(0, 8, {}, 0, 4)), InputError);
  EXPECT_THROW(automatic_schedule(request_with(4, 0, {}, 0, 4)), InputError);
  AutoRequest request = request_with(4, 8, {}, 0, 4);
  request.times.stages.resize(3);
  EXPECT_THROW(automatic_schedule(request), InputError);
}

// With memory for one microbatch only, they go through one after the other.
TEST(AutoSchedule, LeastMemory) {
  const AutoSchedule found = automatic_schedule(request_with(3, 4, {Seconds(1), Seconds(1), Seconds(1)}, 0, 1));
  EXPECT_LE(found.memory, 1);
  EXPECT_LE(found.makespan.value, 4 * (3 * 2 + 1));
}

TEST(CutTimes, ByDepth) {
  PassTimes times;
  times.stages = {
      {Seconds(2), Seconds(4), Seconds(6)}, {Seconds(1), Seconds(1), Seconds(1)}, {Seconds(4), Seconds(2), Seconds(2)}};
  times.pair = Seconds(3);
  const PassTimes halves = cut_times(times, 3, 2);  // each covers one and a half parts
  EXPECT_EQ(halves.stages, (std::vector<StageTimes>{{Seconds(2.5), Seconds(4.5), Seconds(6.5)},
                                                    {Seconds(4.5), Seconds(2.5), Seconds(2.5)}}));
  EXPECT_EQ(halves.pair, Seconds(4.5));
  const PassTimes sixths = cut_times(times, 3, 6);
  EXPECT_EQ(sixths.stages[1], (StageTimes{Seconds(1), Seconds(2), Seconds(3)}));
  EXPECT_EQ(sixths.stages[5], (StageTimes{Seconds(2), Seconds(1), Seconds(1)}));
}

}  // namespace stepsim::auto_schedule_test
