#include "sim/explore/search_expand.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "workloads/check.hpp"
#include "workloads/plan_schedule.hpp"

namespace stepsim {

Bounds& Expander::bounds(std::int32_t base) {
  std::unique_ptr<Bounds>& bounds = bounds_[base];
  const Inputs& in = space_.bases()[base].inputs;
  if (!bounds) bounds = std::make_unique<Bounds>(in.model, in.cluster);
  return *bounds;
}

StepBound Expander::least(std::int32_t base, std::int32_t shape) { return bounds(base).least(space_.plan({base, shape, 0})); }

bool Expander::has_passes(const ParallelPlan& plan, const ClusterSpec& cluster, int layers) const {
  const int microbatches = static_cast<int>(microbatches_of(plan, cluster));
  if (!has_schedule(plan) || !shape_problems(plan, microbatches).empty()) return false;
  const ScheduleKind* kind = find_schedule(plan.schedule);
  const int chunks = kind == nullptr ? 1 : kind->fixed_chunks > 0 && kind->copies == 1 ? kind->fixed_chunks : plan.parallel.virtual_stages;
  return plan.passes || !plan.stage_layers.empty() || plan.parallel.pipeline * chunks <= layers + 2;
}

Expansion Expander::expand(std::int32_t base, std::int32_t shape, double limit_s) {
  Expansion result;
  const Inputs& in = space_.bases()[base].inputs;
  const double leaves = space_.leaves(), capacity = in.cluster.gpu.memory.value;
  const ParallelPlan plain = space_.plain_plan(base, shape);
  if (!check(in.model, in.cluster, plain, {}).empty()) {
    result.illegal = leaves;
    return result;
  }
  const StepBound all = bounds(base).least_with_wires(space_.plan({base, shape, 0}));
  if (all.seconds > limit_s) {
    result.bounded = result.bounded_by[all.by] = leaves;
    return result;
  }
  for (std::int32_t leaf = 0; leaf < space_.leaves(); ++leaf) {
    const PlanId id{base, shape, leaf};
    const ParallelPlan plan = space_.plan(id);
    if (space_.leaf_repeats(id)) {
      ++result.repeated;
    } else if (!has_passes(plan, in.cluster, in.model.layers)) {
      ++result.illegal;
    } else if (!(plan.collectives == Algorithms{}) && !check(in.model, in.cluster, plan, {}).empty()) {
      ++result.illegal;  // a named algorithm need not fit the groups, and bounds take for granted that it does
    } else {
      const StepBound bound = bounds(base).of(plan);
      if (bound.memory_bytes > capacity) {
        ++result.too_large;
      } else if (bound.seconds > limit_s) {
        ++result.bounded;
        ++result.bounded_by[bound.by];
      } else if (!check(in.model, in.cluster, plan, {}).empty()) {
        ++result.illegal;
      } else {
        result.leaves.push_back({leaf, bound.seconds, bound.memory_bytes, bound.by});
      }
    }
  }
  return result;
}

std::string pack(const Expansion& e) {
  nlohmann::json leaves = nlohmann::json::array();
  for (const Leaf& l : e.leaves) leaves.push_back({l.leaf, l.seconds, l.memory_bytes, l.by});
  return nlohmann::json{{"leaves", leaves}, {"illegal", e.illegal}, {"repeated", e.repeated}, {"too_large", e.too_large},
                        {"bounded", e.bounded}, {"bounded_by", e.bounded_by}}
      .dump();
}

Expansion unpack_expansion(const std::string& text) {
  const nlohmann::json json = nlohmann::json::parse(text);
  Expansion e;
  for (const auto& l : json["leaves"]) e.leaves.push_back({l[0], l[1], l[2], l[3]});
  e.illegal = json["illegal"];
  e.repeated = json["repeated"];
  e.too_large = json["too_large"];
  e.bounded = json["bounded"];
  e.bounded_by = json["bounded_by"];
  return e;
}

}  // namespace stepsim
