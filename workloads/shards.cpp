#include "workloads/shards.hpp"

#include <algorithm>

namespace stepsim {
namespace {

void add(std::vector<Item>& items, Phase phase, std::string_view name, double bytes) {
  if (bytes <= 0) return;
  Kernel kernel{.name = name, .kind = KernelClass::memory};
  kernel.bytes = Bytes(bytes);
  kernel.backward = phase == Phase::weight_gradient;
  items.push_back({.what = kernel, .phase = phase, .needs = {}});
}

}  // namespace

void add_copies_of_shards(Block& block, const ParallelPlan& plan) {
  using Shards = Kernels::Shards;
  const Shards how = plan.kernels.shards;
  if (how == Shards::in_place) return;
  const double parameters = block.parameters.dense + block.parameters.expert;
  const Precisions& p = plan.precision;
  const double fresh = std::max(2.0, bytes_per_element(p.attention));  // gradients as the products leave them
  const double reduced = bytes_per_element(p.reduce), gathered = bytes_per_element(p.gather);
  const double cast = fresh == reduced ? 0 : fresh + reduced;
  const bool layer = block.kind == Block::Kind::dense_layer || block.kind == Block::Kind::expert_layer;
  if (layer && p.linear == Precision::fp8 && p.gather != Precision::fp8) {
    add(block.forward, Phase::forward, "weights to fp8", parameters * (gathered + 2));
  }
  if (how == Shards::flat) {
    add(block.backward, Phase::weight_gradient, "flatten gradients", parameters * 2 * fresh);
    add(block.backward, Phase::weight_gradient, "cast gradients", parameters * cast);
    add(block.backward, Phase::weight_gradient, "divide gradients", parameters * 2 * reduced);
    return;
  }
  add(block.forward, Phase::forward, "copy out parameters", parameters * 2 * gathered);
  add(block.backward, Phase::weight_gradient, "copy out parameters", parameters * 2 * gathered);
  add(block.backward, Phase::weight_gradient, "copy in gradients", parameters * (fresh + reduced));
}

}  // namespace stepsim
