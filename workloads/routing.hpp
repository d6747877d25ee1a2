// Unequal experts: which part of a layer's tokens goes to each expert (routing.balance), and what that makes of a GPU's
// work.
//
// Balance gives each expert a share of all choices: 1/(e + 1)^s for expert e under zipf:s, its count when recorded. A
// token chooses top_k different experts, so expert e is chosen by the part q(e) = min(1, c share(e)) of the tokens,
// with the c that makes their sum top_k: an expert gets a token at most once, and what an expert with more than 1/top_k
// of the choices cannot take, the others get in proportion to their shares (where nobody else has a share, all
// equally). Experts stand on the ranks of an expert group in their order.
#pragma once

#include <string>
#include <vector>

#include "workloads/model.hpp"
#include "workloads/plan.hpp"

namespace stepsim {

// [expert] part of the tokens that go to it, of shares (not negative, not all zero) of any sum.
std::vector<double> loads_of(const std::vector<double>& shares, int top_k);

struct ExpertRouting {
  std::vector<std::vector<double>> loads;  // different ones, [expert]; an empty one: all experts alike
  std::vector<int> of_layer;               // [layer] index into loads; 0 for layers without experts
};
ExpertRouting expert_routing(const ModelSpec& model, const ParallelPlan& plan);

// The part of an expert rank.
struct ExpertShare {
  double rows = 1;  // that reach it, over those that each rank gets when all experts are alike
  double used = 1;  // part of its experts that any token goes to

  bool operator==(const ExpertShare&) const = default;
};
ExpertShare share_of(const std::vector<double>& loads, int top_k, int expert_ranks, int expert_rank);

// "the plan's counts do not fit this model" and the like: what check() says about routing.balance; empty when sound.
std::vector<std::string> balance_problems(const ModelSpec& model, const Routing& routing);

}  // namespace stepsim
