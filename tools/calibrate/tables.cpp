#include "tables.hpp"

#include <algorithm>
#include <cmath>

#include "node_steps.hpp"

namespace stepsim {
namespace {

using Stems = std::vector<std::string>;
using C = CalibratedRates;

const Stems kAmpere{"a100-80-sxm", "a100-80-pcie", "a100-40-sxm"};  // one chip on three boards
const Stems kHopper{"h100-sxm", "h200-sxm", "h800-sxm"};            // one chip; other memory, other wires
const Stems kBlackwell{"b200"};

// Ramp and drain of a memory-bound kernel and the gap to the next. assumption: as the start fitted to small GEMMs.

std::string joined(const Stems& stems) {
  std::string text;
  for (const std::string& s : stems) text += (text.empty() ? "" : ", ") + s;
  return text;
}

class Bench {
 public:
  Bench(Gpus& gpus, const std::vector<Measured>& rows) : gpus_(gpus), rows_(rows) {}
  Origins origins;

  std::vector<const Measured*> rows(const std::string& table, const Stems& stems, bool best_shape = false) const {
    std::vector<const Measured*> some;
    for (const Measured& row : rows_) {
      const bool wanted = std::find(stems.begin(), stems.end(), row.gpu) != stems.end();
      const bool usable = (row.condition == "best_shape") == best_shape && row.condition != "launch_bound";
      if (row.table == table && wanted && usable) some.push_back(&row);
    }
    return some;
  }

  void run(const std::string& table, const Stems& stems, const Fit& what) {
    fit(gpus_, what);
    Stems measured;
    for (const std::string& stem : stems) {
      if (!rows(table, {stem}, what.rows[0]->condition == "best_shape").empty()) measured.push_back(stem);
    }
    for (const std::string& stem : stems) origins[stem][table] = {joined(measured), false, residuals(gpus_, what.rows)};
  }

  // A limit that does not bind where a walk starts may never bind on its way: the start of a parameter that ends best.
  double best_start(Fit f, std::size_t parameter, const std::vector<double>& starts) {
    double best = starts[0], least = 1e99;
    for (const double start : starts) {
      f.parameters[parameter].start = start;
      fit(gpus_, f);
      const double now = loss(gpus_, f.rows);
      if (now < least) best = start;
      least = std::min(least, now);
    }
    return best;
  }

  template <class Table>
  void borrow(const std::string& table, const Stems& stems, Table C::*member, const Table& rates, const std::string& how) {
    for (const std::string& stem : stems) {
      gpus_.at(stem).calibrated.*member = rates;
      origins[stem][table] = {how, true, {}};
    }
  }

  Gpu& gpu(const std::string& stem) { return gpus_.at(stem); }
  C& of(const std::string& stem) { return gpus_.at(stem).calibrated; }

