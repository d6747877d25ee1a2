// The calibrated section of a GPU's rates.
#include "sim/cluster/gpu.hpp"

namespace stepsim {
namespace {

constexpr double kLargest = 1e5;

void read_gemm(Fields& of_kind, std::string_view precision, bool grouped, GemmRates& rates) {
  Fields f = of_kind.mapping(precision, required());
  if (!of_kind.has(precision)) return;
  f.number("peak_fraction", rates.peak_fraction, required(), 1e-3, 2);
  f.number("fill", rates.fill, required(), 0, kLargest);
  f.number("edge", rates.edge, required(), 0, kLargest);
  f.number("overlap", rates.overlap, required(), 1, 100);
  f.time("start", rates.start, required());
  if (grouped) {
    f.time("group", rates.group, required());
    f.number("weight_gradient", rates.weight_gradient, required(), 1e-3, 10);
  }
  f.finish();
}

void read_gemms(Fields& calibrated, std::string_view kind, bool has_fp8, GemmRates& bf16, GemmRates& fp8) {
  Fields f = calibrated.mapping(kind, required());
  if (!calibrated.has(kind)) return;
  const bool grouped = kind == "grouped_gemm";
  read_gemm(f, "bf16", grouped, bf16);
  fp8 = bf16;
  if (has_fp8 || f.has("fp8")) read_gemm(f, "fp8", grouped, fp8);
  f.finish();
}

void read_direction(Fields& passes, std::string_view direction, AttentionRates& rates) {
  Fields f = passes.mapping(direction, required());
  if (!passes.has(direction)) return;
  f.number("peak_fraction", rates.peak_fraction, required(), 1e-3, 2);
  f.number("score", rates.score, required(), 0, kLargest);
  f.number("fill", rates.fill, required(), 0, kLargest);
  f.number("wide", rates.wide, required(), 1e-3, 2);
  f.number("tile", rates.tile, required(), 1, kLargest);
  f.time("start", rates.start, required());
  f.finish();
}

void read_passes(Fields& attention, std::string_view kernel, AttentionPasses& passes) {
  Fields f = attention.mapping(kernel, required());
  if (!attention.has(kernel)) return;
  read_direction(f, "forward", passes.forward);
  read_direction(f, "backward", passes.backward);
  f.finish();
}

}  // namespace

void read_calibrated(Fields& rates, bool has_fp8, Gpu& gpu) {
  if (!rates.has("calibrated")) return;
  Fields f = rates.mapping("calibrated", required());
  CalibratedRates& c = gpu.calibrated;
  f.time("memory_start", c.memory_start, required());
  f.number("elementwise", c.elementwise, or_default("kernels reach the HBM bandwidth"), 0.05, 1);
  f.number("reduction", c.reduction, required(), 0.05, 1);
  f.number("permutation", c.permutation, or_default("permuting is a pass over memory"), 0.05, 1);
  if (f.has("dynamic_power")) {
    PowerModel unused;
    f.power("dynamic_power", gpu.power ? gpu.power->dynamic : unused.dynamic, required());
    if (!gpu.power) f.problem("dynamic_power", "says nothing without the limit of `power`");
  }
  if (f.has("node_steps")) {
    Fields steps = f.mapping("node_steps", required());
    steps.time("step", c.node_steps.step, required());
    steps.time("fill", c.node_steps.fill, required());
    steps.size("half", c.node_steps.half, required());
    if (steps.has("half") && c.node_steps.half.value <= 0) steps.problem("half", "is a size above 0");
    steps.finish();
  }
  if (f.has("all_to_all")) {
    Fields part = f.mapping("all_to_all", required());
    part.number("inside", c.all_to_all.inside, required(), 0.05, 1);
    part.number("between", c.all_to_all.between, required(), 0.05, 1);
    part.finish();
  }
  read_gemms(f, "gemm", has_fp8, c.bf16, c.fp8);
  read_gemms(f, "grouped_gemm", has_fp8, c.grouped_bf16, c.grouped_fp8);
  Fields attention = f.mapping("attention", required());
  if (f.has("attention")) {
    read_passes(attention, "flash", c.flash);
    c.has_flash2 = attention.has("flash2");
    if (c.has_flash2) read_passes(attention, "flash2", c.flash2);
    attention.finish();
  }
  f.finish();
}

}  // namespace stepsim
