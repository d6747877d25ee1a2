#include "sim/verbs/verb.hpp"

namespace stepsim {

const std::vector<Verb>& verbs() {
  static const std::vector<Verb> table = {
      run_verb(),
      compare_verb(),
      check_verb(),
      memory_verb(),
      kernels_verb(),
      model_verb(),
      schedule_verb(),
      whatif_verb(),
      stress_verb(),
      sweep_verb(),
      search_verb(),
      results_verb(),
      validate_verb(),
      collective_verb(),
      list_verb(),
  };
  return table;
}

}  // namespace stepsim
