#include "workloads/schedules/split_backward.hpp"

#include <algorithm>

#include "workloads/schedules/schedules.hpp"

namespace stepsim {

std::vector<Pass> split_backward_passes(const SplitRank& rank, int microbatches) {
  std::vector<Pass> order;
  PassList passes(order);
  const int warm_up = std::min(microbatches, rank.warm_up);
  for (int m = 0; m < warm_up; ++m) passes.forward(m, 0);
  for (int m = 0; m < microbatches; ++m) {
    if (m + warm_up < microbatches) passes.forward(m + warm_up, 0);
    passes.input_gradient(m, 0);
    if (m >= rank.delay) passes.weight_gradient();
  }
  while (passes.put_off() > 0) passes.weight_gradient();
  return order;
}

}  // namespace stepsim
