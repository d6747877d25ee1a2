// Random steps: the split of a rank's time is a partition, the critical path sums to the step time.
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <set>

#include "support/report_example.hpp"

namespace stepsim::report_property_test {
// Ranks with programs of their own that meet in the calls of two groups, one of collectives, one of messages.
StepGraph random_graph() {
  StepGraph graph;
  graph.tiers = {"nvlink"};
  graph.links = {{.name = "link", .capacity = 3, .tier = 0, .owner = 0}};
  const int ranks = *rc::gen::inRange(1, 5);
  const int calls = *rc::gen::inRange(0, 6);
  std::vector<double> payload;
  for (int c = 0; c < calls; ++c) payload.push_back(*rc::gen::inRange(0, 9) / 7.0);
  std::vector<int> which;  // group of each call
  for (int c = 0; c < calls; ++c) which.push_back(*rc::gen::inRange(0, 2));
  graph.groups.resize(2);
  for (int g = 0; g < 2; ++g) {
    Group& group = graph.groups[g];
    group.patterns = {{g == 0 ? "all_reduce" : "point_to_point", "x", {toy::part({{0, 1}}, 1)}}};
    group.size = ranks;
    for (int r = 0; r < ranks; ++r) group.endpoints.push_back({r, g});
  }
  for (int r = 0; r < ranks; ++r) {
    Program program =
        toy::program("p", r, {{"compute", Dimension::none}, {"a", Dimension::reduce}, {"b", Dimension::pipeline}}, {});
    const auto add = [&](Op op) {
      if (!program.ops.empty() && *rc::gen::inRange(0, 2) == 0) {
        op.after = {*rc::gen::inRange(0, static_cast<int>(program.ops.size()))};
      }
      program.ops.push_back(op);
    };
    for (int c = 0; c <= calls; ++c) {
      for (int k = *rc::gen::inRange(0, 4); k > 0; --k) {
        const bool compute = *rc::gen::inRange(0, 3) > 0;
        const int stream = compute ? 0 : *rc::gen::inRange(0, 3);
        add(toy::timed(compute ? OpKind::compute : OpKind::delay, stream, *rc::gen::inRange(0, 9) / 3.0));
      }
      if (c < calls) add(toy::call(which[c] + 1, which[c], 0, payload[c]));
    }
    graph.programs.push_back(std::move(program));
    graph.ranks.push_back({.program = r, .slots = {0, 1}, .original = r});
  }
  return graph;
}

double duration(const OpView& op) {
  return op.kind == OpKind::transfer ? op.payload_bytes / 3 : op.seconds;
}

// Earliest times without contention, by relaxation until nothing moves.
Timeline run(const StepGraph& graph) {
  Timeline timeline;
  for (const Program& program : graph.programs) timeline.spans.emplace_back(program.ops.size());
  for (bool moved = true; moved;) {
    moved = false;
    std::vector<std::vector<double>> meet(2);  // [group][n-th call] latest ready
    for (int pass = 0; pass < 2; ++pass) {
      for (std::size_t r = 0; r < graph.ranks.size(); ++r) {
        std::vector<double> free(3, 0);
        std::vector<std::size_t> number(2, 0);
        for (std::size_t i = 0; i < graph.programs[r].ops.size(); ++i) {
          const OpView op = graph.programs[r].ops[i];
          double ready = free[op.stream];
          for (const auto before : op.after) ready = std::max(ready, timeline.spans[r][before].end);
          double start = ready;
          if (op.kind == OpKind::transfer) {
            auto& met = meet[op.slot];
            const std::size_t n = number[op.slot]++;
            if (met.size() <= n) met.resize(n + 1, 0);
            met[n] = std::max(met[n], ready);
            start = std::max(met[n], timeline.spans[r][i].start);
          }
          const Span span{ready, start, start + duration(op)};
          moved = moved || !(span == timeline.spans[r][i]);
          timeline.spans[r][i] = span;
          free[op.stream] = span.end;
          timeline.end = std::max(timeline.end, span.end);
        }
      }
    }
  }
  return timeline;
}

// The split again, the slow way: every piece between two times of the rank is looked at on its own.
RankRow split_slowly(const StepGraph& graph, const Timeline& timeline, std::size_t r) {
  std::set<double> times{0, timeline.end};
  for (const Span& span : timeline.spans[r]) times.insert({span.ready, span.start, span.end});
  RankRow row;
  for (auto t = times.begin(); std::next(t) != times.end(); ++t) {
    const double middle = (*t + *std::next(t)) / 2, piece = *std::next(t) - *t;
    bool compute = false, moving = false, waiting = false;
    for (std::size_t i = 0; i < timeline.spans[r].size(); ++i) {
      const OpView op = graph.programs[r].ops[i];
      const Span& span = timeline.spans[r][i];
      const bool runs = span.start < middle && middle < span.end;
      compute = compute || (op.kind == OpKind::compute && runs);
      moving = moving || (op.kind == OpKind::transfer && runs);
      waiting = waiting || (op.kind == OpKind::transfer && op.slot == 0 && span.ready < middle && middle < span.start);
    }
    (compute ? row.compute_s : moving ? row.exposed_communication_s : waiting ? row.wait_s : row.bubble_s) += piece;
    if (compute && moving) row.overlapped_communication_s += piece;
  }
  return row;
}

TEST(ReportProperty, TheSplitIsAPartitionOfTheStep) {
  EXPECT_TRUE(rc::check("compute + exposed + wait + bubble = T", [] {
    const StepGraph graph = random_graph();
    const Timeline timeline = run(graph);
    const auto rows = split_ranks(graph, timeline);
    const double tolerance = 1e-9 * timeline.end;
    for (std::size_t r = 0; r < rows.size(); ++r) {
      const RankRow& row = rows[r];
      const RankRow slow = split_slowly(graph, timeline, r);
      const double sum = row.compute_s + row.exposed_communication_s + row.wait_s + row.bubble_s;
      RC_ASSERT(std::abs(sum - timeline.end) <= tolerance);
      RC_ASSERT(row.overlapped_communication_s >= 0);
      RC_ASSERT(row.overlapped_communication_s <= row.compute_s + tolerance);
      RC_ASSERT(std::abs(row.compute_s - slow.compute_s) <= tolerance);
      RC_ASSERT(std::abs(row.overlapped_communication_s - slow.overlapped_communication_s) <= tolerance);
      RC_ASSERT(std::abs(row.exposed_communication_s - slow.exposed_communication_s) <= tolerance);
      RC_ASSERT(std::abs(row.wait_s - slow.wait_s) <= tolerance);
      RC_ASSERT(std::abs(row.bubble_s - slow.bubble_s) <= tolerance);
    }
  }));
}

TEST(ReportProperty, TheCriticalPathSumsToTheStep) {
  EXPECT_TRUE(rc::check("parts sum to T, without a gap", [] {
    const StepGraph graph = random_graph();
    const Timeline timeline = run(graph);
    const CriticalPath path = critical_path(graph, timeline);
    double sum = 0;
    for (const PathPart& part : path.parts) {
      RC_ASSERT(part.seconds > 0);
      RC_ASSERT(path.words[part.kind] != "other");
      sum += part.seconds;
    }
    RC_ASSERT(std::abs(sum - timeline.end) <= 1e-9 * timeline.end);
  }));
}

TEST(ReportProperty, CollectivesAgreeWithTheirRanks) {
  EXPECT_TRUE(rc::check("exposed <= busy; exposed of one stream's calls is at most the rank's", [] {
    const StepGraph graph = random_graph();
    const Timeline timeline = run(graph);
    for (const CollectiveRow& row : collect_collectives(graph, timeline)) {
      RC_ASSERT(row.exposed_s <= row.busy_s + 1e-9);
      RC_ASSERT(row.exposed_s >= -1e-12);
      const RankRow rank = split_ranks(graph, timeline)[static_cast<std::size_t>(row.rank)];
      RC_ASSERT(row.exposed_s <= rank.exposed_communication_s + 1e-9);
      RC_ASSERT(row.count > 0);
    }
  }));
}

TEST(ReportProperty, AnyStepMakesAValidReport) {
  EXPECT_TRUE(rc::check("JSON round trip", [] {
    const StepGraph graph = random_graph();
    const Timeline timeline = run(graph);
    const std::string json = to_json(analyse(graph, timeline, toy::names("x"), {}));
    RC_ASSERT(to_json(report_from_json(json)) == json);
  }));
}

}  // namespace stepsim::report_property_test
