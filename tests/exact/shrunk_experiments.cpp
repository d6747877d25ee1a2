// Every shipped experiment, shrunk to 64 or 128 GPUs, as it is and under each shipped scenario that folds: folded and
// unfolded runs agree to 1e-9 in every event.
#include <gtest/gtest.h>

#include <filesystem>

#include "sim/engine/engine.hpp"
#include "sim/graph/fold.hpp"
#include "sim/inputs.hpp"
#include "support/sanitized.hpp"
#include "workloads/step.hpp"

namespace stepsim::shrunk_experiments_test {
const std::string kHome = STEPSIM_SOURCE_DIR;

std::vector<std::string> shipped_names(const std::string& kind) {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(kHome + "/workloads/" + kind)) {
    if (entry.path().extension() == ".yaml") names.push_back(entry.path().stem().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

// Fewer nodes, layers, stages, experts a group and sequences; what the plan does stays.
Inputs shrunk(const Inputs& whole, const std::string& experiment, const std::string& scenario) {
  const Parallel& p = whole.plan.parallel;
  const int pipeline = std::min(p.pipeline, 4), expert = std::min(p.expert, 16), tensor = std::min(p.tensor, 8);
  const int context = std::min(p.context, 2), chunks = std::min(p.virtual_stages, 2);
  const int nodes = pipeline * expert > 64 || pipeline * tensor * context > 32 ? 16 : 8;  // two replicas and more
  Request request;
  request.experiment = experiment;
  request.home = kHome;
  request.scenario = scenario;
  if (whole.cluster.nodes > 256) request.cluster = "h800-256x8";  // nodes and a network of the same kind, read sooner
  const int dense = nodes * 8 / pipeline / tensor / context;      // data-parallel ranks
  request.overrides = {
      "cluster.nodes=" + std::to_string(nodes),
      "model.layers=12",
      "plan.parallel.pipeline=" + std::to_string(pipeline),
      "plan.parallel.expert=" + std::to_string(expert),
      "plan.parallel.tensor=" + std::to_string(tensor),
      "plan.parallel.context=" + std::to_string(context),
      "plan.parallel.virtual_stages=" + std::to_string(chunks),
      "plan.batch.global_sequences=" + std::to_string(dense * whole.plan.batch.microbatch_sequences * 2 * pipeline)};
  return load(request);
}

class Shrunk : public ::testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(Experiments, Shrunk, ::testing::ValuesIn(shipped_names("experiments")), [](const auto& test) {
  std::string name = test.param;
  std::replace_if(
      name.begin(), name.end(), [](char c) { return std::isalnum(c) == 0; }, '_');
  return name;
});

TEST_P(Shrunk, FoldExactly) {
  std::vector<std::string> scenarios = shipped_names("scenarios");
  scenarios.insert(scenarios.begin(), "");
  Request plain;
  plain.experiment = GetParam();
  plain.home = kHome;
  const Inputs whole = load(plain);
  int folded_runs = 0;
  for (const std::string& scenario : scenarios) {
    if (testing::kSanitized && folded_runs == 3) break;
    const Inputs in = shrunk(whole, GetParam(), scenario);
    const Step step = make_step(in.model, in.cluster, in.plan, Detail::aggregate, &in.planned_on);
    if (!folds(step.graph)) continue;
    const Folding folding = fold(step.graph);
    const Step one = make_step(in.model, in.cluster, in.plan, Detail::aggregate, &in.planned_on, Replicas::one);
    EXPECT_TRUE(fold(one.graph).graph == folding.graph) << scenario;  // one replica built, or all of them
    EXPECT_LT(folding.graph.ranks.size(), step.graph.ranks.size()) << scenario;
    const Timeline full = make_simgrid_engine()->run(step.graph), folded = make_simgrid_engine()->run(folding.graph);
    ++folded_runs;
    double worst = 0;
    for (std::size_t r = 0; r < full.spans.size(); ++r) {
      for (std::size_t op = 0; op < full.spans[r].size(); ++op) {
        const Span &x = full.spans[r][op], &y = folded.spans[folding.rank_color[r]][op];
        worst = std::max({worst, std::abs(x.start - y.start), std::abs(x.end - y.end)});
      }
    }
    EXPECT_LE(worst, 1e-9 * full.end) << "scenario " << scenario;
  }
  EXPECT_GE(folded_runs, testing::kSanitized ? 3 : 5);
}

}  // namespace stepsim::shrunk_experiments_test
