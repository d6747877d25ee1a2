// ZB-V (Qi et al., Zero Bubble Pipeline Parallelism, section 6): two chunks a rank in the shape of a V, so that the
// first rank also computes the loss and gradients come back early; no bubble within a rank when F, I and W take equal
// time, at 1F1B's memory.
#include <algorithm>

#include "workloads/schedules/schedules.hpp"

namespace stepsim {

namespace {

constexpr std::string_view name = "zb-v";

std::string refuses(const ScheduleShape& shape) {
  return refuse_shape(shape, name, 2);
}

// The next microbatch of each kind and chunk. The order below is that of a full pipeline, at least 2 ranks - 1
// microbatches; with fewer, those that are not there are left out.
class Counters {
 public:
  Counters(std::vector<Pass>& order, int microbatches) : passes_(order), microbatches_(microbatches) {}

  int forwards(int chunk) const { return forward_[chunk]; }
  void forward(int chunk) {
    const int m = forward_[chunk]++;
    if (m < microbatches_) passes_.forward(m, chunk);
  }
  void input_gradient(int chunk) {
    const int m = gradient_[chunk]++;
    if (m < microbatches_) passes_.input_gradient(m, chunk);
  }
  void weight_gradient() {
    if (passes_.put_off() > 0) passes_.weight_gradient();
  }
  void rest() {
    while (passes_.put_off() > 0) passes_.weight_gradient();
  }

 private:
  PassList passes_;
  int microbatches_;
  int forward_[2] = {0, 0}, gradient_[2] = {0, 0};
};

void warm_up(Counters& next, int ranks, int rank) {
  // Down the V and up again it is 2 (ranks - rank) - 1 stages from chunk 0 to chunk 1 of this rank.
  for (int i = 0; i < 2 * (ranks - rank) - 1; ++i) next.forward(0);
  for (int i = 0; i < rank; ++i) {
    next.forward(1);
    next.forward(0);
  }
  for (int i = 0; i < ranks - rank; ++i) {
    next.forward(1);
    next.input_gradient(1);
    next.weight_gradient();
  }
}

// Gradients first, as the ranks before wait for them; weight gradients fill what is left.
void cool_down(Counters& next, int ranks, int rank) {
  for (int i = 0; i < rank; ++i) {
    next.input_gradient(0);
    next.input_gradient(1);
  }
  for (int i = 0; i < ranks - rank; ++i) {
    next.input_gradient(0);
    next.weight_gradient();
  }
  next.rest();
}

Schedule make(const ScheduleShape& shape) {
  Schedule schedule = v_schedule(shape.ranks, shape.microbatches);
  const int full = std::max(shape.microbatches, 2 * shape.ranks - 1);
  for (int rank = 0; rank < shape.ranks; ++rank) {
    Counters next(schedule.order[rank], shape.microbatches);
    warm_up(next, shape.ranks, rank);
    while (next.forwards(1) < full) {
      for (int chunk : {0, 1}) {
        if (next.forwards(chunk) < full) next.forward(chunk);
        next.input_gradient(chunk);
        next.weight_gradient();
      }
    }
    cool_down(next, shape.ranks, rank);
  }
  return schedule;
}

}  // namespace

ScheduleKind zb_v_schedule() {
  return {name, "zero-bubble family: two chunks in a V, no bubble within a rank, 1F1B's memory", true, 1, refuses, make,
          2};
}

}  // namespace stepsim
