#include "sim/explore/search_expand.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "workloads/check.hpp"
#include "workloads/plan_schedule.hpp"

namespace stepsim {

Expander::Expander(const SearchSpace& space) : space_(space), bounds_(space.bases().size()) {
  for (std::int32_t leaf = 0; leaf < space.leaves(); ++leaf) {
    passes_part_.push_back(space.part_of_leaf(leaf, {"plan.schedule", "plan.parallel.virtual_stages"}));
    family_part_.push_back(space.part_of_leaf(leaf, {"plan.recompute", "plan.overlap.expert"}));
    for (std::int32_t base = 0; base < static_cast<std::int32_t>(space.bases().size()); ++base) {
      paired_ = paired_ || space.plan({base, 0, leaf}).overlap.expert == Overlap::Policy::paired;
    }
  }
}

Bounds& Expander::bounds(std::int32_t base) {
  std::unique_ptr<Bounds>& bounds = bounds_[base];
  const Inputs& in = space_.bases()[base].inputs;
  if (!bounds) bounds = std::make_unique<Bounds>(in.model, in.cluster);
  return *bounds;
}

Expander::Listing Expander::list(std::int32_t base, std::int32_t first, std::int32_t end) {
  Listing listing;
  const double capacity = space_.bases()[base].inputs.cluster.gpu.memory.value;
  for (std::int32_t shape = first; shape < end; ++shape) {
    if (!space_.shape_divides(base, shape)) {
      listing.illegal += space_.leaves();
      continue;
    }
    const StepBound least = bounds(base).least_with_wires(space_.plan({base, shape, 0}), paired_);
    if (least.memory_bytes > capacity) {
      listing.too_large += space_.leaves();
    } else {
      listing.shapes.push_back({shape, least.seconds, least.memory_bytes, least.by});
    }
  }
  return listing;
}

bool Expander::has_passes(const ParallelPlan& plan, const ClusterSpec& cluster, int layers) const {
  const int microbatches = static_cast<int>(microbatches_of(plan, cluster));
  if (!has_schedule(plan) || !shape_problems(plan, microbatches).empty()) return false;
  const ScheduleKind* kind = find_schedule(plan.schedule);
  const int chunks = kind == nullptr ? 1 : kind->fixed_chunks > 0 && kind->copies == 1 ? kind->fixed_chunks : plan.parallel.virtual_stages;
  return plan.passes || !plan.stage_layers.empty() || plan.parallel.pipeline * chunks <= layers + 2;
}

bool Expander::with_pairs(const ParallelPlan& plan, int microbatches) {
  if (plan.passes) return has_pairs(*plan.passes);
  const auto [it, fresh] = with_pairs_.try_emplace(
      fmt::format("{} {} {} {}", plan.schedule, plan.parallel.pipeline, plan.parallel.virtual_stages, microbatches));
  if (fresh) it->second = has_pairs(schedule_of(plan, microbatches));
  return it->second;
}

const Expander::OfPasses& Expander::passes_of(const PlanId& id) {
  OfPasses& of = passes_[passes_part_[id.leaf]];
  if (of.known) return of;
  const Inputs& in = space_.bases()[id.base].inputs;
  const ParallelPlan plan = space_.plan(id);
  of.known = true;
  of.legal = has_passes(plan, in.cluster, in.model.layers);
  of.pairs = of.legal && with_pairs(plan, static_cast<int>(microbatches_of(plan, in.cluster)));
  return of;
}

const StepBound& Expander::family_of(const PlanId& id, bool pairs) {
  Family& family = families_[2 * family_part_[id.leaf] + (pairs ? 1 : 0)];
  if (!family.known) family.least = bounds(id.base).least_of_passes(space_.plan(id), pairs);
  family.known = true;
  return family.least;
}

Expansion Expander::expand(std::int32_t base, std::int32_t shape, double limit_s) {
  Expansion result;
  const Inputs& in = space_.bases()[base].inputs;
  const ParallelPlan plain = space_.plain_plan(base, shape);
  if (!check(in.model, in.cluster, plain, {}).empty()) {
    result.illegal = space_.leaves();
    return result;
  }
  passes_.assign(space_.leaves(), {});
  families_.assign(2 * static_cast<std::size_t>(space_.leaves()), {});
  std::vector<bool>& repeats = repeats_[{base, plain.parallel.pipeline > 1}];
  for (auto leaf = static_cast<std::int32_t>(repeats.size()); leaf < space_.leaves(); ++leaf) {
    repeats.push_back(space_.leaf_repeats({base, shape, leaf}));
  }
  for (std::int32_t leaf = 0; leaf < space_.leaves(); ++leaf) {
    if (repeats[leaf]) {
      ++result.repeated;
    } else {
      expand_leaf({base, shape, leaf}, limit_s, result);
    }
  }
  return result;
}

// The cheapest questions first: most leaves are answered by what they share with others.
void Expander::expand_leaf(const PlanId& id, double limit_s, Expansion& result) {
  const Inputs& in = space_.bases()[id.base].inputs;
  const double capacity = in.cluster.gpu.memory.value;
  const OfPasses& passes = passes_of(id);
  if (!passes.legal) {
    ++result.illegal;
    return;
  }
  const auto bounded = [&](const StepBound& bound) {
    if (!(bound.seconds > limit_s)) return false;
    ++result.bounded;
    ++result.bounded_by[bound.by];
    return true;
  };
  if (bounded(family_of(id, passes.pairs))) return;
  const ParallelPlan plan = space_.plan(id);
  const bool paired = plan.overlap.expert == Overlap::Policy::paired;
  if (!passes.pairs && paired) {
    ++result.illegal;  // as check() will have it
    return;
  }
  if (passes.pairs && !paired && bounded(family_of(id, false))) return;  // its pairs run one after the other
  if (!(plan.collectives == Algorithms{}) && !check(in.model, in.cluster, plan, {}).empty()) {
    ++result.illegal;  // a named algorithm need not fit the groups, and bounds take for granted that it does
    return;
  }
  const StepBound bound = bounds(id.base).of(plan);
  if (bound.memory_bytes > capacity) {
    ++result.too_large;
  } else if (bounded(bound)) {
    return;
  } else if (!check(in.model, in.cluster, plan, {}).empty()) {
    ++result.illegal;
  } else {
    result.leaves.push_back({id.leaf, bound.seconds, bound.memory_bytes, bound.by});
  }
}

namespace {

nlohmann::json json_of(const std::vector<Leaf>& leaves) {
  nlohmann::json json = nlohmann::json::array();
  for (const Leaf& l : leaves) json.push_back({l.leaf, l.seconds, l.memory_bytes, l.by});
  return json;
}

std::vector<Leaf> leaves_of(const nlohmann::json& json) {
  std::vector<Leaf> leaves;
  for (const auto& l : json) leaves.push_back({l[0], l[1], l[2], l[3]});
  return leaves;
}

}  // namespace

std::string pack(const Expander::Listing& l) {
  return nlohmann::json{{"shapes", json_of(l.shapes)}, {"illegal", l.illegal}, {"too_large", l.too_large}}.dump();
}

Expander::Listing unpack_listing(const std::string& text) {
  const nlohmann::json json = nlohmann::json::parse(text);
  return {leaves_of(json["shapes"]), json["illegal"], json["too_large"]};
}

std::string pack(const Expansion& e) {
  return nlohmann::json{{"leaves", json_of(e.leaves)}, {"illegal", e.illegal}, {"repeated", e.repeated}, {"too_large", e.too_large},
                        {"bounded", e.bounded}, {"bounded_by", e.bounded_by}}
      .dump();
}

Expansion unpack_expansion(const std::string& text) {
  const nlohmann::json json = nlohmann::json::parse(text);
  Expansion e;
  e.leaves = leaves_of(json["leaves"]);
  e.illegal = json["illegal"];
  e.repeated = json["repeated"];
  e.too_large = json["too_large"];
  e.bounded = json["bounded"];
  e.bounded_by = json["bounded_by"];
  return e;
}

}  // namespace stepsim
