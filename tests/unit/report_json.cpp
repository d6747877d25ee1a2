// The JSON report: the keys that other tools rely on, and the way back.
#include <gtest/gtest.h>

#include <limits>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "support/report_example.hpp"

namespace stepsim::report_json_test {
using Json = nlohmann::ordered_json;

Report judged() {
  Report report = toy::example_report();
  judge(report, {{"compute", 0.4}, {"hbm", 0.05}, {"nvlink", 0.2}, {"infiniband", 0.3}, {"latency", 0.1}});
  report.engine.wall_s = 0.25;
  return report;
}

void expect_keys(const Json& json, const std::vector<std::string>& keys) {
  for (const std::string& key : keys) EXPECT_TRUE(json.contains(key)) << key << " in " << json.dump();
}

TEST(ReportJson, HasTheKeysThatOtherToolsRelyOn) {
  const Json json = Json::parse(to_json(judged()));
  EXPECT_EQ(json.at("schema"), "stepsim.report/1");
  expect_keys(json, {"inputs", "step_time_s", "tokens_per_step", "tokens_per_s_per_gpu", "flops", "verdict", "roofline",
                     "ranks", "collectives", "memory", "critical_path", "links", "warnings", "engine"});
  expect_keys(json["flops"], {"model_per_step", "hardware_per_step", "mfu", "hfu", "convention"});
  expect_keys(json["verdict"], {"bound", "resource", "elasticity", "text"});
  expect_keys(json["verdict"]["elasticity"], {"compute", "hbm", "nvlink", "infiniband", "latency"});
  expect_keys(json["roofline"], {"compute_s", "hbm_s", "nvlink_s", "infiniband_s", "bound"});
  for (const Json& rank : json["ranks"]) {
    expect_keys(rank, {"rank", "count", "stage", "compute_s", "overlapped_communication_s", "exposed_communication_s",
                       "wait_s", "bubble_s", "idle_s", "nvlink_bytes", "infiniband_bytes", "peak_memory_bytes"});
  }
  for (const Json& collective : json["collectives"]) {
    expect_keys(collective, {"name", "op", "dimension", "algorithm", "group_size", "count", "bytes_per_rank", "busy_s",
                             "exposed_s", "wait_s"});
  }
  expect_keys(json["engine"], {"name", "detail", "folded", "representatives", "events", "wall_s", "peak_rss_bytes"});
}

TEST(ReportJson, SaysWhatTheReportSays) {
  const Json json = Json::parse(to_json(judged()));
  EXPECT_EQ(json["step_time_s"], 12.0);
  EXPECT_EQ(json["tokens_per_s_per_gpu"], 10.0);
  EXPECT_EQ(json["flops"]["mfu"], 0.25);
  EXPECT_EQ(json["ranks"][0]["nvlink_bytes"], 300.0);
  EXPECT_EQ(json["ranks"][1]["wait_s"], 3.0);
  EXPECT_EQ(json["verdict"]["bound"], "communication");
  EXPECT_EQ(json["verdict"]["elasticity"]["infiniband"], 0.3);
  EXPECT_EQ(json["roofline"]["nvlink_s"], 3.0);
  EXPECT_EQ(json["memory"]["fits"], true);
  EXPECT_EQ(json["memory"]["ranks"][0]["kinds"]["activations_bytes"], 50e9);
  EXPECT_EQ(json["critical_path"]["by_wire"]["infiniband_s"], 2.0);
}

TEST(ReportJson, WiresHaveTheNamesOfTheCluster) {
  auto e = toy::two_ranks();
  e.graph.tiers = {"pcie", "ethernet"};
  const Json json = Json::parse(to_json(analyse(e.graph, e.timeline, toy::names("x"), toy::facts())));
  expect_keys(json["ranks"][0], {"pcie_bytes", "ethernet_bytes"});
  expect_keys(json["roofline"], {"pcie_s", "ethernet_s"});
}

TEST(ReportJson, ReadsBackWhatItWrote) {
  const Report report = judged();
  const std::string text = to_json(report);
  const Report back = report_from_json(text);
  EXPECT_EQ(to_json(back), text);
  EXPECT_EQ(back.ranks, report.ranks);
  EXPECT_EQ(back.collectives, report.collectives);
  EXPECT_EQ(back.links, report.links);
  EXPECT_EQ(back.facts.memory, report.facts.memory);
  EXPECT_EQ(back.warnings, report.warnings);
  EXPECT_EQ(to_text(back), to_text(report));
  const std::string empty = to_json(Report{});
  EXPECT_EQ(to_json(report_from_json(empty)), empty);
}

TEST(ReportJson, IsValidWhateverTheNumbersAndNames) {
  Report report = judged();
  report.step_time_s = std::numeric_limits<double>::quiet_NaN();
  report.ranks[0].bubble_s = std::numeric_limits<double>::infinity();
  report.inputs.model = "bytes that are no UTF-8: \xff, a quote \", a line\nbreak";
  const std::string text = to_json(report);
  const Json json = Json::parse(text);
  EXPECT_TRUE(json["step_time_s"].is_null());
  EXPECT_EQ(to_json(report_from_json(text)), text);
}

TEST(ReportJson, RefusesOtherDocuments) {
  EXPECT_THROW(report_from_json(""), std::invalid_argument);
  EXPECT_THROW(report_from_json("[1]"), std::invalid_argument);
  EXPECT_THROW(report_from_json(R"({"schema": "other/1"})"), std::invalid_argument);
  EXPECT_THROW(report_from_json(R"({"schema": "stepsim.report/1"})"), std::invalid_argument);
}

TEST(ReportCsv, ARowARank) {
  EXPECT_EQ(to_csv(judged()),
            "rank,count,stage,compute_s,overlapped_communication_s,exposed_communication_s,wait_s,bubble_s,idle_s,"
            "nvlink_bytes,infiniband_bytes,peak_memory_bytes\n"
            "0,1,0,5,1,4,0,3,3,300,150,60000000000\n"
            "1,1,1,3,0,5,3,1,4,0,150,30000000000\n");
}

}  // namespace stepsim::report_json_test
