#include "sim/measured.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <fstream>
#include <map>

#include "sim/base/read_files.hpp"
#include "sim/collective_call.hpp"
#include "sim/report/table.hpp"
#include "sim/report/words.hpp"

namespace stepsim {
namespace {

constexpr const char* kHead =
    "machine,gpus,per_node,operation,algorithm,size_bytes,tokens,top_k,max_nodes,bandwidth_GBps,metric,software,source,"
    "note";
constexpr double kPeakSize = 8.0 * (1 << 30);  // of a peak without a size: nccl-tests' usual largest

// DeepEP's exchanges, of which its tables speak.
constexpr double kExperts = 256, kDispatchBytes = 7168 + 7168 / 128 * 4, kCombineBytes = 7168 * 2;

std::vector<std::string> cells_of(const std::string& line) {
  std::vector<std::string> cells{""};
  for (const char c : line) {
    if (c == ',') {
      cells.emplace_back();
    } else if (c != '\r') {
      cells.back() += c;
    }
  }
  return cells;
}

class RowReader {
 public:
  RowReader(const std::string& path, int line, const std::vector<std::string>& cells, std::vector<Problem>& problems)
      : path_(path), line_(line), cells_(cells), problems_(problems) {}

  std::optional<double> number(std::size_t column, const char* name, double least, bool may_be_empty = false) {
    const std::string& text = cells_[column];
    if (text.empty() && may_be_empty) return std::nullopt;
    double value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error == std::errc() && end == text.data() + text.size() && value >= least && std::isfinite(value))
      return value;
    problems_.push_back({path_, line_, name, fmt::format("\"{}\" is not a number of {:g} or more", text, least)});
    return std::nullopt;
  }

  int whole(std::size_t column, const char* name, int least, bool may_be_empty = false) {
    const double value = number(column, name, least, may_be_empty).value_or(may_be_empty ? 0 : least);
    if (value == std::floor(value) && value < 1e7) return static_cast<int>(value);
    problems_.push_back({path_, line_, name, "is not a whole number"});
    return least;
  }

 private:
  const std::string& path_;
  int line_;
  const std::vector<std::string>& cells_;
  std::vector<Problem>& problems_;
};

// What a row's call is to the simulator.
struct Exchange {
  Operation operation;
  bool tokens = false, back = false, low_latency = false;
};
std::optional<Exchange> exchange_of(const std::string& name) {
  if (name == "dispatch") return Exchange{Operation::all_to_all, true, false, false};
  if (name == "combine") return Exchange{Operation::all_to_all, true, true, false};
  if (name == "low_latency_dispatch") return Exchange{Operation::all_to_all, true, false, true};
  if (name == "low_latency_combine") return Exchange{Operation::all_to_all, true, true, true};
  for (const Algorithm& a : algorithms()) {
    if (to_text(a.operation) == name) return Exchange{a.operation};
  }
  return std::nullopt;
}

// Bytes that the metric divides by the time.
double counted_bytes(const MeasuredRow& row, const Exchange& exchange, const SingleCall& call, int nodes) {
  if (!exchange.tokens) {
    return call.payload * (row.metric == "busbw" ? bus_factor(call.operation, row.gpus) : 1);
  }
  if (exchange.low_latency) return call.payload;
  const double reached =
      nodes > 1 ? expected_gpus(kExperts, nodes, row.top_k) : expected_gpus(kExperts, row.gpus, row.top_k);
  return call.payload * (nodes > 1 && row.max_nodes > 0 ? std::min<double>(row.max_nodes, reached) : reached);
}

void simulate_row(Comparison& comparison, const ClusterSpec& cluster) {
  const MeasuredRow& row = comparison.row;
  const Exchange exchange = *exchange_of(row.operation);
  SingleCall call;
  call.operation = exchange.operation;
  call.algorithm = row.algorithm;
  call.members = first_members(cluster, row.gpus, row.per_node);
  call.payload = row.size_bytes.value_or(kPeakSize);
  if (exchange.tokens) {
    call.payload = row.tokens * (exchange.back ? kCombineBytes : kDispatchBytes);
    if (exchange.low_latency) {
      call.payload *= row.top_k;
    } else {
      call.routing = {kExperts, static_cast<double>(row.top_k), row.max_nodes};
    }
  }
  const SingleResult result = run_single(cluster, call);
  const int nodes = shape_of(cluster, call.members).nodes;
  comparison.algorithm = result.algorithm;
  comparison.simulated = counted_bytes(row, exchange, call, nodes) / result.seconds;
}

}  // namespace

