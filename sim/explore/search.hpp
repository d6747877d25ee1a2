// The best plan for a model on a cluster: enumerate, prune by what provably cannot win, simulate the rest.
//
// Best first: shapes of plans (who holds what) wait with a quick bound of all their plans; the most promising one is
// expanded into its plans, each with its own bound (workloads/step_bound.hpp) and its exact memory; the most promising
// plan is simulated: the one of the least bound times what plans of its kind (equal but for who holds what) have taken
// longer than theirs so far. What is bound to be worse than the N-th best simulated is dropped unseen. So the best N are
// those of brute force, whatever the order; unless time runs out, when the result says what was left.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "sim/explore/objective.hpp"
#include "sim/explore/search_space.hpp"
#include "sim/explore/store.hpp"
#include "sim/simulate.hpp"

namespace stepsim {

struct SearchOptions {
  Options simulate;
  std::string objective = "step_time";
  int top = 10;
  int workers = 1;
  bool prune = true;     // false: simulates every plan that can run and fits
  bool front = false;    // also what no plan beats in both time and memory: simulates more
  bool progress = false;
  double seconds = 0;    // after so long no more plans are looked at; 0: no limit
};

struct SearchFind {
  PlanId id;  // base -1: the experiment's own plan, where the space does not hold it
  double value = 0, seconds = 0, memory_bytes = 0;
  double bound_s = 0;
  std::string label, key;
};

struct SearchResult {
  std::string name;               // of its rows in the store
  std::vector<SearchFind> best;   // at most `top`, best first; equal ones by id
  std::vector<SearchFind> front;  // of all simulated: no other is as fast with as little memory; by time
  std::vector<SearchFind> own;    // the experiment's own plan, if it can run
  // How many combinations ended how; they add up.
  double combinations = 0, illegal = 0, repeated = 0, too_large = 0, bounded = 0, simulated = 0, failed = 0;
  // Combinations that were left when time ran out and may still win, and the least bound among them (value).
  double left = 0, left_bound = 0;
  std::map<std::string, double> bounded_by;  // of `bounded`: "schedule", a wire, ...; "compute": with their whole shape
};

// Throws InputError where nothing can run.
SearchResult search(const SearchSpace& space, const Request& own, Store& store, const SearchOptions& options);

}  // namespace stepsim
