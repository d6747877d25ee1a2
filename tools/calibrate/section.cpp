#include "section.hpp"

#include <fmt/format.h>

namespace stepsim {
namespace {

std::string us(Seconds time) { return fmt::format("{:.6g}us", time.value * 1e6); }

std::string comment(const FitOrigin& origin, int indent) {
  const std::string margin(indent, ' ');
  if (origin.borrowed) return fmt::format("{}# borrowed: {}\n", margin, origin.from);
  return fmt::format("{}# fitted to {} measurements of {}:\n{}# median error {:.1f} %, 90th percentile {:.1f} %, bias {:+.1f} %\n",
                     margin, origin.errors.rows, origin.from, margin, 100 * origin.errors.median, 100 * origin.errors.p90,
                     100 * origin.errors.bias);
}

std::string gemm(const char* precision, const GemmRates& r, const FitOrigin& origin, bool grouped) {
  std::string text = comment(origin, 6) + fmt::format("      {}: {{peak_fraction: {:.6g}, fill: {:.6g}, edge: {:.6g}, overlap: {:.6g}, start: {}",
                                                      precision, r.peak_fraction, r.fill, r.edge, r.overlap, us(r.start));
  if (grouped) text += fmt::format(", group: {},\n             weight_gradient: {:.6g}", us(r.group), r.weight_gradient);
  return text + "}\n";
}

std::string pass(const char* name, const AttentionRates& r) {
  return fmt::format("        {}: {{peak_fraction: {:.6g}, score: {:.6g}, fill: {:.6g}, wide: {:.6g}, tile: {:.6g}, start: {}}}\n", name,
                     r.peak_fraction, r.score, r.fill, r.wide, r.tile, us(r.start));
}

std::string attention(const char* kernel, const AttentionPasses& passes, const FitOrigin& origin) {
  return comment(origin, 6) + fmt::format("      {}:\n", kernel) + pass("forward", passes.forward) + pass("backward", passes.backward);
}

}  // namespace

std::string section_of(const Gpu& gpu, const std::map<std::string, FitOrigin>& origins) {
  const CalibratedRates& c = gpu.calibrated;
  const bool fp8 = origins.contains("fp8");
  std::string text = "  # Everything below is written by tools/calibrate from measured/*.csv, which name the source of each measurement.\n"
                     "  # sim/cluster/gpu_rates.hpp says what the keys mean, sim/cost/ how they are used.\n"
                     "  calibrated:\n";
  text += fmt::format("    memory_start: {}   # {}\n", us(c.memory_start), origins.at("memory_start").from);
  text += fmt::format("    elementwise: {:.6g}   # {}\n", c.elementwise, origins.at("elementwise").from);
  text += fmt::format("    reduction: {:.6g}   # {}\n", c.reduction, origins.at("reduction").from);
  text += fmt::format("    permutation: {:.6g}   # {}\n", c.permutation, origins.at("permutation").from);
  if (gpu.power) text += fmt::format("    dynamic_power: {:.0f}W   # fitted with gemm bf16, or borrowed with it\n", gpu.power->dynamic.value);
  if (origins.contains("node_steps")) {
    text += comment(origins.at("node_steps"), 4) + fmt::format("    node_steps: {{step: {}, fill: {}, half: {:.0f}KiB}}\n", us(c.node_steps.step),
                                                               us(c.node_steps.fill), c.node_steps.half.value / 1024);
  }
  if (origins.contains("all_to_all")) {
    text += comment(origins.at("all_to_all"), 4) +
            fmt::format("    all_to_all: {{inside: {:.6g}, between: {:.6g}}}\n", c.all_to_all.inside, c.all_to_all.between);
  }
  text += "    gemm:\n" + gemm("bf16", c.bf16, origins.at("bf16"), false);
  if (fp8) text += gemm("fp8", c.fp8, origins.at("fp8"), false);
  text += "    grouped_gemm:\n" + gemm("bf16", c.grouped_bf16, origins.at("grouped bf16"), true);
  if (fp8) text += gemm("fp8", c.grouped_fp8, origins.at("grouped fp8"), true);
  text += "    attention:\n" + attention("flash", c.flash, origins.at("flash"));
  if (c.has_flash2) text += attention("flash2", c.flash2, origins.at("flash2"));
  return text;
}

}  // namespace stepsim
