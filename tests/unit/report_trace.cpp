// The Chrome trace: valid JSON, a process a rank, a thread a stream, no slices of a thread that overlap.
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <nlohmann/json.hpp>

#include "support/report_example.hpp"

namespace stepsim {
namespace {

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
  const Json trace = Json::parse(to_trace(e.graph, e.timeline, 14));
  for (const Json& event : trace["traceEvents"]) EXPECT_LT(event["pid"], 2);
  EXPECT_EQ(trace["otherData"]["note"], "2 of 3 ranks: the first of each program and speed");
}

}  // namespace
}  // namespace stepsim
