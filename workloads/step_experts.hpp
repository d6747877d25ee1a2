// Inside make_step: the ranks of an expert group, which need not be alike.
#pragma once

#include <map>
#include <span>
#include <utility>
#include <vector>

#include "sim/collective/algorithm.hpp"
#include "workloads/layers.hpp"
#include "workloads/routing.hpp"
#include "workloads/step_parts.hpp"

namespace stepsim {

class ExpertPlaces {
 public:
  ExpertPlaces(const ModelSpec& model, const ParallelPlan& plan);

  // Kinds of place whose experts get as many tokens in every layer; one when all experts are alike.
  int kinds() const { return static_cast<int>(blocks_.size()); }
  int kind_of(int expert_rank) const { return kind_of_[expert_rank]; }
  // What such a rank runs; the same kinds of block as make_blocks() without a place.
  const BlockList& blocks(int kind) const { return blocks_[kind]; }

  // Of a routed call in a group of such a shape.
  const TokenRouting& routing(const PatternKey& key, const GroupShape& shape);

 private:
  const ModelSpec& model_;
  const ParallelPlan& plan_;
  ExpertRouting experts_;
  std::vector<int> kind_of_;       // [expert rank]
  std::vector<BlockList> blocks_;  // [kind]
  struct RoutingKey {
    int routing;
    bool back;
    int size, nodes;
    auto operator<=>(const RoutingKey&) const = default;
  };
  std::map<RoutingKey, TokenRouting> routings_;
};

// How a routed call goes when all experts are alike.
TokenRouting equal_routing(const ModelSpec& model, const ParallelPlan& plan);

}  // namespace stepsim
