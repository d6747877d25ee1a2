#include "workloads/published/translation.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>

namespace stepsim {
namespace {

// Degrees that do not make up the run.
void check_degrees(const PublishedRun& run, Translation& out) {
  const long ranks = 1L * run.tensor * run.pipeline * run.context * run.data;
  if (run.data > 0 && ranks != run.gpus) {
    out.problems.push_back(fmt::format("TP {} x PP {} x CP {} x DP {} = {} is not {} GPUs", run.tensor, run.pipeline,
                                       run.context, run.data, ranks, run.gpus));
  }
  if (run.gpus > run.gpus_per_node && run.gpus_per_node > 0 && run.gpus % run.gpus_per_node != 0) {
    out.problems.push_back(fmt::format("{} GPUs are no whole number of nodes of {}", run.gpus, run.gpus_per_node));
  }
  const long sequences = 1L * run.microbatch * run.data * run.accumulation;
  if (sequences > 0 && sequences != run.global_batch) {
    out.problems.push_back(fmt::format("mbs {} x DP {} x grad_acc {} = {} is not gbs {}", run.microbatch, run.data,
                                       run.accumulation, sequences, run.global_batch));
  }
}

}  // namespace

void Translation::assume(std::string_view id) {
  [[maybe_unused]] const auto& known = run_assumptions();
  assert(std::any_of(known.begin(), known.end(), [&](const Assumption& a) { return a.id == id; }));
  if (std::find(assumptions.begin(), assumptions.end(), id) == assumptions.end()) assumptions.emplace_back(id);
}

Translation translate(const PublishedRun& run) {
  Translation out;
  check_degrees(run, out);
  translate_model(run, out);
  translate_cluster(run, out);
  translate_plan(run, out);
  return out;
}

}  // namespace stepsim
