#include "sim/verbs/verb.hpp"

namespace stepsim {

const std::vector<Verb>& verbs() {
  static const std::vector<Verb> table = {
      run_verb(),
      compare_verb(),
      check_verb(),
      model_verb(),
      schedule_verb(),
      whatif_verb(),
      list_verb(),
      memory_verb(),
  };
  return table;
}

}  // namespace stepsim
