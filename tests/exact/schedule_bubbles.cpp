// Each schedule's bubble against its published formula: free communication, all stages alike. F, I, W are the times of
// a forward pass, an input gradient and a weight gradient; B = I + W is the full backward pass (the zero-bubble papers
// write B for our I).
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "workloads/schedule_times.hpp"

namespace stepsim::schedule_bubbles_test {
struct Lengths {
  double f, i, w;
  double b() const { return i + w; }
};

// Whole numbers: sums are exact, so that equality can be asked for. Alike, and unequal in every order.
const std::vector<Lengths> all_lengths = {{1, 1, 1}, {1, 2, 3}, {3, 2, 1}, {2, 3, 1}, {3, 1, 2}, {2, 1, 3},
                                          {1, 3, 2}, {4, 4, 2}, {2, 2, 5}, {5, 2, 2}, {2, 5, 2}};

struct Shape {
  int ranks, microbatches;
};

Schedule made(std::string_view name, ScheduleShape shape) {
  const ScheduleKind* kind = find_schedule(name);
  EXPECT_NE(kind, nullptr) << name;
  EXPECT_EQ(kind->refuses(shape), "");
  return kind->make(shape);
}

PassTimes times_with(const Lengths& lengths) {
  PassTimes times;
  times.stages = {{Seconds(lengths.f), Seconds(lengths.i), Seconds(lengths.w)}};
  return times;
}

double worst_bubble(const ScheduleTimes& times) {
  double worst = 0;
  for (std::size_t rank = 0; rank < times.busy.size(); ++rank) worst = std::max(worst, times.bubble(rank).value);
  return worst;
}

double worst_stall(const ScheduleTimes& times) {
  double worst = 0;
  for (std::size_t rank = 0; rank < times.busy.size(); ++rank) worst = std::max(worst, times.stall(rank).value);
  return worst;
}

std::string told(std::string_view name, const Shape& shape, const Lengths& l) {
  return std::string(name) + " ranks " + std::to_string(shape.ranks) + " microbatches " +
         std::to_string(shape.microbatches) + " F " + std::to_string(l.f) + " I " + std::to_string(l.i) + " W " +
         std::to_string(l.w);
}

// GPipe and 1F1B: (PP - 1)(F + B), whatever F and B, and however few microbatches there are.
TEST(Bubble, GPipeAnd1F1B) {
  for (const std::string_view name : {"gpipe", "1f1b"}) {
    for (const Shape& shape : {Shape{1, 3}, {2, 1}, {4, 3}, {4, 8}, {8, 8}, {16, 120}}) {
      for (const Lengths& l : all_lengths) {
        const ScheduleTimes times = times_of(made(name, {shape.ranks, 1, shape.microbatches}), times_with(l));
        for (int rank = 0; rank < shape.ranks; ++rank) {
          EXPECT_EQ(times.bubble(rank).value, (shape.ranks - 1) * (l.f + l.b())) << told(name, shape, l);
        }
      }
    }
  }
}

// Interleaved 1F1B and looped breadth-first: (PP - 1)(F + B)/v of a rank's whole F and B, that is (PP - 1)(F + B) of
// one chunk's, from as many microbatches as ranks on. With fewer, a microbatch that loops back to rank 0 finds it idle:
// each of the other v - 1 rounds adds (PP - m) passes of both kinds.
TEST(Bubble, LoopedSchedules) {
  for (const std::string_view name : {"interleaved-1f1b", "breadth-first"}) {
    for (const int chunks : {2, 3, 5}) {
      for (const Shape& shape : {Shape{2, 2}, {4, 4}, {4, 8}, {4, 10}, {8, 64}, {4, 2}, {8, 3}}) {
        for (const Lengths& l : all_lengths) {
          const ScheduleTimes times = times_of(made(name, {shape.ranks, chunks, shape.microbatches}), times_with(l));
          const int missing = std::max(0, shape.ranks - shape.microbatches) * (chunks - 1);
          EXPECT_EQ(worst_bubble(times), (shape.ranks - 1 + missing) * (l.f + l.b())) << told(name, shape, l);
        }
      }
    }
  }
}

// ZB-H1: (PP - 1)(F + I - W) = (PP - 1)(F + B - 2W), from PP microbatches on, as long as W is the shortest. It cannot
// go below (PP - 1) F, as the last rank waits so long for its first forward pass, nor below (PP - 1) I, as the first
// rank waits so long for its first gradient with all it may hold already run; weight gradients longer than these stay
// behind as work, not as bubble.
TEST(Bubble, ZeroBubbleH1) {
  for (const Shape& shape : {Shape{1, 4}, {2, 3}, {4, 8}, {5, 17}, {8, 16}, {16, 64}}) {
    for (const Lengths& l : all_lengths) {
      const ScheduleTimes times = times_of(made("zb-h1", {shape.ranks, 1, shape.microbatches}), times_with(l));
      const double bubble = (shape.ranks - 1) * std::max({l.f + l.b() - 2 * l.w, l.f, l.i});
      for (int rank = 0; rank < shape.ranks; ++rank) {
        EXPECT_EQ(times.bubble(rank).value, bubble) << told("zb-h1", shape, l);
      }
    }
  }
}

// ZB-H2: (PP - 1)(F + I - 2W), counted within each rank (the ranks neither start nor end together), from 2 PP - 1
// microbatches on. Not below zero; not below (PP - 1)(I - F): the 2 PP - 1 forward passes of the first rank cover the
// PP F + (PP - 1) I until its first gradient only when F is as long as I.
TEST(Bubble, ZeroBubbleH2) {
  for (const Shape& shape : {Shape{1, 4}, {2, 3}, {4, 8}, {5, 17}, {8, 16}, {16, 64}}) {
    for (const Lengths& l : all_lengths) {
      const ScheduleTimes times = times_of(made("zb-h2", {shape.ranks, 1, shape.microbatches}), times_with(l));
      const double stall = (shape.ranks - 1) * std::max({l.f + l.i - 2 * l.w, 0.0, l.i - l.f});
      EXPECT_EQ(worst_stall(times), stall) << told("zb-h2", shape, l);
    }
  }
}

// ZB-V: none within a rank when F = I = W, from 2 PP - 1 microbatches on; a rank starts and ends up to PP - 1 passes
// apart from the others. The order is made for equal passes: with others a bubble opens.
TEST(Bubble, ZeroBubbleV) {
  for (const Shape& shape : {Shape{1, 1}, {2, 3}, {3, 5}, {4, 8}, {8, 15}, {16, 64}}) {
    const Schedule schedule = made("zb-v", {shape.ranks, 2, shape.microbatches});
    const ScheduleTimes equal = times_of(schedule, times_with({2, 2, 2}));
    EXPECT_EQ(worst_stall(equal), 0) << told("zb-v", shape, {2, 2, 2});
    EXPECT_EQ(worst_bubble(equal), (shape.ranks - 1) * 2) << told("zb-v", shape, {2, 2, 2});
    if (shape.ranks == 1) continue;
    EXPECT_GT(worst_stall(times_of(schedule, times_with({1, 2, 1}))), 0);
  }
}

// V-Half and V-Min, F = I = W = 1: their paper gives bubble rates of about p/2m and 2p/3m of a step of 6 m passes, so
// about 3p and 4p. Both approximations are of leading order; the bounds leave V-Half a sixth for it.
TEST(Bubble, ControllableMemory) {
  for (const int ranks : {2, 3, 4, 7, 8, 12, 16}) {
    const Lengths unit{1, 1, 1};
    EXPECT_LE(worst_bubble(times_of(made("zb-v-half", {ranks, 2, 4 * ranks}), times_with(unit))), 3.5 * ranks);
    EXPECT_LE(worst_bubble(times_of(made("zb-v-min", {ranks, 2, 4 * ranks}), times_with(unit))), 4 * ranks);
  }
}

// What a rank of DualPipe has to do when an overlapped pair takes `pair`: the formula's bubble is that of the ranks
// with the most pairs, those next to the fold; the others have fewer pairs, are busy longer, and idle less.
double dualpipe_bubble(const Schedule& schedule, const Lengths& l, double pair) {
  PassTimes times = times_with(l);
  times.pair = Seconds(pair);
  return worst_bubble(times_of(schedule, times));
}

// DualPipe and DualPipeV: (PP/2 - 1)(F&B + B - 3W) with PP stages, where F = I, W is not longer than I, and a pair
// takes at least as long as its backward pass alone (it cannot be shorter: it contains it).
TEST(Bubble, DualPipe) {
  for (const Lengths& l : {Lengths{1, 1, 1}, {2, 2, 1}, {3, 3, 2}, {4, 4, 1}}) {
    for (double pair = l.b(); pair <= l.f + l.b(); ++pair) {
      for (const int stages : {2, 4, 6, 8, 16}) {
        for (const int microbatches : {2 * stages, 2 * stages + 2, 120}) {
          const double formula = (stages / 2 - 1) * (pair + l.b() - 3 * l.w);
          EXPECT_EQ(dualpipe_bubble(made("dualpipe", {stages, 2, microbatches}), l, pair), formula);
          EXPECT_EQ(dualpipe_bubble(made("dualpipev", {stages / 2, 2, microbatches / 2}), l, pair), formula);
        }
      }
    }
  }
}

// Where F and I differ the formula does not hold, as its B stands for passes that are forward ones in truth. With
// F >= I >= W and pairs as long as their passes together, the longest chain has forward passes in the input gradients'
// place: (PP/2 - 1)(F&B + F - 2W). Weight gradients longer than input gradients only fill up: 2F for each rank remains.
TEST(Bubble, DualPipeUnequal) {
  for (const Lengths& l : {Lengths{2, 1, 1}, {3, 2, 1}, {5, 2, 2}, {3, 2, 3}, {2, 1, 4}, {2, 2, 5}}) {
    for (const int stages : {4, 8, 16}) {
      const double bubble = (stages / 2 - 1) * std::max(l.f + l.b() + l.f - 2 * l.w, 2 * l.f);
      EXPECT_EQ(dualpipe_bubble(made("dualpipe", {stages, 2, 2 * stages + 4}), l, l.f + l.b()), bubble)
          << told("dualpipe", {stages, 0}, l);
    }
  }
}

// Communication moves under nothing here, so 1F1B's bubble grows by a message each way and hop: (PP - 1)(F + B + 2C),
// where the steady state has slack for it: with one microbatch it always has.
TEST(Bubble, Communication) {
  PassTimes times = times_with({2, 1, 3});
  times.communication = Seconds(5);
  EXPECT_EQ(worst_bubble(times_of(made("1f1b", {4, 1, 1}), times)), 3 * (2 + 4 + 2 * 5));
  // The turn of a V stays on its rank and costs nothing: 2 x 4 stages, 2 x 3 messages each way. ZB-V runs a weight
  // gradient between the two input gradients of the rank at the turn, and the last rank's own ends the step.
  const ScheduleTimes v = times_of(made("zb-v", {4, 2, 1}), times);
  EXPECT_EQ(v.makespan.value, 8 * 2 + 8 * 1 + 12 * 5 + 2 * 3);
}

// Stages of unequal length: 1F1B goes at the pace of the slowest.
TEST(Bubble, UnequalStages) {
  PassTimes times;
  times.stages = {{Seconds(1), Seconds(1), Seconds(1)}, {Seconds(4), Seconds(4), Seconds(4)}};
  const ScheduleTimes result = times_of(made("1f1b", {2, 1, 10}), times);
  EXPECT_EQ(result.makespan.value, 1 + 10 * 12 + 2);  // stage 0 leads the way in and follows the last gradient out
  EXPECT_EQ(result.busy[0].value, 30);
  EXPECT_EQ(result.bubble(1).value, 3);
}

}  // namespace stepsim::schedule_bubbles_test
