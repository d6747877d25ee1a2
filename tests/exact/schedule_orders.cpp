// The order of passes of each schedule, and the activations it holds, against their published forms.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <vector>

#include "workloads/schedule_csv.hpp"
#include "workloads/schedule_times.hpp"
#include "workloads/schedules/dualpipe_phases.hpp"

namespace stepsim::schedule_orders_test {
Schedule made(std::string_view name, ScheduleShape shape) {
  const ScheduleKind* kind = find_schedule(name);
  EXPECT_NE(kind, nullptr) << name;
  EXPECT_EQ(kind->refuses(shape), "");
  return kind->make(shape);
}

double most(const std::vector<double>& values) {
  return *std::max_element(values.begin(), values.end());
}

TEST(Order, WrittenOut) {
  EXPECT_EQ(schedule_to_csv(made("gpipe", {2, 1, 2})), "0F0,0F1,0B0,0B1\n1F0,1F1,1B0,1B1\n");
  EXPECT_EQ(schedule_to_csv(made("1f1b", {2, 1, 3})), "0F0,0F1,0B0,0F2,0B1,0B2\n1F0,1B0,1F1,1B1,1F2,1B2\n");
  // Megatron's: rank r holds stages r and r + 2; two microbatches through a chunk, then the next chunk.
  EXPECT_EQ(schedule_to_csv(made("interleaved-1f1b", {2, 2, 2})),
            "0F0,0F1,2F0,2F1,2B0,2B1,0B0,0B1\n1F0,1F1,3F0,3B0,3F1,3B1,1B0,1B1\n");
  EXPECT_EQ(schedule_to_csv(made("breadth-first", {1, 2, 2})), "0F0,0F1,1F0,1F1,1B0,1B1,0B0,0B1\n");
  EXPECT_EQ(schedule_to_csv(made("zb-h1", {2, 1, 3})),
            "0F0,0F1,0I0,0W0,0F2,0I1,0W1,0I2,0W2\n1F0,1I0,1F1,1I1,1W0,1F2,1I2,1W1,1W2\n");
}

TEST(Order, DualPipePhaseCounts) {
  // 2(H-r-1); r+1; H-r-1; N/2-PP+r+1; H-r-1; r+1; H-r-1; r+1 with H = PP/2, worked out for PP 16, N 120, r 0 and 7.
  EXPECT_EQ(dualpipe_phases({8, 0, 60}), (std::array<int, 8>{14, 1, 7, 45, 7, 1, 7, 1}));
  EXPECT_EQ(dualpipe_phases({8, 7, 60}), (std::array<int, 8>{0, 8, 0, 52, 0, 8, 0, 8}));
}

// A phase-4 round has two pairs, a phase-5 round one: 2(N/2-PP+r+1) + H-r-1 = 97+r for PP 16, N 120. The rank next to
// the fold (r 7) runs its first two passes one after the other: 103.
TEST(Order, DualPipePairs) {
  const Schedule schedule = made("dualpipe", {16, 2, 120});
  for (int rank = 0; rank < 16; ++rank) {
    const auto& order = schedule.order[rank];
    const auto pairs =
        std::count_if(order.begin(), order.end(), [](const Pass& pass) { return pass.paired_with_next; });
    const int r = std::min(rank, 15 - rank);
    EXPECT_EQ(pairs, r == 7 ? 103 : 97 + r) << "rank " << rank;
    // Split backward passes: H-r-1 in phase 3, half of 2(r+1) in phase 6, H-r-1 in phase 7.
    const auto split = std::count_if(order.begin(), order.end(),
                                     [](const Pass& pass) { return pass.kind == PassKind::input_gradient; });
    EXPECT_EQ(split, 2 * (8 - r - 1) + r + 1) << "rank " << rank;
  }
}

TEST(Order, DualPipePlacement) {
  const Schedule schedule = made("dualpipe", {4, 2, 10});
  EXPECT_EQ(schedule.stages, 4);
  EXPECT_EQ(schedule.microbatch_direction, (std::vector<int>{0, 0, 0, 0, 0, 1, 1, 1, 1, 1}));
  for (int stage = 0; stage < 4; ++stage) {
    EXPECT_EQ(schedule.place_of(stage, 0), (Schedule::Place{stage, 0}));
    EXPECT_EQ(schedule.place_of(stage, 1), (Schedule::Place{3 - stage, 1}));
  }
  // The two ends mirror each other: rank r does with one direction what rank PP-1-r does with the other.
  for (int rank = 0; rank < 4; ++rank) {
    std::vector<Pass> mirrored = schedule.order[3 - rank];
    for (Pass& pass : mirrored) {
      pass.microbatch = (pass.microbatch + 5) % 10;
      pass.chunk = 1 - pass.chunk;
    }
    EXPECT_EQ(schedule.order[rank], mirrored);
  }
}

TEST(InFlight, ForwardFirst) {
  EXPECT_EQ(most(peak_in_flight(made("gpipe", {4, 1, 7}))), 7);
  EXPECT_EQ(most(peak_in_flight(made("breadth-first", {4, 3, 7}))), 21);
}

TEST(InFlight, OneForwardOneBackward) {
  for (const int ranks : {1, 2, 8}) {
    for (const int microbatches : {1, 5, 40}) {
      const std::vector<double> peaks = peak_in_flight(made("1f1b", {ranks, 1, microbatches}));
      for (int rank = 0; rank < ranks; ++rank) EXPECT_EQ(peaks[rank], std::min(microbatches, ranks - rank));
    }
  }
}

// Megatron: (v-1) PP passes to reach the last chunk, two for each rank behind, and the one that runs.
TEST(InFlight, Interleaved) {
  for (const int ranks : {2, 4, 8}) {
    for (const int chunks : {2, 3}) {
      const std::vector<double> peaks = peak_in_flight(made("interleaved-1f1b", {ranks, chunks, 4 * ranks}));
      for (int rank = 0; rank < ranks; ++rank)
        EXPECT_EQ(peaks[rank], (chunks - 1) * ranks + 2 * (ranks - 1 - rank) + 1);
      EXPECT_EQ(most(peak_in_flight(made("interleaved-1f1b", {ranks, chunks, ranks}))), chunks * ranks);
    }
  }
}

// Zero-bubble paper, section 2.3, ranks from 0: H1 holds (p-r) M_B + r M_W, H2 (2(p-r)-1) M_B + 2r M_W, where M_B is a
// whole activation and M_W what of it is kept for the weight gradient.
TEST(InFlight, ZeroBubble) {
  for (const double kept : {0.25, 0.5, 1.0}) {
    for (const int ranks : {2, 4, 8}) {
      const std::vector<double> h1 = peak_in_flight(made("zb-h1", {ranks, 1, 40}), kept);
      const std::vector<double> h2 = peak_in_flight(made("zb-h2", {ranks, 1, 40}), kept);
      for (int rank = 0; rank < ranks; ++rank) {
        EXPECT_EQ(h1[rank], ranks - rank + rank * kept);
        EXPECT_EQ(h2[rank], 2 * (ranks - rank) - 1 + 2 * rank * kept);
      }
    }
  }
}

// In activations of a chunk, half a rank's layers: ZB-V as much as 1F1B, p whole ones; V-Half (p+2)/2 and V-Min
// (p+4)/3, rounded down (the papers' tables).
TEST(InFlight, VShapes) {
  for (int ranks = 1; ranks <= 16; ++ranks) {
    for (const double peak : peak_in_flight(made("zb-v", {ranks, 2, 3 * ranks}))) EXPECT_EQ(peak, 2 * ranks);
    EXPECT_EQ(most(peak_in_flight(made("zb-v-half", {ranks, 2, 3 * ranks}))), 2 * ((ranks + 2) / 2)) << ranks;
    EXPECT_EQ(most(peak_in_flight(made("zb-v-min", {ranks, 2, 3 * ranks}))), 2 * ((ranks + 4) / 3)) << ranks;
  }
}

// DualPipe's README: PP + 1 activations of a stage on every rank.
TEST(InFlight, DualPipe) {
  for (const int stages : {4, 8, 16}) {
    EXPECT_EQ(most(peak_in_flight(made("dualpipe", {stages, 2, 4 * stages}))), stages + 1);
    EXPECT_EQ(most(peak_in_flight(made("dualpipev", {stages / 2, 2, 2 * stages}))), stages + 1);
  }
}

}  // namespace stepsim::schedule_orders_test
