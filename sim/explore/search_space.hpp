// All plans that a search looks at: every combination of the values of some keys.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sim/inputs.hpp"
#include "workloads/plan.hpp"

namespace stepsim {

// A key of the plan that a search varies by itself.
struct SearchKey {
  std::string_view key;     // "plan.parallel.tensor"
  std::string_view prefix;  // of its value in a plan's short name: "TP"
  bool of_shape;            // decides which ranks do what; the others choose among plans of one shape
  void (*copy)(ParallelPlan& to, const ParallelPlan& from);
};
const std::vector<SearchKey>& search_keys();

// One of them with the values to try, as texts and as what they make of a plan.
struct SearchDimension {
  const SearchKey* key = nullptr;
  std::vector<std::string> values;
  std::vector<ParallelPlan> plans;  // [value] a plan that has it
};

// Number of a plan in the space: which base, shape and leaf.
struct PlanId {
  std::int32_t base = 0, shape = 0, leaf = 0;
  auto operator<=>(const PlanId&) const = default;
};

// One combination of keys that --vary names beside those that a search varies by itself.
struct SearchBase {
  Request request;
  Inputs inputs;  // not checked, not resolved
  std::string label;
};

class SearchSpace {
 public:
  // `vary`: "KEY=VALUE,VALUE" replaces the values of a key, or adds one. Keys that `request` sets (--set) have one value.
  // Algorithms of collectives are "auto" unless told otherwise. Throws InputError.
  SearchSpace(const Request& request, const std::vector<std::string>& vary, InputCache& cache);

  const std::vector<SearchBase>& bases() const { return bases_; }
  std::int32_t shapes() const { return shapes_; }
  std::int32_t leaves() const { return leaves_; }  // of a shape
  double combinations() const { return static_cast<double>(bases_.size()) * shapes_ * leaves_; }

  ParallelPlan plan(const PlanId& id) const;  // resolved where its degrees divide the cluster
  // The shape's plan as harmless as can be, to ask whether the shape can run at all.
  ParallelPlan plain_plan(std::int32_t base, std::int32_t shape) const;
  // What cannot run by arithmetic alone; everything else is up to check().
  bool shape_divides(std::int32_t base, std::int32_t shape) const;
  // Says the same as another leaf: chunks of a schedule that has its own number, a schedule without a pipeline.
  bool leaf_repeats(const PlanId& id) const;
  // Which combination of the values of these keys a leaf has: a number for each, in no order, less than leaves().
  std::int32_t part_of_leaf(std::int32_t leaf, const std::vector<std::string_view>& keys) const;
  // The plan of the first base as it was given, where the space holds it.
  std::optional<PlanId> given() const;

  std::vector<std::pair<std::string, std::string>> values(const PlanId& id) const;  // key -> value
  Request request(const PlanId& id) const;
  std::string label(const PlanId& id) const;  // "TP8 PP16 EP64 1f1b zero1"
  std::vector<std::pair<std::string, std::string>> described() const;  // key -> its values

 private:
  std::size_t index_in(const SearchDimension& dimension, const PlanId& id) const;
  void add_bases(const Request& request, const std::vector<std::string>& vary, InputCache& cache);
  void add_dimension(const SearchKey& key, std::vector<std::string> values, InputCache& cache);

  std::vector<SearchBase> bases_;
  std::vector<SearchDimension> dimensions_;  // in the order of search_keys()
  std::int32_t shapes_ = 1, leaves_ = 1;
};

}  // namespace stepsim
