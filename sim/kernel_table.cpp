#include "sim/kernel_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "sim/base/csv.hpp"
#include "sim/report/table.hpp"
#include "sim/report/words.hpp"

namespace stepsim {
namespace {

std::string_view kind_text(Block::Kind kind) {
  switch (kind) {
    case Block::Kind::embedding: return "embedding";
    case Block::Kind::dense_layer: return "dense layer";
    case Block::Kind::expert_layer: return "expert layer";
    default: return "head";
  }
}

std::string_view class_text(KernelClass kind) {
  switch (kind) {
    case KernelClass::gemm: return "gemm";
    case KernelClass::grouped_gemm: return "grouped_gemm";
    case KernelClass::attention: return "attention";
    default: return "memory";
  }
}

std::string bound_of(const KernelCost& cost) {
  const double most = std::max(cost.compute_time.value, cost.hbm_time.value);
  if (most < cost.time.value / 2) return "start";
  return cost.compute_time > cost.hbm_time ? "compute" : "HBM";
}

void add_kernel(KernelRow& row, const Kernel& kernel, const Gpu& gpu, int sms) {
  const KernelCost cost = cost_of(kernel, gpu, sms);
  row.name = kernel.name;
  row.kind = class_text(kernel.kind);
  if (kernel.kind != KernelClass::memory) {
    row.precision = to_text(kernel.precision);
    row.m = kernel.m;
    row.n = kernel.n;
    row.k = kernel.k;
    row.groups = kernel.groups;
  }
  row.flops = kernel.flops.value;
  row.bytes = kernel.bytes.value;
  row.seconds = cost.time.value;
  row.clock = cost.clock;
  row.bound = bound_of(cost);
}

// Whole numbers below a billion stay whole.
std::string size_text(double value) { return value > 0 ? fmt::format("{:.9g}", value) : ""; }

std::string flops_text(const KernelRow& row) {
  return row.flops > 0 && row.seconds > 0 ? fmt::format("{:.4g}", row.flops / row.seconds / 1e12) : "";
}

}  // namespace

std::vector<KernelRow> kernel_rows(const Inputs& inputs) {
  const BlockList blocks = make_blocks(inputs.model, inputs.plan);
  const SmUse& use = inputs.plan.sms;
  const int sms = inputs.cluster.gpu.sms - (use.policy == SmUse::Sharing::shared ? 0 : use.communication);
  const Gpu gpu = slowest_of(inputs.cluster.gpu, inputs.cluster.ranks());
  std::vector<KernelRow> rows;
  for (std::size_t kind = 0; kind < blocks.kinds.size(); ++kind) {
    const Block& block = blocks.kinds[kind];
    const auto count = std::count(blocks.kind_of.begin(), blocks.kind_of.end(), static_cast<int>(kind));
    for (const auto* items : {&block.forward, &block.backward}) {
      for (const Item& item : *items) {
        KernelRow& row = rows.emplace_back();
        row.block = kind_text(block.kind);
        row.blocks = static_cast<int>(count);
        row.phase = item.phase;
        if (const auto* kernel = std::get_if<Kernel>(&item.what)) {
          add_kernel(row, *kernel, gpu, sms);
        } else {
          const auto& call = std::get<CollectiveCall>(item.what);
          row.name = call.name;
          row.kind = to_text(call.operation);
          row.bytes = call.payload.value;
        }
      }
    }
  }
  return rows;
}

std::string kernels_text(const Inputs& inputs, const std::vector<KernelRow>& rows) {
  std::string text = wrap(fmt::format("{}: {} under {} on {}, rates {}: kernels of a GPU and a microbatch", inputs.name, inputs.model.name, inputs.plan.name,
                                      inputs.cluster.gpu.name, inputs.plan.rates == Rates::calibrated ? "calibrated" : "speed_of_light"),
                          page_width, 2) +
                     "\n";
  for (std::size_t begin = 0; begin < rows.size();) {
    std::size_t end = begin;
    double seconds = 0;
    Table table({{"phase", true, true}, {"kernel", true, true}, {"class", true, true}, {"", true}, {"m"}, {"n"}, {"k"}, {"groups"}, {"time"}, {"TFLOP/s"}, {"bound", true}});
    for (; end < rows.size() && rows[end].block == rows[begin].block && rows[end].blocks == rows[begin].blocks; ++end) {
      const KernelRow& row = rows[end];
      seconds += row.seconds;
      table.row({std::string(to_text(row.phase)), row.name, row.kind, row.precision, size_text(row.m), size_text(row.n), size_text(row.k), size_text(row.groups),
                 row.bound.empty() ? bytes_text(row.bytes) : seconds_text(row.seconds), flops_text(row), row.bound});
    }
    text += fmt::format("\n{} x {}: {} of kernels\n", rows[begin].blocks, rows[begin].block, seconds_text(seconds)) + table.text();
    begin = end;
  }
  return text + "\nm, n, k: products m x k by k x n (of all groups together); attention: queries, mean keys a query,\n"
                "widths of a head. A collective shows its payload. bound: start, where launch and ramps take most.\n";
}

std::string kernels_csv(const std::vector<KernelRow>& rows) {
  std::string text = "block,blocks,phase,kernel,class,precision,m,n,k,groups,flops,bytes,time_s,clock,bound\n";
  for (const KernelRow& r : rows) {
    text += fmt::format("{},{},{},{},{},{},{},{},{},{},{:.9g},{:.9g},{:.9g},{:.6g},{}\n", r.block, r.blocks, to_text(r.phase), csv_cell(r.name), r.kind, r.precision,
                        size_text(r.m), size_text(r.n), size_text(r.k), size_text(r.groups), r.flops, r.bytes, r.seconds, r.clock, r.bound);
  }
  return text;
}

std::string kernels_json(const Inputs& inputs, const std::vector<KernelRow>& rows) {
  using Json = nlohmann::ordered_json;
  Json list = Json::array();
  for (const KernelRow& r : rows) {
    list.push_back({{"block", r.block}, {"blocks", r.blocks}, {"phase", to_text(r.phase)}, {"name", r.name}, {"class", r.kind}, {"precision", r.precision},
                    {"m", r.m}, {"n", r.n}, {"k", r.k}, {"groups", r.groups}, {"flops", r.flops}, {"bytes", r.bytes}, {"time_s", r.seconds},
                    {"clock", r.clock}, {"bound", r.bound}});
  }
  return Json{{"schema", "stepsim.kernels/1"}, {"model", inputs.model.name}, {"plan", inputs.plan.name}, {"gpu", inputs.cluster.gpu.name},
              {"rates", inputs.plan.rates == Rates::calibrated ? "calibrated" : "speed_of_light"}, {"kernels", list}}
             .dump(2) +
         "\n";
}

}  // namespace stepsim
