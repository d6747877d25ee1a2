// Mixtral: every layer has experts, of the width that other families give their dense layers.
#include "workloads/families/families.hpp"

namespace stepsim {

void read_mixtral(Config& c, ModelSpec& model) {
  read_shape(c, model);
  read_tied(c, model, false);
  read_experts(c, model, "num_local_experts", "intermediate_size");
  read_window(c, model);
}

}  // namespace stepsim
