#include "workloads/routing.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "sim/collective/picks.hpp"

namespace stepsim {
namespace {

int expert_layers(const ModelSpec& model) {
  int layers = 0;
  for (int layer = 0; layer < model.layers; ++layer) layers += model.has_experts(layer) ? 1 : 0;
  return layers;
}

// [list] shares of the experts: one list for all layers, or one a layer with experts.
std::vector<std::vector<double>> shares_of(const ModelSpec& model, const Routing& routing) {
  if (routing.kind != Routing::Balance::zipf) return routing.counts;
  std::vector<double> shares;
  for (int e = 0; e < model.experts.count; ++e) shares.push_back(std::pow(e + 1.0, -routing.zipf));
  return {shares};
}

bool alike(const std::vector<double>& shares) {
  return std::all_of(shares.begin(), shares.end(), [&](double s) { return s == shares[0]; });
}

}  // namespace

std::vector<double> loads_of(const std::vector<double>& shares, int top_k) {
  const std::vector<double> least(shares.size(), 0), most(shares.size(), 1);
  const auto wanted = static_cast<double>(std::count_if(shares.begin(), shares.end(), [](double s) { return s > 0; }));
  if (wanted > top_k) return spread(top_k, shares, least, most);
  const double left = top_k - wanted, others = static_cast<double>(shares.size()) - wanted;
  std::vector<double> loads;
  for (const double s : shares) loads.push_back(s > 0 ? 1 : left / others);
  return loads;
}

ExpertRouting expert_routing(const ModelSpec& model, const ParallelPlan& plan) {
  ExpertRouting routing;
  routing.of_layer.assign(model.layers, 0);
  if (plan.routing.kind == Routing::Balance::uniform || model.experts.count == 0) {
    routing.loads.emplace_back();
    return routing;
  }
  std::vector<int> of_list;
  for (const std::vector<double>& shares : shares_of(model, plan.routing)) {
    const std::vector<double> loads = alike(shares) ? std::vector<double>{} : loads_of(shares, model.experts.top_k);
    const auto known = std::find(routing.loads.begin(), routing.loads.end(), loads);
    of_list.push_back(static_cast<int>(known - routing.loads.begin()));
    if (known == routing.loads.end()) routing.loads.push_back(loads);
  }
  std::size_t list = 0;
  for (int layer = 0; layer < model.layers; ++layer) {
    if (model.has_experts(layer)) routing.of_layer[layer] = of_list[of_list.size() > 1 ? list++ : 0];
  }
  return routing;
}

ExpertShare share_of(const std::vector<double>& loads, int top_k, int expert_ranks, int expert_rank) {
  if (loads.empty()) return {};
  const auto count = static_cast<std::ptrdiff_t>(loads.size()) / expert_ranks;
  std::vector<double> own(loads.begin() + expert_rank * count, loads.begin() + (expert_rank + 1) * count);
  std::sort(own.begin(), own.end());  // equal loads in another order add up to the same sum
  const double rows = std::accumulate(own.begin(), own.end(), 0.0);
  const auto used = std::count_if(own.begin(), own.end(), [](double load) { return load > 0; });
  return {rows * expert_ranks / top_k, static_cast<double>(used) / static_cast<double>(count)};
}

std::vector<std::string> balance_problems(const ModelSpec& model, const Routing& routing) {
  if (routing.kind == Routing::Balance::uniform) return {};
  if (model.experts.count == 0) return {fmt::format("{} has no experts; write uniform", model.name)};
  if (routing.kind == Routing::Balance::zipf) return {};
  std::vector<std::string> problems;
  const int layers = expert_layers(model);
  if (routing.counts.size() > 1 && static_cast<int>(routing.counts.size()) != layers) {
    problems.push_back(
        fmt::format("{} holds {} lists of counts; {} has {} layers with experts: write one list for all "
                    "or one for each",
                    routing.balance, routing.counts.size(), model.name, layers));
  }
  for (std::size_t i = 0; i < routing.counts.size(); ++i) {
    if (static_cast<int>(routing.counts[i].size()) == model.experts.count) continue;
    problems.push_back(fmt::format("list {} of {} has {} counts; {} has {} experts", i + 1, routing.balance,
                                   routing.counts[i].size(), model.name, model.experts.count));
    break;
  }
  return problems;
}

}  // namespace stepsim