 private:
  Gpus& gpus_;
  const std::vector<Measured>& rows_;
};

// edge at least 10, so that tiles of 128 x 128 are some 3 % slower than those of 128 x 256: where all measured products
// are large nothing else would hold it.
const std::vector<Parameter> kGemm{
    {0.3, 1.2, 0.005, 0.8}, {0, 2000, 8, 128}, {10, 200, 2, 20}, {1, 8, 0.25, 3}, {0, 20, 0.25, 5}};

GemmRates gemm_rates(const std::vector<double>& v) {
  return {.peak_fraction = v[0], .fill = v[1], .edge = v[2], .overlap = v[3], .start = Seconds(v[4] * 1e-6), .group = {}};
}

// Dense products; with `power` the dynamic power too, which long runs show beside short ones, and boards of other limits
// beside each other. With `overlap` that parameter is held: where all measured products are large, nothing tells it.
void dense(Bench& bench, const std::string& table, GemmRates C::*member, const Stems& stems, bool power, double overlap = 0) {
  Fit f{kGemm, bench.rows(table, stems), {}};
  if (overlap > 0) f.parameters[3] = {overlap, overlap, 1, overlap};
  const std::size_t last = f.parameters.size();
  if (power) f.parameters.push_back({0.5, 4, 0.02, 1.2});  // of the first board's limit
  f.apply = [=](Gpus& gpus, const std::vector<double>& v) {
    for (const std::string& stem : stems) {
      gpus.at(stem).calibrated.*member = gemm_rates(v);
      if (power) gpus.at(stem).power->dynamic = Watts(v[5] * gpus.at(stems[0]).power->usual_limit.value);
    }
  };
  if (power) f.parameters[last].start = bench.best_start(f, last, {1.2, 1.8, 2.4});
  bench.run(table, stems, f);
}

void grouped(Bench& bench, const std::string& table, GemmRates C::*member, const Stems& stems) {
  Fit f{kGemm, bench.rows(table, stems), {}};
  f.parameters.push_back({0, 20, 0.1, 1});
  f.parameters.push_back({0.3, 1.2, 0.01, 1});
  f.apply = [=](Gpus& gpus, const std::vector<double>& v) {
    GemmRates rates = gemm_rates(v);
    rates.group = Seconds(v[5] * 1e-6);
    rates.weight_gradient = v[6];
    for (const std::string& stem : stems) gpus.at(stem).calibrated.*member = rates;
  };
  bench.run(table, stems, f);
}

void attention(Bench& bench, const std::string& table, AttentionPasses C::*member, const Stems& stems) {
  const std::vector<Parameter> one{{0.2, 1.2, 0.01, 0.7}, {0, 600, 8, 96}, {0, 600, 8, 64},
                                   {0.5, 1.2, 0.01, 1},   {64, 256, 64, 128}, {0, 40, 1, 5}};
  Fit f{one, bench.rows(table, stems), {}};
  f.parameters.insert(f.parameters.end(), one.begin(), one.end());
  f.apply = [=](Gpus& gpus, const std::vector<double>& v) {
    const auto rates = [&](std::size_t i) {
      return AttentionRates{v[i], v[i + 1], v[i + 2], v[i + 3], v[i + 4], Seconds(v[i + 5] * 1e-6)};
    };
    for (const std::string& stem : stems) gpus.at(stem).calibrated.*member = {rates(0), rates(6)};
  };
  bench.run(table, stems, f);
}

// One parameter to the best-shape figure, the others borrowed.
void best_shape(Bench& bench, const std::string& table, GemmRates C::*member, const std::string& stem, const GemmRates& like,
                const std::string& whose) {
  Fit f{{kGemm[0]}, bench.rows(table, {stem}, true), {}};
  f.apply = [=](Gpus& gpus, const std::vector<double>& v) {
    GemmRates rates = like;
    rates.peak_fraction = v[0];
    gpus.at(stem).calibrated.*member = rates;
  };
  bench.run(table, {stem}, f);
  bench.origins[stem][table].from += " (one shape, the best of thousands); the rest borrowed from " + whose;
}

// The dense table with what groups cost on another GPU.
GemmRates with_groups(GemmRates rates, const GemmRates& grouped) {
  rates.group = grouped.group;
  rates.weight_gradient = grouped.weight_gradient;
  return rates;
}

double rounded(double value, double to) { return std::round(value / to) * to; }
double thousandths(double part) { return rounded(1000 * part, 1) / 1000; }

// What some GPUs' memory-bound kernels were measured to do. Boards of their chip have it with them, other GPUs the geometric
// mean; `give` writes it into a GPU's rates.
template <class Give>
void of_memory(Bench& bench, const std::string& name, const std::map<std::string, double>& measured, Give give,
               const std::string& from = "measured on ") {
  double logarithms = 0;
  std::string whose;
  for (const auto& [stem, value] : measured) {
    logarithms += std::log(value);
    whose += (whose.empty() ? "" : ", ") + stem;
  }
  // Where a source states it and has not measured it, what is borrowed is an assumption too.
  whose = (from.starts_with("assumption") ? "assumption, " : "") + std::string(measured.size() > 1 ? "borrowed: geometric mean of " : "borrowed from ") + whose;
  const double mean = std::exp(logarithms / static_cast<double>(measured.size()));
  for (const Stems& chip : {kAmpere, kHopper, Stems{"b200", "gb200", "gb300"}, Stems{"v100-32-sxm"}}) {
    const auto owner = std::find_if(chip.begin(), chip.end(), [&](const std::string& stem) { return measured.contains(stem); });
    for (const std::string& stem : chip) {
      give(stem, owner == chip.end() ? mean : measured.at(*owner));
      bench.origins[stem][name] = {owner == chip.end() ? whose : from + *owner, false, {}};
    }
  }
}

// What passes over memory take as training runs them: a time, and the bandwidth beyond it. A stream benchmark, which the
// HBM bandwidth of some GPUs comes from, is faster: the share of the data sheet's bandwidth is what boards have in common.
void elementwise(Bench& bench, const MeasuredMemory& memory) {
  std::map<std::string, double> shares, starts;
  for (const auto& [stem, kernels] : memory) {
    if (!kernels.contains("default")) continue;
    shares[stem] = kernels.at("default").gbps / kernels.at("data_sheet").gbps;
    starts[stem] = kernels.at("default").start_us;
  }
  of_memory(bench, "elementwise", shares, [&](const std::string& stem, double share) {
    const double gbps = share * memory.at(stem).at("data_sheet").gbps;
    bench.of(stem).elementwise = thousandths(std::min(1.0, gbps * 1e9 / bench.gpu(stem).hbm.value));
  });
  of_memory(bench, "memory_start", starts,
            [&](const std::string& stem, double us) { bench.of(stem).memory_start = Seconds(rounded(us, 0.1) * 1e-6); },
            "assumption: stated with the bandwidth, one figure for all kernels, for ");
}

// What loses against that by reducing along rows (the loss), or by going where an index says (permutations in one kernel).
void slower_passes(Bench& bench, const MeasuredMemory& memory) {
  std::map<std::string, double> reducing, permuting;
  for (const auto& [stem, kernels] : memory) {
    if (!kernels.contains("default")) continue;
    const double plain = kernels.at("default").gbps;
    reducing[stem] = kernels.at("ce").gbps / plain;
    if (!kernels.contains("permute_fwd")) continue;
    permuting[stem] = std::sqrt(kernels.at("permute_fwd").gbps * kernels.at("permute_bwd").gbps) / plain;
  }
  of_memory(bench, "reduction", reducing, [&](const std::string& stem, double part) { bench.of(stem).reduction = thousandths(part); });
  of_memory(bench, "permutation", permuting, [&](const std::string& stem, double part) { bench.of(stem).permutation = thousandths(part); });
}

// Steps of collectives within a node; other GPUs of the chip have them with it.
void node_steps(Bench& bench, const std::vector<MeasuredCall>& calls) {
  struct Chip {
    Stems machines, measured, borrowers;
  };
  const std::vector<Chip> chips{{{"dgx-a100-80"}, {"a100-80-sxm"}, {"a100-40-sxm", "v100-32-sxm"}},
                                {{"dgx-h100", "hgx-h200"}, {"h100-sxm", "h200-sxm"}, {"h800-sxm"}},
                                {{"hgx-b200"}, {"b200"}, {"gb200", "gb300"}}};
  for (const auto& [machines, measured, borrowers] : chips) {
    const NodeStepsFit fitted = fit_node_steps(calls, machines);
    for (const std::string& stem : measured) {
      bench.of(stem).node_steps = fitted.steps;
      bench.origins[stem]["node_steps"] = {joined(machines) + " (all-reduces of one node)", false, fitted.errors};
    }
    bench.borrow("node_steps", borrowers, &C::node_steps, fitted.steps, joined(measured));
  }
}

// Which part of the wires all-to-alls reach; other GPUs of the chip have it with it.
void all_to_alls(Bench& bench, const std::vector<MeasuredExchange>& exchanges) {
  struct Chip {
    Stems machines, gpus;
  };
  const std::vector<Chip> chips{{{"dgx-a100-80"}, {"a100-80-sxm", "a100-40-sxm", "v100-32-sxm"}},
                                {{"h800", "dgx-h100", "hgx-h200"}, kHopper},
                                {{"hgx-b200", "gb200-nvl72"}, {"b200", "gb200", "gb300"}}};
  for (const auto& [machines, stems] : chips) {
    const AllToAllFit fitted = fit_all_to_all(exchanges, machines);
    for (const std::string& stem : stems) {
      bench.of(stem).all_to_all = fitted.rates;
      bench.origins[stem]["all_to_all"] = {joined(machines) + " (all-to-alls, dispatch, combine)", false, fitted.errors};
    }
  }
}

void ampere(Bench& bench) {
  dense(bench, "bf16", &C::bf16, kAmpere, true);
  grouped(bench, "grouped bf16", &C::grouped_bf16, kAmpere);
  attention(bench, "flash", &C::flash, kAmpere);
}

void hopper(Bench& bench) {
  for (const std::string& stem : kHopper) bench.of(stem).has_flash2 = true;
  // The same library as on the A100, whose products of all shapes show how much of their traffic it hides.
  dense(bench, "bf16", &C::bf16, kHopper, true, bench.of("a100-80-sxm").bf16.overlap);
  for (const std::string& stem : kHopper) bench.origins[stem]["bf16"].from += " (overlap borrowed from a100-80-sxm)";
  dense(bench, "fp8", &C::fp8, kHopper, false);
  bench.borrow("grouped bf16", kHopper, &C::grouped_bf16,
               with_groups(bench.of("h100-sxm").bf16, bench.of("a100-80-sxm").grouped_bf16),
               "the dense table, with the cost of groups from a100-80-pcie");
  grouped(bench, "grouped fp8", &C::grouped_fp8, kHopper);
  attention(bench, "flash", &C::flash, kHopper);
  attention(bench, "flash2", &C::flash2, kHopper);
}

void blackwell(Bench& bench) {
  dense(bench, "bf16", &C::bf16, kBlackwell, true);
  grouped(bench, "grouped bf16", &C::grouped_bf16, kBlackwell);
  attention(bench, "flash", &C::flash, kBlackwell);
  best_shape(bench, "fp8", &C::fp8, "b200", bench.of("h100-sxm").fp8, "h100-sxm");
  bench.borrow("grouped fp8", kBlackwell, &C::grouped_fp8, with_groups(bench.of("b200").fp8, bench.of("b200").grouped_bf16),
               "the dense table, with the cost of groups from grouped bf16");
  const Gpu b200 = bench.gpu("b200");
  for (const std::string stem : {"gb200", "gb300"}) {
    const auto all = [&](const std::string& table, auto member) {
      bench.borrow(table, {stem}, member, b200.calibrated.*member, "b200, scaled by the peak");
    };
    all("bf16", &C::bf16);
    all("fp8", &C::fp8);
    all("grouped bf16", &C::grouped_bf16);
    all("grouped fp8", &C::grouped_fp8);
    all("flash", &C::flash);
    PowerModel& power = *bench.gpu(stem).power;
    power.dynamic = Watts(b200.power->dynamic.value / b200.power->usual_limit.value * power.usual_limit.value);
  }
}

void volta(Bench& bench) {
  Fit f{{kGemm[0], kGemm[4]}, bench.rows("bf16", {"v100-32-sxm"}), {}};
  const GemmRates like = bench.of("a100-80-sxm").bf16;
  f.apply = [=](Gpus& gpus, const std::vector<double>& v) {
    gpus.at("v100-32-sxm").calibrated.bf16 = like;
    gpus.at("v100-32-sxm").calibrated.bf16.peak_fraction = v[0];
    gpus.at("v100-32-sxm").calibrated.bf16.start = Seconds(v[1] * 1e-6);
  };
  bench.run("bf16", {"v100-32-sxm"}, f);
  bench.origins["v100-32-sxm"]["bf16"].from += "; fill, edge and overlap borrowed from a100-80-sxm";
  bench.borrow("grouped bf16", {"v100-32-sxm"}, &C::grouped_bf16,
               with_groups(bench.of("v100-32-sxm").bf16, bench.of("a100-80-sxm").grouped_bf16),
               "the dense table, with the cost of groups from a100-80-pcie");
  bench.borrow("flash", {"v100-32-sxm"}, &C::flash, bench.of("a100-80-sxm").flash, "a100-80-sxm, scaled by the peak");
}

}  // namespace

Origins calibrate(Gpus& gpus, const Measurements& measured) {
  Bench bench(gpus, measured.kernels);
  ampere(bench);
  hopper(bench);
  blackwell(bench);
  volta(bench);
  elementwise(bench, measured.memory);
  slower_passes(bench, measured.memory);
  node_steps(bench, measured.node_calls);
  all_to_alls(bench, measured.exchanges);
  return bench.origins;
}

}  // namespace stepsim
