// The Chrome trace: valid JSON, a process a rank, a thread a stream, no slices of a thread that overlap.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "sim/base/errors.hpp"
#include "sim/report/trace.hpp"
#include "sim/report/trace_ranks.hpp"
#include "support/report_example.hpp"

namespace stepsim::report_trace_test {
using Json = nlohmann::json;

TEST(ReportTrace, NamesProcessesAndThreads) {
  const auto e = toy::two_ranks();
  const Json trace = Json::parse(to_trace(e.graph, e.timeline));
  std::map<std::pair<int, int>, std::string> threads;
  std::map<int, std::string> processes;
  for (const Json& event : trace["traceEvents"]) {
    if (event["ph"] != "M") continue;
    if (event["name"] == "thread_name") threads[{event["pid"], event["tid"]}] = event["args"]["name"];
    if (event["name"] == "process_name") processes[event["pid"]] = event["args"]["name"];
  }
  EXPECT_EQ(processes.at(1), "rank 1, stage 1");
  EXPECT_EQ(threads.size(), 6u);
  EXPECT_EQ((threads.at({1, 2})), "pipeline");
}

TEST(ReportTrace, ShowsEveryEventInMicroseconds) {
  const auto e = toy::two_ranks();
  const Json trace = Json::parse(to_trace(e.graph, e.timeline));
  int compute = 0, transfers = 0, waits = 0;
  for (const Json& event : trace["traceEvents"]) {
    if (event["ph"] != "X") continue;
    compute += event["cat"] == "compute";
    transfers += event["cat"] == "transfer";
    waits += event["cat"] == "wait";
    if (event["name"] == "parameters" && event["pid"] == 0) {
      EXPECT_EQ(event["ts"], 1e6);
      EXPECT_EQ(event["dur"], 2e6);
      EXPECT_EQ(event["tid"], 1);
      EXPECT_EQ(event["args"]["bytes"], 200);
      EXPECT_EQ(event["args"]["dimension"], "gather");
    }
    if (event["cat"] == "compute") {
      EXPECT_EQ(event["args"]["microbatch"], 0);
      EXPECT_EQ(event["args"]["layer"], 1);
    }
  }
  EXPECT_EQ(compute, 3);
  EXPECT_EQ(transfers, 6);
  EXPECT_EQ(waits, 3);  // the gather of rank 0, the reduction and the posted receive of rank 1
}

// Ops of a third of a nanosecond follow each other without a gap: rounding must not make neighbours overlap.
TEST(ReportTrace, SlicesOfAThreadNeverOverlap) {
  StepGraph graph;
  graph.programs = {toy::program("p", 0, {{"compute", Dimension::none}}, std::vector<Op>(1000, Op{}))};
  graph.ranks = {{}};
  Timeline timeline{.end = 0, .spans = {{}}, .events = 1000};
  for (int i = 0; i < 1000; ++i) {
    const double start = timeline.end, end = start + (i % 7 + 1) / 3e9;
    timeline.spans[0].push_back({start, start, end});
    timeline.end = end;
  }
  const Json trace = Json::parse(to_trace(graph, timeline));
  long long last = 0;
  int slices = 0;
  for (const Json& event : trace["traceEvents"]) {
    if (event["ph"] != "X") continue;
    const long long ts = std::llround(event["ts"].get<double>() * 1000),
                    dur = std::llround(event["dur"].get<double>() * 1000);
    EXPECT_GE(ts, last);
    EXPECT_GE(dur, 0);
    last = ts + dur;
    ++slices;
  }
  EXPECT_EQ(slices, 1000);
}

TEST(ReportTrace, ALargeGraphShowsOneRankOfAKindAndSaysSo) {
  auto e = toy::two_ranks();
  e.graph.ranks.push_back(e.graph.ranks[0]);
  e.graph.ranks.back().original = 2;
  e.timeline.spans.push_back(e.timeline.spans[0]);
  const Json trace = Json::parse(to_trace(e.graph, e.timeline, {.most_events = 14}));
  for (const Json& event : trace["traceEvents"]) EXPECT_LT(event["pid"], 2);
  EXPECT_EQ(trace["otherData"]["note"], "2 of 3 ranks: the first of each program and speed");
}

MemoryLine two_points() {
  return {.rank = 0, .points = {{0, 1e9}, {3, 2e9}}};
}

// What the format asks for: every event has a phase, a process and, but for metadata, a time; a slice has a duration
// and a named thread of a named process; arrows come in pairs, first the start, each within a slice of its thread; the
// values of a counter stand in order of time.
void expect_rules(const Json& trace) {
  std::set<std::pair<int, int>> threads;
  std::set<int> processes;
  std::map<std::pair<int, int>, std::vector<std::pair<double, double>>> slices;
  for (const Json& event : trace["traceEvents"]) {
    ASSERT_TRUE(event["ph"].is_string() && event["pid"].is_number_integer()) << event;
    if (event["ph"] == "M" && event["name"] == "process_name") processes.insert(event["pid"].get<int>());
    if (event["ph"] == "M" && event["name"] == "thread_name")
      threads.emplace(event["pid"].get<int>(), event["tid"].get<int>());
    if (event["ph"] == "X")
      slices[{event["pid"].get<int>(), event["tid"].get<int>()}].emplace_back(
          event["ts"].get<double>(), event["ts"].get<double>() + event["dur"].get<double>());
  }
  std::map<long long, int> open;
  std::map<std::pair<int, std::string>, double> last;
  for (const Json& event : trace["traceEvents"]) {
    const std::string phase = event["ph"];
    if (phase == "M") continue;
    ASSERT_GE(event["ts"].get<double>(), 0) << event;
    EXPECT_TRUE(processes.contains(event["pid"].get<int>())) << event;
    if (phase == "C") {
      const auto [found, isnew] =
          last.try_emplace({event["pid"].get<int>(), event["name"].get<std::string>()}, event["ts"].get<double>());
      EXPECT_TRUE(isnew || found->second <= event["ts"].get<double>()) << event;
      found->second = event["ts"];
      for (const auto& [name, value] : event["args"].items()) EXPECT_TRUE(value.is_number()) << event;
      continue;
    }
    const std::pair<int, int> thread{event["pid"].get<int>(), event["tid"].get<int>()};
    EXPECT_TRUE(threads.contains(thread)) << event;
    if (phase == "X") {
      EXPECT_GE(event["dur"].get<double>(), 0) << event;
      continue;
    }
    ASSERT_TRUE(phase == "s" || phase == "f") << event;
    const double ts = event["ts"];
    EXPECT_TRUE(std::any_of(slices[thread].begin(), slices[thread].end(), [ts](const auto& s) {
      return s.first <= ts && ts < s.second;
    })) << event;
    int& state = open[event["id"].get<long long>()];
    EXPECT_EQ(state, phase == "s" ? 0 : 1) << event;
    state += 1;
    EXPECT_TRUE(phase == "s" || event["bp"] == "e") << event;
  }
  for (const auto& [id, state] : open) EXPECT_EQ(state, 2) << "arrow " << id;
}

TEST(ReportTrace, KeepsTheRulesOfTheFormat) {
  auto e = toy::two_ranks();
  e.graph.sms = 132;
  e.graph.programs[0].ops.change(1, [](Op& op) { op.sms = 20; });
  expect_rules(Json::parse(to_trace(e.graph, e.timeline, {.memory = {two_points()}})));
}

TEST(ReportTrace, AnArrowFromTheSenderToTheReceiver) {
  auto e = toy::two_ranks();
  const auto ends = [&] {
    std::pair<int, int> pids{-1, -1};
    int arrows = 0;
    const Json trace = Json::parse(to_trace(e.graph, e.timeline));
    for (const Json& event : trace["traceEvents"]) {
      if (event["ph"] == "s") pids.first = event["pid"];
      if (event["ph"] == "f") pids.second = event["pid"];
      if (event["ph"] != "s") continue;
      EXPECT_EQ(event["ts"], 6e6);
      ++arrows;
    }
    EXPECT_EQ(arrows, 1);
    return pids;
  };
  EXPECT_EQ(ends(), (std::pair{0, 1}));  // no stream says who receives: the first endpoint sends
  e.graph.programs[0].streams[2].name = "pipeline receive 1>0";
  EXPECT_EQ(ends(), (std::pair{1, 0}));
  // An arrow needs both of its ends.
  const Json one = Json::parse(to_trace(e.graph, e.timeline, {.ranks = {1}}));
  for (const Json& event : one["traceEvents"]) {
    EXPECT_NE(event["ph"], "s");
    EXPECT_EQ(event["pid"], 1);
  }
}

std::map<double, double> counter(const Json& trace, int pid, const std::string& name) {
  std::map<double, double> values;
  for (const Json& event : trace["traceEvents"]) {
    if (event["ph"] == "C" && event["pid"] == pid && event["name"] == name)
      values[event["ts"]] = event["args"].begin().value();
  }
  return values;
}

// Own ports: rank 0's InfiniBand port carries the gather's 200 x 0.5 bytes over [1, 3], then the reduction's 50 bytes
// over [6, 7]; its NVLink port the message's 300 bytes over [6, 9].
TEST(ReportTrace, CountsWhatLinksCarry) {
  const auto e = toy::two_ranks();
  const Json trace = Json::parse(to_trace(e.graph, e.timeline));
  EXPECT_EQ(counter(trace, 0, "ib0 GB/s"), (std::map<double, double>{{1e6, 50e-9}, {3e6, 0}, {6e6, 50e-9}, {7e6, 0}}));
  EXPECT_EQ(counter(trace, 0, "nv0 GB/s"), (std::map<double, double>{{6e6, 100e-9}, {9e6, 0}}));
  EXPECT_TRUE(counter(trace, 1, "nv1 GB/s").empty());  // nothing crosses it
}

// The gather holds 20 of 132 SMs over [1, 3]; compute runs [0, 2] and [3, 6].
TEST(ReportTrace, CountsMemoryAndSharedSms) {
  auto e = toy::two_ranks();
  EXPECT_TRUE(counter(Json::parse(to_trace(e.graph, e.timeline)), 0, "SMs computing").empty());  // not shared
  e.graph.sms = 132;
  e.graph.programs[0].ops.change(1, [](Op& op) { op.sms = 20; });
  const Json trace = Json::parse(to_trace(e.graph, e.timeline, {.memory = {two_points()}}));
  EXPECT_EQ(counter(trace, 0, "SMs communicating"), (std::map<double, double>{{1e6, 20}, {3e6, 0}}));
  EXPECT_EQ(counter(trace, 0, "SMs computing"),
            (std::map<double, double>{{0, 132}, {1e6, 112}, {2e6, 0}, {3e6, 132}, {6e6, 0}}));
  EXPECT_EQ(counter(trace, 0, "memory GB"), (std::map<double, double>{{0, 1}, {3e6, 2}}));
}

std::string refusal(const std::function<void()>& work) {
  try {
    work();
  } catch (const InputError& e) {
    return e.what();
  }
  return "";
}

TEST(TraceRanks, AreNamedByRankAndStage) {
  auto e = toy::two_ranks();
  for (int i = 2; i < 6; ++i) {
    e.graph.ranks.push_back(e.graph.ranks[i % 2]);
    e.graph.ranks.back().original = i;
  }
  const auto chosen = [&](const std::string& text) { return chosen_ranks(parse_rank_choice(text), e.graph, {}); };
  EXPECT_EQ(chosen("4,0-1"), (std::vector<std::size_t>{0, 1, 4}));
  EXPECT_EQ(chosen("stage:1"), (std::vector<std::size_t>{1, 3, 5}));
  EXPECT_EQ(chosen("stage:0-1,2"), (std::vector<std::size_t>{0, 1, 2, 3, 4, 5}));
  EXPECT_EQ(chosen("all").size(), 6u);
  // Folded: real ranks 0, 2, 4, .. are kind 0, the others kind 1.
  e = toy::two_ranks();
  EXPECT_EQ(chosen_ranks(parse_rank_choice("2-4"), e.graph, {0, 1, 0, 1, 0, 1}), (std::vector<std::size_t>{0, 1}));
  EXPECT_EQ(chosen_ranks(parse_rank_choice("5"), e.graph, {0, 1, 0, 1, 0, 1}), (std::vector<std::size_t>{1}));
}

TEST(TraceRanks, AreRefusedAllAtOnce) {
  const std::string syntax = refusal([] { parse_rank_choice("1,x,5-2,stage:,-3,1.5"); });
  for (const char* part : {"\"x\"", "\"5-2\"", "\"stage:\"", "\"-3\"", "\"1.5\""}) {
    EXPECT_NE(syntax.find(std::string("--trace-ranks: ") + part), std::string::npos) << part << " in " << syntax;
  }
  EXPECT_NE(refusal([] { parse_rank_choice("1,"); }), "");
  const std::string missing = refusal([] { require_ranks(parse_rank_choice("0-8,stage:2"), 8, 2); });
  EXPECT_NE(missing.find("there is no rank 8: 0 to 7"), std::string::npos) << missing;
  EXPECT_NE(missing.find("there is no stage 2: 0 to 1"), std::string::npos) << missing;
}

}  // namespace stepsim::report_trace_test
