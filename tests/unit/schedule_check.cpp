// Schedules that cannot run are refused by name; those of the table always can.
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <set>

#include "support/contains.hpp"
#include "workloads/schedule.hpp"

namespace stepsim::schedule_check_test {
using Texts = std::vector<std::string>;

Schedule one_f_one_b(int ranks, int microbatches) {
  return find_schedule("1f1b")->make({ranks, 1, microbatches});
}

TEST(ScheduleTable, NamesAndCopies) {
  std::set<std::string_view> names;
  for (const ScheduleKind& kind : schedules()) names.insert(kind.name);
  EXPECT_EQ(names.size(), schedules().size());
  for (const auto name : {"gpipe", "1f1b", "interleaved-1f1b", "breadth-first", "zb-h1", "zb-h2", "zb-v", "zb-v-half",
                          "zb-v-min", "dualpipe", "dualpipev"}) {
    EXPECT_TRUE(names.contains(name)) << name;
  }
  EXPECT_EQ(find_schedule("1F1B"), nullptr);
}

// What a table line promises: pieces of the backward pass, and how many ranks hold a stage.
TEST(ScheduleTable, LinesAreTrue) {
  for (const ScheduleKind& kind : schedules()) {
    const int chunks = kind.fixed_chunks != 0 ? kind.fixed_chunks : 3;
    const Schedule schedule = kind.make({4, chunks, 16});
    bool split = false;
    int held = 0;
    for (int rank = 0; rank < 4; ++rank) {
      for (const Pass& pass : schedule.order[rank]) split = split || pass.kind == PassKind::input_gradient;
      held += static_cast<int>(schedule.placement[rank].size());
      EXPECT_EQ(schedule.placement[rank].size(), static_cast<std::size_t>(chunks)) << kind.name;
    }
    EXPECT_EQ(split, kind.splits_backward) << kind.name;
    EXPECT_EQ(held, kind.copies * schedule.stages) << kind.name;
  }
}

TEST(ScheduleTable, RandomShapesRun) {
  rc::check("every shape that a schedule does not refuse gives a schedule that runs", [] {
    const ScheduleKind& kind = schedules()[*rc::gen::inRange<std::size_t>(0, schedules().size())];
    const int chunks = kind.fixed_chunks != 0 ? kind.fixed_chunks : *rc::gen::inRange(1, 6);
    const ScheduleShape shape{*rc::gen::inRange(1, 17), chunks, *rc::gen::inRange(1, 70)};
    if (!kind.refuses(shape).empty()) return;
    const auto problems = problems_of(kind.make(shape));
    if (!problems.empty()) RC_LOG() << kind.name << ": " << problems[0] << '\n';
    RC_ASSERT(problems.empty());
  });
}

TEST(ScheduleTable, Refusals) {
  const auto refusal = [](std::string_view name, ScheduleShape shape) { return find_schedule(name)->refuses(shape); };
  EXPECT_EQ(refusal("dualpipe", {4, 1, 16}), "");
  EXPECT_EQ(refusal("dualpipe", {4, 2, 8}), "");
  EXPECT_TRUE(contains(refusal("dualpipe", {4, 2, 6}), "(nearest: 8)"));
  EXPECT_TRUE(contains(refusal("dualpipe", {4, 2, 11}), "(nearest: 10, 12)"));
  EXPECT_TRUE(contains(refusal("dualpipe", {5, 2, 20}), "(nearest: 4, 6)"));
  EXPECT_TRUE(contains(refusal("dualpipev", {4, 2, 7}), "(nearest: 8)"));
  EXPECT_TRUE(contains(refusal("interleaved-1f1b", {4, 2, 9}), "(nearest: 8, 10)"));  // 10: two groups of five
  EXPECT_TRUE(contains(refusal("interleaved-1f1b", {4, 1, 8}), "use 1f1b"));
  EXPECT_TRUE(contains(refusal("1f1b", {4, 2, 8}), "always has 1"));
  EXPECT_TRUE(contains(refusal("zb-v", {4, 3, 8}), "always has 2"));
  for (const ScheduleKind& kind : schedules()) {
    EXPECT_NE(kind.refuses({0, 1, 8}), "") << kind.name;
    EXPECT_NE(kind.refuses({4, 0, 8}), "") << kind.name;
    EXPECT_NE(kind.refuses({4, 1, 0}), "") << kind.name;
    EXPECT_NE(kind.refuses({-1, -1, -1}), "") << kind.name;
  }
}

TEST(ScheduleCheck, MissingPass) {
  Schedule schedule = one_f_one_b(2, 2);
  schedule.order[1].pop_back();
  EXPECT_EQ(problems_of(schedule), (Texts{"rank 1: B (or I) of microbatch 1 at stage 1 is missing"}));
  schedule = find_schedule("zb-h1")->make({2, 1, 2});
  schedule.order[0].pop_back();
  EXPECT_EQ(problems_of(schedule), (Texts{"rank 0: W of microbatch 1 at stage 0 is missing"}));
}

TEST(ScheduleCheck, RepeatedPass) {
  Schedule schedule = one_f_one_b(1, 1);
  schedule.order[0].push_back(schedule.order[0][0]);
  EXPECT_EQ(problems_of(schedule),
            (Texts{"rank 0, pass 2: F of microbatch 0 at stage 0 repeats F of microbatch 0 at stage 0 (pass 0)"}));
  schedule = one_f_one_b(1, 1);
  schedule.order[0].push_back({PassKind::weight_gradient, 0, 0, false});
  EXPECT_EQ(problems_of(schedule),
            (Texts{"rank 0, pass 2: W of microbatch 0 at stage 0 repeats what its B (pass 1) does"}));
}

TEST(ScheduleCheck, MisplacedPass) {
  Schedule schedule = one_f_one_b(1, 1);
  schedule.order[0][1].chunk = 1;
  EXPECT_EQ(problems_of(schedule), (Texts{"rank 0, pass 1: B of microbatch 0 is in chunk 1, but the rank holds 1"}));
  schedule.order[0][1] = {PassKind::backward, 7, 0, false};
  EXPECT_EQ(problems_of(schedule), (Texts{"rank 0, pass 1: B of microbatch 7 at stage 0: microbatches are 0 to 0"}));
  schedule = find_schedule("dualpipe")->make({2, 2, 4});
  schedule.order[0][0].microbatch = 2;  // of the other direction
  EXPECT_TRUE(contains(problems_of(schedule), "runs in direction 1, whose stage 0 is on rank 1"));
}

TEST(ScheduleCheck, BrokenTables) {
  Schedule schedule = one_f_one_b(2, 2);
  schedule.placement[1][0] = 0;
  EXPECT_EQ(problems_of(schedule),
            (Texts{"stage 0 is on ranks 0 and 1: one rank must hold it", "stage 1 is on no rank"}));
  schedule.placement[1][0] = 9;
  EXPECT_EQ(problems_of(schedule), (Texts{"rank 1 holds stage 9: stages are 0 to 1"}));
  schedule.placement.pop_back();
  EXPECT_TRUE(contains(problems_of(schedule), "stages are placed on 1 ranks"));
  EXPECT_FALSE(problems_of(Schedule{}).empty());
}

TEST(ScheduleCheck, OutOfOrder) {
  Schedule schedule = one_f_one_b(1, 1);
  std::swap(schedule.order[0][0], schedule.order[0][1]);
  EXPECT_EQ(problems_of(schedule), (Texts{"out of order: rank 0 cannot start B of microbatch 0 at stage 0 (pass 0) "
                                          "before F of microbatch 0 at stage 0, which is pass 1 of rank 0"}));
}

// Rank 0 wants the gradient of microbatch 1 back before it sends microbatch 2; rank 1 wants microbatch 2 first.
TEST(ScheduleCheck, DeadlockAcrossRanks) {
  constexpr PassKind f = PassKind::forward, b = PassKind::backward;
  Schedule schedule = one_f_one_b(2, 3);
  schedule.order[0] = {{f, 0, 0}, {f, 1, 0}, {b, 0, 0}, {b, 1, 0}, {f, 2, 0}, {b, 2, 0}};
  EXPECT_EQ(problems_of(schedule), Texts{});
  schedule.order[1] = {{f, 0, 0}, {f, 1, 0}, {b, 0, 0}, {f, 2, 0}, {b, 1, 0}, {b, 2, 0}};
  EXPECT_EQ(problems_of(schedule),
            (Texts{"deadlock: rank 0 cannot start B of microbatch 1 at stage 0 (pass 3) before B of microbatch 1 at "
                   "stage 1, which is pass 4 of rank 1; rank 1 cannot start F of microbatch 2 at stage 1 (pass 3) "
                   "before F of microbatch 2 at stage 0, which is pass 4 of rank 0"}));
}

TEST(ScheduleCheck, Pairs) {
  constexpr PassKind f = PassKind::forward, b = PassKind::backward;
  Schedule schedule = one_f_one_b(1, 2);
  schedule.order[0] = {{f, 0, 0}, {f, 1, 0, true}, {b, 0, 0}, {b, 1, 0}};
  EXPECT_EQ(problems_of(schedule), Texts{});
  schedule.order[0] = {{f, 0, 0}, {f, 1, 0}, {b, 0, 0}, {b, 1, 0, true}};
  EXPECT_TRUE(contains(problems_of(schedule), "paired with the next pass, but it is the last"));
  schedule.order[0] = {{f, 0, 0}, {f, 1, 0}, {b, 0, 0, true}, {b, 1, 0}};
  EXPECT_TRUE(contains(problems_of(schedule), "a pair is one forward and one backward pass"));
  schedule.order[0] = {{f, 0, 0}, {f, 1, 0, true}, {b, 0, 0, true}, {b, 1, 0}};
  EXPECT_TRUE(contains(problems_of(schedule), "is in two pairs"));
  schedule.order[0] = {{f, 0, 0, true}, {b, 0, 0}, {f, 1, 0}, {b, 1, 0}};  // a pass cannot run beside what it needs
  EXPECT_TRUE(contains(problems_of(schedule), "out of order: rank 0 cannot start B of microbatch 0"));
}

// Whatever is done to a good schedule, it is refused or it still runs; never a crash, never silence about a lost pass.
TEST(ScheduleCheck, RandomDamage) {
  rc::check("a schedule with a pass taken out is refused", [] {
    const ScheduleKind& kind = schedules()[*rc::gen::inRange<std::size_t>(0, schedules().size())];
    Schedule schedule = kind.make({4, kind.fixed_chunks != 0 ? kind.fixed_chunks : 2, 8});
    std::vector<Pass>& order = schedule.order[*rc::gen::inRange(0, 4)];
    order.erase(order.begin() + *rc::gen::inRange<int>(0, static_cast<int>(order.size())));
    RC_ASSERT(!problems_of(schedule).empty());
  });
  rc::check("a schedule with two passes exchanged is refused or runs", [] {
    const ScheduleKind& kind = schedules()[*rc::gen::inRange<std::size_t>(0, schedules().size())];
    Schedule schedule = kind.make({4, kind.fixed_chunks != 0 ? kind.fixed_chunks : 2, 8});
    std::vector<Pass>& order = schedule.order[*rc::gen::inRange(0, 4)];
    const int size = static_cast<int>(order.size());
    std::swap(order[*rc::gen::inRange(0, size)], order[*rc::gen::inRange(0, size)]);
    for (const std::string& problem : problems_of(schedule)) RC_ASSERT(!problem.empty());
  });
}

TEST(ScheduleCheck, LongListsAreCut) {
  Schedule schedule = one_f_one_b(4, 100);
  schedule.order[3].clear();
  const auto problems = problems_of(schedule);
  EXPECT_EQ(problems.size(), 21u);
  EXPECT_EQ(problems.back(), "and 180 more");
}

// 64 ranks x 1024 microbatches: large, and still checked at once (the benchmark times it; here it only has to end).
TEST(ScheduleCheck, Large) {
  for (const ScheduleKind& kind : schedules()) {
    const int chunks = kind.fixed_chunks != 0 ? kind.fixed_chunks : 2;
    EXPECT_EQ(problems_of(kind.make({64, chunks, 1024})), Texts{}) << kind.name;
  }
}

}  // namespace stepsim::schedule_check_test
