#include "workloads/step_experts.hpp"

#include <algorithm>

namespace stepsim {

ExpertPlaces::ExpertPlaces(const ModelSpec& model, const ParallelPlan& plan)
    : model_(model), plan_(plan), experts_(expert_routing(model, plan)) {
  std::vector<std::vector<ExpertShare>> known;
  for (int rank = 0; rank < plan.parallel.expert; ++rank) {
    std::vector<ExpertShare> shares;
    for (const auto& loads : experts_.loads) {
      shares.push_back(share_of(loads, model.experts.top_k, plan.parallel.expert, rank));
    }
    const auto at = std::find(known.begin(), known.end(), shares);
    kind_of_.push_back(static_cast<int>(at - known.begin()));
    if (at != known.end()) continue;
    known.push_back(std::move(shares));
    blocks_.push_back(make_blocks(model, plan, rank));
  }
}

const TokenRouting& ExpertPlaces::routing(const PatternKey& key, const GroupShape& shape) {
  const auto [it, fresh] = routings_.try_emplace({key.routing, key.back, shape.size, shape.nodes});
  if (!fresh) return it->second;
  it->second = equal_routing(model_, plan_);
  const std::vector<double>& loads = experts_.loads[key.routing];
  if (!loads.empty()) it->second = unequal_routing(it->second, loads, shape.size, shape.nodes);
  it->second.back = key.back;
  return it->second;
}

TokenRouting equal_routing(const ModelSpec& model, const ParallelPlan& plan) {
  const Experts& e = model.experts;
  TokenRouting routing{static_cast<double>(e.count), static_cast<double>(e.top_k), plan.routing.max_nodes};
  routing.every_copy = plan.collectives.packs_rows();
  return routing;
}

}  // namespace stepsim
