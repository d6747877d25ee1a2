#include "sim/folded_step.hpp"

#include "sim/graph/fold.hpp"

namespace stepsim {

Step folded_step(const Inputs& inputs, const Options& options) {
  return folded_step(inputs, options, inputs.cluster, inputs.planned_on);
}

Step folded_step(const Inputs& inputs, const Options& options, const ClusterSpec& cluster, const ClusterSpec& planned_on) {
  Step step = make_step(inputs.model, cluster, inputs.plan, options.detail, &planned_on, options.fold ? Replicas::one : Replicas::all);
  if (!options.fold || !folds(step.graph)) return step;
  Folding folding = fold(std::move(step.graph));
  step.graph = std::move(folding.graph);
  for (RankId& rank : step.graph_rank) rank = folding.rank_color[rank];
  return step;
}

}  // namespace stepsim
