#include "sim/verbs/verb.hpp"

namespace stepsim {

const std::vector<Verb>& verbs() {
  static const std::vector<Verb> table = {
      run_verb(), compare_verb(), check_verb(), schedule_verb(), list_verb(), collective_verb(),
  };
  return table;
}

}  // namespace stepsim