std::vector<MeasuredRow> read_measured(const std::string& path) {
  note_read(path);
  std::ifstream file(path);
  if (!file) throw InputError({{path, 0, "", "there is no such file"}});
  std::vector<MeasuredRow> rows;
  std::vector<Problem> problems;
  std::string line;
  bool head = false;
  for (int number = 1; std::getline(file, line); ++number) {
    if (line.empty() || line[0] == '#') continue;
    const std::vector<std::string> cells = cells_of(line);
    if (!head) {
      head = true;
      if (line.substr(0, line.find('\r')) != kHead)
        throw InputError({{path, number, "", fmt::format("the columns are {}", kHead)}});
      continue;
    }
    if (cells.size() != 14) {
      problems.push_back(
          {path, number, "", fmt::format("has {} cells, not 14 (no quotes, no commas in a cell)", cells.size())});
      continue;
    }
    RowReader read(path, number, cells, problems);
    MeasuredRow row;
    row.line = number;
    row.machine = cells[0];
    row.gpus = read.whole(1, "gpus", 2);
    row.per_node = read.whole(2, "per_node", 1);
    row.operation = cells[3];
    row.algorithm = cells[4];
    row.size_bytes = read.number(5, "size_bytes", 1, true);
    const auto exchange = exchange_of(row.operation);
    const bool tokens = exchange && exchange->tokens;
    row.tokens = read.whole(6, "tokens", 1, !tokens);
    row.top_k = read.whole(7, "top_k", 1, !tokens);
    row.max_nodes = read.whole(8, "max_nodes", 1, true);
    row.bandwidth = read.number(9, "bandwidth_GBps", 0).value_or(0) * 1e9;
    row.metric = cells[10];
    row.software = cells[11];
    row.source = cells[12];
    row.note = cells[13];
    if (!exchange) problems.push_back({path, number, "operation", fmt::format("\"{}\" is none", row.operation)});
    if (exchange && row.algorithm != "auto" && find_algorithm(exchange->operation, row.algorithm) == nullptr) {
      problems.push_back(
          {path, number, "algorithm", fmt::format("{} has no algorithm \"{}\"", row.operation, row.algorithm)});
    }
    if (row.metric != "busbw" && row.metric != "logical" && row.metric != "p2p") {
      problems.push_back({path, number, "metric", fmt::format("\"{}\" is not one of busbw, logical, p2p", row.metric)});
    }
    rows.push_back(std::move(row));
  }
  if (!head) problems.push_back({path, 0, "", "is empty"});
  if (!problems.empty()) throw InputError(problems);
  return rows;
}

std::vector<Comparison> compare_measured(const std::vector<MeasuredRow>& rows, const std::vector<std::string>& clusters,
                                         const std::function<ClusterSpec(const std::string&)>& load) {
  std::map<std::string, std::vector<ClusterSpec>> of_machine;  // smallest first
  std::vector<Comparison> comparisons;
  for (const MeasuredRow& row : rows) {
    const auto [it, fresh] = of_machine.try_emplace(row.machine);
    for (const std::string& name : clusters) {
      if (fresh && (name == row.machine || name.starts_with(row.machine + "-"))) it->second.push_back(load(name));
    }
    if (fresh)
      std::stable_sort(it->second.begin(), it->second.end(),
                       [](const auto& a, const auto& b) { return a.ranks() < b.ranks(); });
    Comparison& comparison = comparisons.emplace_back();
    comparison.row = row;
    const ClusterSpec* fits = nullptr;
    for (const ClusterSpec& cluster : it->second) {
      if (fits == nullptr && row.per_node <= cluster.gpus_per_node && row.gpus <= cluster.nodes * row.per_node)
        fits = &cluster;
    }
    if (fits == nullptr) {
      comparison.missing = it->second.empty() ? "no shipped cluster" : "no shipped cluster is as large";
      continue;
    }
    comparison.cluster = fits->name;
    try {
      simulate_row(comparison, *fits);
    } catch (const InputError& error) {
      comparison.missing = error.problems().front().reason;
    }
  }
  return comparisons;
}

