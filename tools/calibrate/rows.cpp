#include "rows.hpp"

#include <charconv>
#include <fstream>
#include <map>

#include "sim/base/errors.hpp"

namespace stepsim {
namespace {

struct Line {
  std::string file;
  int number = 0;
  std::map<std::string, std::string> of;

  double value(const std::string& key) const {
    const std::string& text = of.at(key);
    double v = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), v);
    if (error != std::errc() || end != text.data() + text.size() || v <= 0) {
      throw InputError({{file, number, key, "\"" + text + "\" is not a positive number"}});
    }
    return v;
  }
  // One of `allowed`.
  const std::string& word(const std::string& key, const std::vector<std::string>& allowed) const {
    const std::string& text = of.at(key);
    for (const std::string& a : allowed) {
      if (a == text) return text;
    }
    throw InputError({{file, number, key, "\"" + text + "\" is unknown"}});
  }
};

std::vector<std::string> cells(const std::string& line) {
  std::vector<std::string> out(1);
  bool quoted = false;
  for (const char c : line) {
    if (c == '"') {
      quoted = !quoted;
    } else if (c == ',' && !quoted) {
      out.emplace_back();
    } else {
      out.back() += c;
    }
  }
  return out;
}

std::vector<Line> lines(const std::string& file) {
  std::ifstream in(file);
  if (!in) throw InputError({{file, 0, "", "cannot be read"}});
  std::vector<Line> all;
  std::vector<std::string> head;
  std::string text;
  for (int number = 1; std::getline(in, text); ++number) {
    if (text.starts_with('#')) continue;
    const std::vector<std::string> row = cells(text);
    if (head.empty()) {
      head = row;
      continue;
    }
    if (row.size() != head.size()) throw InputError({{file, number, "", "has another number of cells than the header"}});
    Line line{file, number, {}};
    for (std::size_t i = 0; i < head.size(); ++i) line.of[head[i]] = row[i];
    all.push_back(std::move(line));
  }
  return all;
}

Measured product(const Line& line) {
  const std::string kind = line.word("kind", {"dense", "grouped", "grouped_weight_gradient"});
  const std::string precision = line.word("precision", {"bf16", "fp16", "fp8"});
  const std::string accumulate = line.word("accumulate", {"no", "yes", "bf16"});  // onto a result of FP32 or BF16
  const double groups = line.value("groups"), m = line.value("m"), n = line.value("n"), k = line.value("k");
  Kernel kernel{.name = "gemm", .kind = kind == "dense" ? KernelClass::gemm : KernelClass::grouped_gemm};
  kernel.precision = *precision_from(precision);
  kernel.groups_in_k = kind == "grouped_weight_gradient";
  kernel.groups = groups;
  kernel.m = kernel.groups_in_k ? m : m * groups;
  kernel.n = n;
  kernel.k = kernel.groups_in_k ? k * groups : k;
  kernel.flops = Flops(2 * m * n * k * groups);
  const double result = accumulate == "yes" ? 8 : accumulate == "bf16" ? 4 : 2;
  kernel.bytes = Bytes(groups * ((m * k + k * n) * bytes_per_element(kernel.precision) + m * n * result));
  Measured row{line.of.at("gpu"), precision == "fp8" ? "fp8" : "bf16",
               line.word("condition", {"sustained", "burst", "unstated", "zeros", "best_shape", "launch_bound"}), {kernel}, {}};
  if (kind != "dense") row.table = "grouped " + row.table;
  row.time = kernel.flops / FlopsPerSecond(line.value("tflops") * 1e12);
  return row;
}

// FLOPs as flash attention's benchmarks count them: 2 products forward, 2.5 times that backward.
Measured attention(const Line& line) {
  const std::string pass = line.word("pass", {"forward", "backward", "both"});
  const double length = line.value("sequence"), heads = line.value("heads"), batch = line.value("batch");
  const double qk = line.value("qk_dim"), v = line.value("v_dim");
  const bool causal = line.word("causal", {"yes", "no"}) == "yes";
  Kernel kernel{.name = "core attention", .kind = KernelClass::attention};
  kernel.m = length;
  kernel.n = causal ? (length + 1) / 2 : length;
  kernel.most_keys = length;
  kernel.k = qk + v;
  kernel.groups = heads * batch;
  const double scores = kernel.m * kernel.n * kernel.groups;
  Measured row{line.of.at("gpu"), line.word("kernel", {"flash", "flash2"}), "sustained", {}, {}};
  row.kernels.reserve(2);
  kernel.flash = row.table == "flash2" ? Kernel::Flash::flash2 : Kernel::Flash::best;
  double counted = 0;
  for (const bool backward : {false, true}) {
    if (pass == (backward ? "forward" : "backward")) continue;
    kernel.backward = backward;
    kernel.flops = Flops(2 * scores * (backward ? 3 * qk + 2 * v : qk + v));
    kernel.bytes = Bytes(0);  // a few operands: nothing beside the products
    counted += 2 * length * (causal ? length / 2 : length) * kernel.groups * (qk + v) * (backward ? 2.5 : 1);
    row.kernels.push_back(kernel);
  }
  row.time = Flops(counted) / FlopsPerSecond(line.value("tflops") * 1e12);
  return row;
}

}  // namespace

MeasuredMemory read_memory(const std::string& folder) {
  MeasuredMemory of;
  for (const Line& line : lines(folder + "/memory.csv")) {
    const bool starts = !line.of.at("start_us").empty();
    of[line.of.at("gpu")][line.of.at("what")] = {line.value("gbps"), starts ? line.value("start_us") : 0};
  }
  return of;
}

std::vector<MeasuredCall> read_calls(const std::string& file) {
  std::vector<MeasuredCall> calls;
  for (const Line& line : lines(file)) {
    const bool swept = line.of.at("operation") == "all_reduce" && line.of.at("algorithm") == "auto" &&
                       line.of.at("metric") == "busbw" && !line.of.at("size_bytes").empty();
    if (!swept || line.value("size_bytes") < 1024 || line.value("gpus") > line.value("per_node")) continue;
    MeasuredCall call{line.of.at("machine"), line.of.at("source"), line.value("gpus"), line.value("size_bytes"), 0};
    call.seconds = 2 * (call.gpus - 1) / call.gpus * call.bytes / (line.value("bandwidth_GBps") * 1e9);
    calls.push_back(std::move(call));
  }
  return calls;
}

std::vector<Measured> read_kernels(const std::string& folder) {
  std::vector<Measured> rows;
  for (const Line& line : lines(folder + "/gemm.csv")) rows.push_back(product(line));
  for (const Line& line : lines(folder + "/attention.csv")) rows.push_back(attention(line));
  return rows;
}

}  // namespace stepsim
