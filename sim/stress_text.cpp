// Stress results as text, JSON, CSV and HTML.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "sim/base/csv.hpp"
#include "sim/report/page.hpp"
#include "sim/report/table.hpp"
#include "sim/report/words.hpp"
#include "sim/stress.hpp"

namespace stepsim {
namespace {

constexpr int kBars = 12;
constexpr int kWidest = 50;
const std::vector<std::pair<const char*, double>> kPercentiles = {
    {"p5", 0.05}, {"p50", 0.5}, {"p90", 0.9}, {"p95", 0.95}, {"p99", 0.99}};

std::string time_text(double seconds) {
  return std::isinf(seconds) ? "never ends" : seconds_text(seconds);
}
std::string loss_text(double seconds, double nominal) {
  return std::isinf(seconds) ? "" : fmt::format("{:+.1f} %", 100 * (seconds / nominal - 1));
}

std::string summary(const std::vector<StressResult>& results) {
  Table table({{"plan", true, true},
               {"nominal"},
               {"p50"},
               {"p95"},
               {"worst"},
               {"mean loss"},
               {"p95 loss"},
               {"ranks wait"},
               {"never end"}});
  for (const StressResult& r : results) {
    double waiting = 0;
    for (const Stressed& run : r.runs) waiting += run.waiting_ranks / static_cast<double>(r.runs.size());
    table.row({r.experiment, seconds_text(r.nominal_s), time_text(r.percentile(0.5)), time_text(r.percentile(0.95)),
               time_text(r.percentile(1)), loss_text(r.mean_s(), r.nominal_s),
               loss_text(r.percentile(0.95), r.nominal_s), fmt::format("{:.0f}", waiting),
               fmt::format("{}", r.never_end())});
  }
  return table.text();
}

// How many runs ended in which time, as bars.
std::string histogram(const StressResult& r) {
  std::vector<double> times;
  for (const Stressed& run : r.runs) {
    if (run.ends) times.push_back(run.step_time_s);
  }
  if (times.empty()) return "";
  const auto [low, high] = std::minmax_element(times.begin(), times.end());
  if (*high - *low < 1e-9 * *high) return fmt::format("  all {} in {}\n", times.size(), seconds_text(*low));
  std::vector<int> bars(kBars, 0);
  for (const double t : times) ++bars[std::min(kBars - 1, static_cast<int>((t - *low) / (*high - *low) * kBars))];
  const int most = *std::max_element(bars.begin(), bars.end());
  std::string text;
  for (int i = 0; i < kBars; ++i) {
    const double from = *low + (*high - *low) * i / kBars;
    text += fmt::format("  from {:>9}  {:<{}} {}\n", seconds_text(from),
                        std::string(static_cast<std::size_t>((bars[i] * kWidest + most - 1) / most), '#'), kWidest,
                        bars[i]);
  }
  return text;
}

std::string grid_section(const StressResult& r, const StressSpec& spec) {
  if (spec.grid.empty()) return "";
  std::vector<Column> columns;
  for (const auto& [name, values] : spec.grid) columns.push_back({name});
  for (const char* title : {"mean", "worst", "mean loss"}) columns.push_back({title});
  Table table(columns);
  for (std::size_t first = 0; first < r.runs.size(); first += static_cast<std::size_t>(spec.runs)) {
    StressResult point;
    point.runs.assign(r.runs.begin() + static_cast<std::ptrdiff_t>(first),
                      r.runs.begin() + static_cast<std::ptrdiff_t>(first) + spec.runs);
    std::vector<std::string> cells;
    for (const double value : point.runs.front().draw.point) cells.push_back(fmt::format("{:g}", value));
    cells.insert(cells.end(),
                 {time_text(point.mean_s()), time_text(point.percentile(1)), loss_text(point.mean_s(), r.nominal_s)});
    table.row(cells);
  }
  return "\nBy point of the grid\n" + table.text();
}

std::string worst_section(const StressResult& r) {
  const Stressed* worst = r.worst();
  if (worst == nullptr) return "";
  std::string text = fmt::format("Worst: run {}: {}. ", worst->draw.number, worst->draw.text);
  if (!worst->ends) return wrap(text + "It never ends: " + worst->failure, page_width) + "\n";
  text += fmt::format("{}, {} longer than nominal", seconds_text(worst->step_time_s),
                      loss_text(worst->step_time_s, r.nominal_s));
  if (worst->waiting_ranks > 0)
    text += fmt::format("; {} ranks wait, most of it for rank {}", number_text(worst->waiting_ranks), worst->for_rank);
  return wrap(text + ".", page_width) + "\n";
}

// nullptr for JSON's missing infinity.
nlohmann::ordered_json finite(double value) {
  return std::isinf(value) ? nlohmann::ordered_json() : nlohmann::ordered_json(value);
}

}  // namespace

std::string to_text(const std::vector<StressResult>& results, const StressSpec& spec) {
  std::string text =
      fmt::format("{}: {} runs, seed {}\n\n{}", spec.name, results.front().runs.size(), spec.seed, summary(results));
  text += "\n" +
          wrap(
              "loss: of time, against the plan's own nominal step. ranks wait: how many wait for others by more than "
              "0.1 % of the step "
              "longer than usual, mean of the runs.",
              page_width) +
          "\n";
  for (const StressResult& r : results) {
    text += fmt::format("\n{}\n{}{}\n{}", r.experiment, histogram(r), grid_section(r, spec), worst_section(r));
  }
  if (results.size() < 2) return text;
  const auto steadiest =
      std::min_element(results.begin(), results.end(), [](const StressResult& a, const StressResult& b) {
        return a.percentile(0.95) / a.nominal_s < b.percentile(0.95) / b.nominal_s;
      });
  return text + "\n" +
         wrap(fmt::format("{} suffers least: its 95th percentile is {} above its nominal step.", steadiest->experiment,
                          loss_text(steadiest->percentile(0.95), steadiest->nominal_s)),
              page_width) +
         "\n";
}

namespace {

nlohmann::ordered_json json_of(const std::vector<StressResult>& results, const StressSpec& spec) {
  nlohmann::ordered_json json = {
      {"schema", "stepsim.stress/1"}, {"spec", spec.name}, {"runs", spec.runs}, {"seed", spec.seed}};
  for (const auto& [name, values] : spec.grid) json["grid"][name] = values;
  json["experiments"] = nlohmann::ordered_json::array();
  for (const StressResult& r : results) {
    nlohmann::ordered_json one = {{"experiment", r.experiment},
                                  {"nominal_s", r.nominal_s},
                                  {"mean_s", finite(r.mean_s())},
                                  {"worst_s", finite(r.percentile(1))},
                                  {"never_end", r.never_end()}};
    for (const auto& [name, p] : kPercentiles) one["percentiles_s"][name] = finite(r.percentile(p));
    for (const Stressed& run : r.runs) {
      nlohmann::ordered_json row = {{"run", run.draw.number},
                                    {"seed", run.draw.seed},
                                    {"drawn", run.draw.text},
                                    {"point", run.draw.point},
                                    {"ends", run.ends}};
      if (run.ends) {
        row["step_time_s"] = run.step_time_s;
        row["waiting_ranks"] = run.waiting_ranks;
        row["most_waited_for_rank"] =
            run.for_rank < 0 ? nlohmann::ordered_json() : nlohmann::ordered_json(run.for_rank);
      } else {
        row["failure"] = run.failure;
      }
      one["runs"].push_back(std::move(row));
    }
    json["experiments"].push_back(std::move(one));
  }
  return json;
}

}  // namespace

std::string to_json(const std::vector<StressResult>& results, const StressSpec& spec) { return json_of(results, spec).dump(2) + "\n"; }

std::string to_html(const std::vector<StressResult>& results, const StressSpec& spec) {
  return page_of("stepsim: " + spec.name, "stress", json_of(results, spec).dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace));
}

std::string to_csv(const std::vector<StressResult>& results, const StressSpec& spec) {
  std::string text = "experiment,run,seed,";
  for (const auto& [name, values] : spec.grid) text += csv_cell(name) + ",";
  text += "ends,step_time_s,waiting_ranks,most_waited_for_rank,drawn\n";
  for (const StressResult& r : results) {
    for (const Stressed& run : r.runs) {
      text += fmt::format("{},{},{},", csv_cell(r.experiment), run.draw.number, run.draw.seed);
      for (const double value : run.draw.point) text += fmt::format("{:g},", value);
      text +=
          fmt::format("{},{},{},{},{}\n", run.ends ? 1 : 0, run.ends ? fmt::format("{}", run.step_time_s) : "",
                      run.waiting_ranks, run.for_rank < 0 ? "" : std::to_string(run.for_rank), csv_cell(run.draw.text));
    }
  }
  return text;
}

}  // namespace stepsim
