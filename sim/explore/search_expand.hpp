// Work of a search that is done in workers: what the plans of one shape need at least. Inside search.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "sim/explore/search_space.hpp"
#include "workloads/step_bound.hpp"

namespace stepsim {

struct Leaf {
  std::int32_t leaf = 0;
  double seconds = 0;  // at least
  double memory_bytes = 0;
  std::string by;
};

// How the plans of a shape ended that are not in `leaves`.
struct Expansion {
  std::vector<Leaf> leaves;
  double illegal = 0, repeated = 0, too_large = 0, bounded = 0;
  std::map<std::string, double> bounded_by;
};

class Expander {
 public:
  explicit Expander(const SearchSpace& space);

  // Shapes from `first`, before `end`, that may hold plans which fit, each with the least of its plans. The others are
  // counted, for all their plans.
  struct Listing {
    std::vector<Leaf> shapes;  // `leaf` is the shape
    double illegal = 0, too_large = 0;
  };
  Listing list(std::int32_t base, std::int32_t first, std::int32_t end);

  // Plans that can run, fit, and are not bound to take longer than limit_s.
  Expansion expand(std::int32_t base, std::int32_t shape, double limit_s);

 private:
  // What is asked once for all leaves of a shape that have the same passes.
  struct OfPasses {
    bool known = false;
    bool legal = false, pairs = false;
  };
  // The same for leaves that recompute and overlap alike, with and without pairs.
  struct Family {
    bool known = false;
    StepBound least;
  };

  Bounds& bounds(std::int32_t base);
  // Whether the plan's schedule exists for its pipeline and microbatches; what builds on it may be asked then.
  bool has_passes(const ParallelPlan& plan, const ClusterSpec& cluster, int layers) const;
  bool with_pairs(const ParallelPlan& plan, int microbatches);
  const OfPasses& passes_of(const PlanId& id);
  const StepBound& family_of(const PlanId& id, bool pairs);
  void expand_leaf(const PlanId& id, double limit_s, Expansion& result);

  const SearchSpace& space_;
  std::vector<std::unique_ptr<Bounds>> bounds_;  // [base]
  std::vector<std::int32_t> passes_part_, family_part_;  // [leaf]
  bool paired_ = false;  // some leaf runs overlapped pairs interleaved, where its schedule has some
  std::map<std::pair<std::int32_t, bool>, std::vector<bool>> repeats_;  // [base, in a pipeline][leaf]
  std::map<std::string, bool> with_pairs_;
  // Of the shape at hand.
  std::vector<OfPasses> passes_;
  std::vector<Family> families_;
};

std::string pack(const Expander::Listing& listing);
Expander::Listing unpack_listing(const std::string& text);
std::string pack(const Expansion& expansion);
Expansion unpack_expansion(const std::string& text);

}  // namespace stepsim
