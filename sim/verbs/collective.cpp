// stepsim collective: one collective by itself over a range of sizes, in nccl-tests' columns.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "sim/base/text_units.hpp"
#include "sim/cluster/star.hpp"
#include "sim/collective_call.hpp"
#include "sim/measured.hpp"
#include "sim/report/table.hpp"
#include "sim/verbs/arguments.hpp"
#include "sim/verbs/verb.hpp"
#include "workloads/experiment.hpp"

namespace stepsim {
namespace verb_collective {

constexpr double kElement = 4;  // bytes of a float, nccl-tests' default type

struct Arguments {
  std::string operation;
  std::vector<std::string> sizes = {"1KiB:1GiB:4"};
  int ranks = 0, per_node = 0;
  std::string cluster, port, latency = "0us", algorithm = "auto", detail = "aggregate", versus;
  std::string measured;  // a file, or "-": the shipped one
  bool wants_measured = false, names_latency = false;
  OutputArguments outputs;
};

// One size.
struct Row {
  double size = 0, count = 0;  // bytes; elements a rank, as nccl-tests counts them
  SingleResult result;
  std::optional<double> versus;  // seconds in the other detail
};

void refuse(std::string option, std::string why) {
  throw InputError({{"", 0, std::move(option), std::move(why)}});
}

// "all_reduce", "all-reduce", "allreduce", and so on.
Operation operation_of(const std::string& text) {
  const auto plain = [](std::string_view name) {
    std::string letters;
    for (const char c : name) {
      if (c != '_' && c != '-') letters += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    }
    return letters;
  };
  std::vector<std::string> names;
  for (const Algorithm& a : algorithms()) {
    if (plain(to_text(a.operation)) == plain(text)) return a.operation;
    const std::string name(to_text(a.operation));
    if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
  }
  const std::string near = nearest(text, names);
  refuse("operation", fmt::format("\"{}\" is not one of {}{}", text, fmt::join(names, ", "),
                                  near.empty() ? "" : fmt::format("; did you mean {}?", near)));
  return {};
}

double size_of(const std::string& text) {
  const auto size = size_from(text);
  if (!size) refuse("--size", fmt::format("\"{}\" is not a size such as 64MiB, 1000B or 1GB", text));
  if (size->value < 1) refuse("--size", fmt::format("\"{}\" is less than a byte", text));
  if (size->value > 1e15) refuse("--size", fmt::format("\"{}\" is more than a petabyte", text));
  return size->value;
}

// "64MiB", "1KiB:1GiB:4" (from, to, factor; 2 when left out), and any of these in a list.
std::vector<double> sizes_of(const std::vector<std::string>& texts) {
  std::vector<double> sizes;
  for (const std::string& text : texts) {
    const std::size_t first = text.find(':');
    if (first == std::string::npos) {
      sizes.push_back(size_of(text));
      continue;
    }
    const std::size_t second = text.find(':', first + 1);
    const double from = size_of(text.substr(0, first)), to = size_of(text.substr(first + 1, second - first - 1));
    double factor = 2;
    if (second != std::string::npos) {
      std::size_t read = 0;
      const std::string last = text.substr(second + 1);
      try {
        factor = std::stod(last, &read);
      } catch (const std::exception&) {
        read = 0;
      }
      if (read == 0 || read != last.size() || !(factor > 1) || !std::isfinite(factor)) {
        refuse("--size", fmt::format("the factor \"{}\" is not a number above 1", last));
      }
    }
    if (to < from) refuse("--size", fmt::format("\"{}\" ends below where it begins", text));
    if (std::log(to / from) / std::log(factor) > 1000)
      refuse("--size", fmt::format("\"{}\" makes more than 1000 sizes", text));
    for (double size = from; size <= to * (1 + 1e-12); size *= factor) sizes.push_back(size);
  }
  return sizes;
}

ClusterSpec cluster_of(const Arguments& args, const std::string& home) {
  if (!args.port.empty()) {
    if (!args.cluster.empty()) refuse("--port", "a star of ports is a cluster by itself; leave --cluster out");
    if (args.ranks == 0) refuse("--ranks", "a star of ports needs their number");
    if (args.per_node != 0) refuse("--per-node", "a port of a star is a node by itself");
    const auto port = bandwidth_from(args.port);
    const auto latency = time_from(args.latency);
    if (!port || port->value <= 0) refuse("--port", fmt::format("\"{}\" is not a bandwidth such as 50GBps", args.port));
    if (!latency || latency->value < 0)
      refuse("--latency", fmt::format("\"{}\" is not a time such as 1us", args.latency));
    return star_cluster(args.ranks, *port, *latency);
  }
  if (args.names_latency) refuse("--latency", "belongs to --port; a cluster has its own latencies");
  std::string reason;
  const auto path = locate(home, Document::cluster, args.cluster.empty() ? "h800-256x8" : args.cluster, ".", reason);
  if (!path) refuse("--cluster", reason);
  // With the measured steps of collectives, where the GPU's file has them.
  Reading calibrated;
  ClusterSpec cluster = read_cluster(calibrated, *path, {}, Rates::calibrated);
  if (calibrated.problems.empty()) return cluster;
  Reading reading;
  cluster = read_cluster(reading, *path, {}, Rates::speed_of_light);
  reading.throw_if_any();
  return cluster;
}

// Elements a rank, as nccl-tests counts them; sizes are rounded up to whole ones.
Row row_for(Operation operation, double size, int ranks) {
  const bool shared_out = operation == Operation::all_gather || operation == Operation::reduce_scatter ||
                          operation == Operation::all_to_all;
  const double whole = kElement * (shared_out ? ranks : 1);
  Row row;
  row.count = std::ceil(size / whole);
  row.size = row.count * whole;
  return row;
}

const char* redop_of(Operation operation) {
  return operation == Operation::all_reduce || operation == Operation::reduce_scatter ? "sum" : "none";
}
int root_of(Operation operation) {
  return operation == Operation::broadcast ? 0 : -1;
}

double algbw(const Row& row) {
  return row.size / row.result.seconds;
}

std::string micros(double seconds) {
  const double us = seconds * 1e6;
  return us < 1e6 ? fmt::format("{:.2f}", us) : fmt::format("{:.0f}", us);
}

struct Outcome {
  Operation operation;
  int ranks = 0;
  std::string cluster, detail, versus;
  std::vector<Row> rows;
};

std::string text_of(const Outcome& o) {
  const bool versus = !o.versus.empty();
  std::vector<Column> columns = {{"size"},          {"count"}, {"type"},
                                 {"redop"},         {"root"},  {"time us"},
                                 {"algbw"},         {"busbw"}, {"algorithm", true, true},
                                 {"bound by", true}};
  if (versus)
    columns = {{"size"},           {"count"},          {"time us"},  {"algbw"}, {"busbw"}, {"algorithm", true, true},
               {"bound by", true}, {o.versus + " us"}, {"deviation"}};
  Table table(columns);
  const double factor = bus_factor(o.operation, o.ranks);
  const bool overfull = std::any_of(o.rows.begin(), o.rows.end(), [](const Row& row) { return row.result.floor_seconds > 1.001 * row.result.seconds; });
  for (const Row& row : o.rows) {
    const SingleResult& r = row.result;
    std::vector<std::string> cells = {fmt::format("{:.0f}", row.size), fmt::format("{:.0f}", row.count)};
    if (!versus) cells.insert(cells.end(), {"float", redop_of(o.operation), fmt::format("{}", root_of(o.operation))});
    cells.insert(cells.end(), {micros(r.seconds), fmt::format("{:.2f}", algbw(row) / 1e9),
                               fmt::format("{:.2f}", algbw(row) * factor / 1e9), r.algorithm,
                               fmt::format("{} {:.1f} %", r.wire, 100 * r.floor_seconds / r.seconds)});
    if (r.bound() == "latency") cells.back() = fmt::format("latency {:.1f} %", 100 * (1 - r.floor_seconds / r.seconds));
    if (versus)
      cells.insert(cells.end(), {micros(*row.versus), fmt::format("{:+.2f} %", 100 * (r.seconds / *row.versus - 1))});
    table.row(std::move(cells));
  }
  return fmt::format("{} over {} ranks of {}, detail {}; sizes in bytes, bandwidths in GB/s\n", to_text(o.operation),
                     o.ranks, o.cluster, o.detail) +
         table.text() +
         "bound by: the wire whose busiest link takes longest, and that link's share of the time;\n"
         "latency where it is less than half\n" +
         (overfull ? "more than 100 %: the closed form does not see that calls share links, which could not carry it; detail aggregate does\n" : "");
}

std::string csv_of(const Outcome& o) {
  std::string text = "size,count,type,redop,root,time_us,algbw_GBps,busbw_GBps,algorithm,bound,wire,floor_us,messages";
  text += o.versus.empty() ? "\n" : fmt::format(",{}_us\n", o.versus);
  for (const Row& row : o.rows) {
    const SingleResult& r = row.result;
    text += fmt::format("{:.0f},{:.0f},float,{},{},{:.9g},{:.9g},{:.9g},{},{},{},{:.9g},{}", row.size, row.count,
                        redop_of(o.operation), root_of(o.operation), r.seconds * 1e6, algbw(row) / 1e9,
                        algbw(row) * bus_factor(o.operation, o.ranks) / 1e9, r.algorithm, r.bound(), r.wire,
                        r.floor_seconds * 1e6, r.parts);
    text += row.versus ? fmt::format(",{:.9g}\n", *row.versus * 1e6) : "\n";
  }
  return text;
}

std::string json_of(const Outcome& o) {
  using Json = nlohmann::ordered_json;
  Json results = Json::array();
  for (const Row& row : o.rows) {
    const SingleResult& r = row.result;
    results.push_back({{"size_bytes", row.size},
                       {"count", row.count},
                       {"type", "float"},
                       {"redop", redop_of(o.operation)},
                       {"root", root_of(o.operation)},
                       {"time_s", r.seconds},
                       {"alg_bandwidth_bytes_per_s", algbw(row)},
                       {"bus_bandwidth_bytes_per_s", algbw(row) * bus_factor(o.operation, o.ranks)},
                       {"algorithm", r.algorithm},
                       {"bound", r.bound()},
                       {"wire", r.wire},
                       {"floor_s", r.floor_seconds},
                       {"messages", r.parts}});
    if (row.versus) results.back()[o.versus + "_time_s"] = *row.versus;
  }
  return Json{{"schema", "stepsim.collective/1"},
              {"operation", to_text(o.operation)},
              {"ranks", o.ranks},
              {"cluster", o.cluster},
              {"detail", o.detail},
              {"results", results}}
             .dump(2) +
         "\n";
}

int run_measured(const Arguments& args, const std::string& home) {
  if (!args.operation.empty() || !args.cluster.empty() || !args.port.empty() || args.ranks != 0) {
    refuse("--measured", "compares every row of the file by itself; it takes no operation, cluster or ranks");
  }
  if (args.outputs.wants("--json")) refuse("--json", "--measured writes text and --csv");
  const std::string path = args.measured.empty() ? home + "/platforms/measured/collectives.csv" : args.measured;
  const auto comparisons =
      compare_measured(read_measured(path), shipped(home, Document::cluster), [&](const std::string& name) {
        Arguments named;
        named.cluster = name;
        return cluster_of(named, home);
      });
  args.outputs.write("--csv", [&] { return measured_csv(comparisons); });
  if (!args.outputs.wants_standard_output()) write_output("-", measured_text(comparisons));
  return 0;
}

int run(const Arguments& args, const std::string& program) {
  args.outputs.require_writable();
  const std::string home = find_home(program, "");
  if (args.wants_measured) return run_measured(args, home);
  if (args.operation.empty()) refuse("operation", "not given; name one, such as all_reduce, or --measured");
  Outcome outcome;
  outcome.operation = operation_of(args.operation);
  const std::vector<double> sizes = sizes_of(args.sizes);
  const ClusterSpec cluster = cluster_of(args, home);
  const int used = args.per_node == 0 ? cluster.gpus_per_node : std::min(args.per_node, cluster.gpus_per_node);
  const bool pair = outcome.operation == Operation::point_to_point;
  outcome.ranks = args.ranks != 0 ? args.ranks : pair ? 2 : cluster.nodes * used;
  if (outcome.ranks < 2) refuse("--ranks", "a collective needs two or more");
  if (pair && outcome.ranks != 2) refuse("--ranks", "point_to_point has two");
  outcome.cluster = cluster.name;
  outcome.detail = args.detail;
  outcome.versus = args.versus;
  SingleCall call;
  call.operation = outcome.operation;
  call.members = first_members(cluster, outcome.ranks, args.per_node);
  call.algorithm = args.algorithm;
  for (const double size : sizes) {
    Row row = row_for(outcome.operation, size, outcome.ranks);
    call.payload = row.size;
    call.detail = *detail_from(args.detail);
    row.result = run_single(cluster, call);
    if (!args.versus.empty()) {
      SingleCall other = call;
      other.detail = *detail_from(args.versus);
      row.versus = run_single(cluster, other).seconds;
    }
    outcome.rows.push_back(std::move(row));
  }
  args.outputs.write("--json", [&] { return json_of(outcome); });
  args.outputs.write("--csv", [&] { return csv_of(outcome); });
  if (!args.outputs.wants_standard_output()) write_output("-", text_of(outcome));
  return 0;
}

std::function<int()> declare(CLI::App& verb, const std::string& program) {
  const auto args = std::make_shared<Arguments>();
  const std::vector<std::string> details = {"formula", "aggregate", "flow"};
  verb.add_option("operation", args->operation,
                  "all_reduce, all_gather, reduce_scatter, all_to_all, broadcast, shift or point_to_point");
  verb.add_option("--size", args->sizes, "nccl-tests' size: 64MiB, a list, or FROM:TO:FACTOR")
      ->delimiter(',')
      ->capture_default_str();
  verb.add_option("--ranks", args->ranks, "GPUs in the group: the cluster's first; all of them when left out")
      ->check(CLI::Range(2, 1 << 20));
  verb.add_option("--per-node", args->per_node, "use so many GPUs of each node; all when left out")
      ->check(CLI::Range(1, 1 << 20));
  verb.add_option("--cluster", args->cluster, "a cluster: path or shipped name; h800-256x8 when left out");
  verb.add_option("--port", args->port,
                  "instead of a cluster: --ranks ports of such a bandwidth (50GBps) on one ideal switch");
  const auto* latency =
      verb.add_option("--latency", args->latency, "with --port: of a message from any port to any other")
          ->capture_default_str();
  verb.add_option("--algorithm", args->algorithm, "one of stepsim list collectives; auto: by size and shape")
      ->capture_default_str();
  verb.add_option("--detail", args->detail, "steady traffic on the links; the closed form; every message by itself")
      ->check(CLI::IsMember(details))
      ->capture_default_str();
  verb.add_option("--versus", args->versus, "also in this detail, and how far the first is from it")
      ->check(CLI::IsMember(details));
  const auto* measured =
      verb.add_option("--measured", args->measured,
                      "measured against simulated bandwidth, for each row of the shipped measurements or of this file")
          ->expected(0, 1);
  args->outputs.declare(verb, "--json", "write the results as JSON to this file (-: standard output)");
  args->outputs.declare(verb, "--csv", "write a row a size as CSV");
  return [args, program, latency, measured] {
    args->names_latency = latency->count() > 0;
    args->wants_measured = measured->count() > 0;
    return run(*args, program);
  };
}

}  // namespace verb_collective

Verb collective_verb() {
  return {"collective", "simulate one collective by itself over a range of sizes", verb_collective::declare};
}

}  // namespace stepsim
