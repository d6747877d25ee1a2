#include "sim/report/text_sections.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "sim/report/derived.hpp"
#include "sim/report/table.hpp"
#include "sim/report/words.hpp"

namespace stepsim {
namespace {

constexpr std::size_t most_rows = 16;

std::string left_out(std::size_t count, std::string_view what) {
  return count == 0
             ? ""
             : fmt::format("  ({} more {} not shown; --json has all)\n", number_text(static_cast<double>(count)), what);
}

// The kinds with the most and the least of each part of the split, filled up from the first to `most_rows`.
std::vector<std::size_t> extremes(const std::vector<RankRow>& kinds) {
  std::set<std::size_t> chosen;
  if (kinds.size() > most_rows) {
    for (const auto field : {&RankRow::compute_s, &RankRow::exposed_communication_s, &RankRow::wait_s,
                             &RankRow::bubble_s, &RankRow::peak_memory_bytes}) {
      const auto less = [field](const RankRow& a, const RankRow& b) { return a.*field < b.*field; };
      const auto [least, most] = std::minmax_element(kinds.begin(), kinds.end(), less);
      chosen.insert({static_cast<std::size_t>(least - kinds.begin()), static_cast<std::size_t>(most - kinds.begin())});
    }
  }
  for (std::size_t k = 0; k < kinds.size() && chosen.size() < most_rows; ++k) chosen.insert(k);
  return {chosen.begin(), chosen.end()};
}

// "compute 61.2 %, transfer 38.8 %": the largest first, parts below 0.05 % left out.
std::string join(const std::map<std::string, double>& parts, double whole) {
  constexpr std::size_t most_parts = 8;
  std::vector<std::pair<double, std::string>> sorted;
  for (const auto& [name, seconds] : parts) {
    if (whole > 0 && seconds / whole >= 0.0005) sorted.emplace_back(-seconds, name);
  }
  std::sort(sorted.begin(), sorted.end());
  std::string text;
  for (std::size_t i = 0; i < std::min(most_parts, sorted.size()); ++i) {
    text += fmt::format("{}{} {}", i == 0 ? "" : ", ", sorted[i].second, percent_text(-sorted[i].first / whole));
  }
  if (sorted.size() > most_parts) text += fmt::format(", {} others", sorted.size() - most_parts);
  return text;
}

std::string short_operation(const std::string& operation) {
  if (operation == "all_gather") return "AG";
  if (operation == "reduce_scatter") return "RS";
  if (operation == "all_reduce") return "AR";
  if (operation == "all_to_all") return "A2A";
  if (operation == "shift") return "shift";
  if (operation == "point_to_point") return "P2P";
  if (operation == "broadcast") return "BC";
  return operation;
}

}  // namespace

std::string ranks_section(const Report& report) {
  const auto kinds = rank_kinds(report);
  if (kinds.empty()) return "";
  Table table({{"stage"},
               {"ranks"},
               {"first"},
               {"compute"},
               {"exposed"},
               {"wait"},
               {"bubble"},
               {"overlapped"},
               {"peak memory"}});
  const auto rows = extremes(kinds);
  for (const std::size_t k : rows) {
    const RankRow& row = kinds[k];
    table.row({std::to_string(row.stage), number_text(row.count), std::to_string(row.rank), seconds_text(row.compute_s),
               seconds_text(row.exposed_communication_s), seconds_text(row.wait_s), seconds_text(row.bubble_s),
               seconds_text(row.overlapped_communication_s),
               row.peak_memory_bytes > 0 ? bytes_text(row.peak_memory_bytes) : "-"});
  }
  const Shares mean = mean_shares(report);
  table.row({"mean", "", "", percent_text(mean.compute), percent_text(mean.exposed), percent_text(mean.wait),
             percent_text(mean.bubble), percent_text(mean.overlapped), ""});
  return "How ranks spend the step (compute + exposed communication + wait + bubble)\n" + table.text() +
         left_out(kinds.size() - rows.size(), "kinds of rank");
}

std::string resources_section(const Report& report) {
  Table table(
      {{"resource", true}, {"roofline"}, {"of the step"}, {"on the path"}, {"elasticity"}, {"10 % faster saves"}});
  const double whole = report.step_time_s;
  const auto row = [&](const std::string& name, double roofline, const std::map<std::string, double>& path) {
    const auto on_path = path.find(name);
    std::string elasticity = "-", saves = "-";
    for (const Elasticity& e : report.verdict.elasticities) {
      if (e.resource != name) continue;
      const bool noise = std::abs(e.value) < 1e-6;  // of two simulations that differ in rounding only
      elasticity = fmt::format("{:.3f}", std::abs(e.value) < 5e-4 ? 0.0 : e.value);
      saves = seconds_text(noise ? 0 : e.saved_by_10_percent_s);
    }
    table.row({resource_text(name), roofline < 0 ? "-" : seconds_text(roofline),
               roofline < 0 || whole <= 0 ? "-" : percent_text(roofline / whole),
               on_path == path.end() || whole <= 0 ? "-" : percent_text(on_path->second / whole), elasticity, saves});
  };
  row("compute", report.roofline.compute_s, report.critical_path.by_kind);
  row("hbm", report.roofline.hbm_s, {});
  const auto& measured = report.verdict.elasticities;
  if (std::any_of(measured.begin(), measured.end(), [](const Elasticity& e) { return e.resource == "starts"; })) row("starts", -1, {});
  for (std::size_t t = 0; t < std::min(report.tiers.size(), report.roofline.wire_s.size()); ++t) {
    row(report.tiers[t], report.roofline.wire_s[t], report.critical_path.by_wire);
  }
  row("latency", -1, report.critical_path.by_wire);
  return fmt::format("Resources (roofline of the worst rank, {}; critical path; elasticity of the step time)\n",
                     report.roofline.rank) +
         table.text();
}

std::string collectives_section(const Report& report) {
  if (report.collectives.empty()) return "";
  Table table({{"collective", true, true},
               {"op", true, true},
               {"algorithm", true, true},
               {"GPUs"},
               {"calls"},
               {"bytes"},
               {"busy"},
               {"exposed"},
               {"wait"},
               {"bus BW"}});
  const std::size_t shown = std::min(most_rows, report.collectives.size());
  for (std::size_t i = 0; i < shown; ++i) {
    const CollectiveRow& c = report.collectives[i];
    table.row({c.name, short_operation(c.operation), c.algorithm, number_text(c.group_size), number_text(c.count),
               bytes_text(c.bytes_per_rank), seconds_text(c.busy_s), seconds_text(c.exposed_s), seconds_text(c.wait_s),
               c.busy_s > 0 ? bandwidth_text(c.bus_bandwidth) : "-"});
  }
  return "Collectives (each as its busiest rank sees it; bus bandwidth as nccl-tests defines it)\n" + table.text() +
         left_out(report.collectives.size() - shown, "kinds of collective");
}

std::string path_section(const Report& report) {
  const CriticalPath& path = report.critical_path;
  std::string text = "Critical path\n";
  const auto line = [&](std::string_view title, const std::map<std::string, double>& parts) {
    const std::string joined = join(parts, report.step_time_s);
    if (!joined.empty()) text += wrap(fmt::format("  {:<13} {}", title, joined), page_width, 16) + "\n";
  };
  line("by kind", path.by_kind);
  line("by dimension", path.by_dimension);
  line("by wire", path.by_wire);
  line("by phase", path.by_phase);
  const auto numbered = [&](const char* what, const std::map<int, double>& parts) {
    std::map<std::string, double> named;
    for (const auto& [number, seconds] : parts) {
      named[number < 0 ? fmt::format("no {}", what) : fmt::format("{} {}", what, number)] = seconds;
    }
    line(fmt::format("by {}", what), parts.size() > 1 ? named : std::map<std::string, double>{});
  };
  numbered("stage", path.by_stage);
  numbered("layer", path.by_layer);
  numbered("rank", path.by_rank);
  return text;
}

std::string links_section(const Report& report) {
  constexpr std::size_t most_links = 6;
  const std::vector<LinkRow> kinds = link_kinds(report);
  if (kinds.empty()) return "";
  Table table({{"link", true, true}, {"wire", true, true}, {"alike"}, {"bytes"}, {"capacity"}, {"busy"}});
  const std::size_t shown = std::min(most_links, kinds.size());
  for (std::size_t i = 0; i < shown; ++i) {
    const LinkRow& link = kinds[i];
    table.row({link.name, link.tier, number_text(link.count), bytes_text(link.bytes), bandwidth_text(link.capacity),
               percent_text(link.utilisation)});
  }
  return "Busiest links\n" + table.text() + left_out(kinds.size() - shown, "kinds of link");
}

}  // namespace stepsim