namespace {

std::string size_text(const MeasuredRow& row) {
  if (row.tokens > 0) return fmt::format("{} tok", row.tokens);
  if (!row.size_bytes) return "peak";
  double size = *row.size_bytes;
  std::string_view unit = "B";
  for (const std::string_view larger : {"KiB", "MiB", "GiB"}) {
    if (size < 1024 || std::fmod(size, 1024) != 0) break;
    size /= 1024;
    unit = larger;
  }
  return fmt::format("{:.0f} {}", size, unit);
}

std::string operation_text(const MeasuredRow& row) {
  constexpr std::string_view kLong = "low_latency_";
  return row.operation.starts_with(kLong) ? "ll_" + row.operation.substr(kLong.size()) : row.operation;
}

std::string bandwidth_cell(double bytes_per_second) {
  return fmt::format("{:.4g}", bytes_per_second / 1e9);
}

std::string deviation_cell(double deviation) {
  return fmt::format("{:+.{}f} %", 100 * deviation, deviation < 10 ? 1 : 0);
}

std::string series_of(const Comparison& c) {
  return fmt::format("{} {} {}", c.row.machine, c.row.operation, c.row.source);
}

std::string summary_of(const std::vector<Comparison>& rows) {
  std::map<std::string, std::vector<const Comparison*>> series;
  std::vector<std::string> order;
  std::map<std::string, int> missing;
  for (const Comparison& c : rows) {
    if (!c.missing.empty()) {
      ++missing[fmt::format("{} {}: {}", c.row.machine, c.row.operation, c.missing)];
      continue;
    }
    auto& list = series[series_of(c)];
    if (list.empty()) order.push_back(series_of(c));
    list.push_back(&c);
  }
  Table table({{"machine", true},
               {"operation", true},
               {"GPUs"},
               {"rows"},
               {"median"},
               {"least"},
               {"most"},
               {"source", true, true}});
  for (const std::string& name : order) {
    std::vector<double> deviations;
    for (const Comparison* c : series[name]) deviations.push_back(c->deviation());
    std::sort(deviations.begin(), deviations.end());
    const std::size_t n = deviations.size();
    const double median = (deviations[(n - 1) / 2] + deviations[n / 2]) / 2;
    const MeasuredRow& row = series[name][0]->row;
    int least = row.gpus, most = row.gpus;
    for (const Comparison* c : series[name]) {
      least = std::min(least, c->row.gpus);
      most = std::max(most, c->row.gpus);
    }
    table.row({row.machine, row.operation, least == most ? fmt::format("{}", least) : fmt::format("{}-{}", least, most),
               fmt::format("{}", n), deviation_cell(median), deviation_cell(deviations.front()),
               deviation_cell(deviations.back()), row.source});
  }
  std::string text = "\nDeviation of simulated from measured bandwidth, by series\n" + table.text();
  for (const auto& [why, count] : missing)
    text += wrap(fmt::format("  not simulated: {} rows of {}", count, why), page_width, 4) + "\n";
  return text;
}

}  // namespace

std::string measured_text(const std::vector<Comparison>& rows) {
  Table table({{"machine", true},
               {"GPUs"},
               {"operation", true},
               {"size"},
               {"algorithm", true},
               {"measured"},
               {"simulated"},
               {"deviation"},
               {"source", true, true}});
  for (const Comparison& c : rows) {
    const bool known = c.missing.empty();
    table.row({c.row.machine, fmt::format("{}", c.row.gpus), operation_text(c.row), size_text(c.row),
               known ? c.algorithm : c.row.algorithm, bandwidth_cell(c.row.bandwidth),
               known ? bandwidth_cell(c.simulated) : "-", known ? deviation_cell(c.deviation()) : "-", c.row.source});
  }
  return "Bandwidth in GB/s: bus bandwidth as nccl-tests has it; of dispatch and combine DeepEP's logical one\n"
         "(ll_: by its low-latency kernels)\n" +
         table.text() + summary_of(rows);
}

std::string measured_csv(const std::vector<Comparison>& rows) {
  std::string text =
      "machine,cluster,gpus,per_node,operation,algorithm,size_bytes,tokens,metric,measured_GBps,simulated_GBps,"
      "deviation,missing,source,note\n";
  for (const Comparison& c : rows) {
    const bool known = c.missing.empty();
    text += fmt::format("{},{},{},{},{},{},{},{},{},{:.6g},{},{},{},{},{}\n", c.row.machine, c.cluster, c.row.gpus,
                        c.row.per_node, c.row.operation, known ? c.algorithm : c.row.algorithm,
                        c.row.size_bytes ? fmt::format("{:.0f}", *c.row.size_bytes) : "",
                        c.row.tokens > 0 ? fmt::format("{}", c.row.tokens) : "", c.row.metric, c.row.bandwidth / 1e9,
                        known ? fmt::format("{:.6g}", c.simulated / 1e9) : "",
                        known ? fmt::format("{:.6g}", c.deviation()) : "",
                        c.missing.find(',') == std::string::npos ? c.missing : fmt::format("\"{}\"", c.missing),
                        c.row.source, c.row.note);
  }
  return text;
}

}  // namespace stepsim
