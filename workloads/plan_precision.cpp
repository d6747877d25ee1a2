// The plan's `precision` and `recompute`.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "workloads/plan_reading.hpp"

namespace stepsim {
namespace {

constexpr std::array<Module, 7> kModules{Module::norm, Module::attention, Module::mla_up,   Module::swiglu,
                                         Module::ffn,  Module::experts,   Module::alternate};

void read_arithmetic(Fields& f, std::string_view key, Precision& into) {
  f.precision(key, into, or_default("BF16 arithmetic"));
  if (into == Precision::none || into == Precision::fp4) {
    f.problem(key,
              fmt::format("there is no rate for {} arithmetic; one of fp8, bf16, fp16, tf32, fp32", to_text(into)));
  }
}

// What is stored or sent. TF32 is a format of arithmetic only; `none` is for what need not exist at all.
void read_stored(Fields& f, std::string_view key, Precision& into, std::string_view why, bool may_be_none) {
  f.precision(key, into, or_default(why));
  if (into == Precision::tf32) f.problem(key, "tf32 is stored as fp32; write fp32");
  if (into == Precision::none && !may_be_none) {
    f.problem(key, "there is no step without it; one of fp4, fp8, bf16, fp16, fp32");
  }
}

}  // namespace

void read_precisions(Fields& top, Precisions& p) {
  Fields f = top.mapping("precision", or_default("classic mixed precision"));
  const std::string_view classic = "classic mixed precision";
  read_arithmetic(f, "linear", p.linear);
  read_arithmetic(f, "attention", p.attention);
  read_arithmetic(f, "head", p.head);
  read_stored(f, "weights", p.weights, classic, false);
  read_stored(f, "gradients", p.gradients, classic, false);
  read_stored(f, "master", p.master, classic, true);
  read_stored(f, "moments", p.moments, classic, true);
  read_stored(f, "activations", p.activations, classic, false);
  p.gather = p.weights;
  p.reduce = p.gradients;
  read_stored(f, "gather", p.gather, "as the weights", false);
  read_stored(f, "reduce", p.reduce, "as the gradients", false);
  read_stored(f, "dispatch", p.dispatch, classic, false);
  read_stored(f, "combine", p.combine, classic, false);
  read_stored(f, "pipeline", p.pipeline, classic, false);
  f.finish();
}

void read_recompute(Fields& f, Recompute& recompute) {
  const Need need = or_default("activations are kept");
  if (f.has("recompute_layers")) {
    f.integer("recompute_layers", recompute.layers, need, 1);
    if (!f.has("recompute")) f.problem("recompute_layers", "says how many layers recompute, but recompute does not say what");
  } else {
    f.node("recompute_layers", or_default("all layers recompute alike"));
    f.explain("recompute_layers", "all", or_default("all layers recompute alike"));
  }
  const bool given = f.has("recompute");
  const std::optional<YAML::Node> node = f.node("recompute", need);
  if (given && !node) return;
  if (!given || (node->IsScalar() && node->Scalar() == "none")) return f.explain("recompute", "none", need);
  if (node->IsScalar() && node->Scalar() == "full") {
    recompute.full = true;
    return f.explain("recompute", "full", need);
  }
  std::vector<std::string> names, allowed;
  for (const Module module : kModules) allowed.emplace_back(to_text(module));
  f.texts("recompute", names, need);
  for (const std::string& name : names) {
    const auto at = std::find(allowed.begin(), allowed.end(), name);
    if (at != allowed.end()) {
      const bool fresh = recompute.modules.insert(kModules[static_cast<std::size_t>(at - allowed.begin())]).second;
      if (!fresh) f.problem("recompute", fmt::format("{} stands twice in it", name));
      continue;
    }
    const std::string near = nearest(name, allowed);
    f.problem("recompute",
              fmt::format("\"{}\" is neither none, nor full, nor a list of {}{}", name, fmt::join(allowed, ", "),
                          near.empty() ? "" : fmt::format("; did you mean {}?", near)));
  }
}

}  // namespace stepsim
