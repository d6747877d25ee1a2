#include "workloads/schedules/dualpipe_phases.hpp"

#include "workloads/schedules/schedules.hpp"

namespace stepsim {

namespace {

// Both streams' counters of microbatches, forward and backward.
class Streams {
 public:
  explicit Streams(std::vector<Pass>& order) : passes_(order) {}

  void forward(int stream) { passes_.forward(next_forward_[stream]++, stream); }
  void backward(int stream) { passes_.backward(next_backward_[stream]++, stream); }
  void input_gradient(int stream) { passes_.input_gradient(next_backward_[stream]++, stream); }
  void weight_gradient() { passes_.weight_gradient(); }
  void overlapped(int forward_stream, int backward_stream) {
    forward(forward_stream);
    passes_.pair_last_with_next();
    backward(backward_stream);
  }

 private:
  PassList passes_;
  std::array<int, 2> next_forward_{}, next_backward_{};
};

// Phase 4. Next to the fold, the first gradient of stream 1 is still on its way when phase 4 begins: the forward pass
// does not wait to be paired with it (DeepSeek: "to further reduce bubble size").
void main_phase(Streams& streams, int repeats, bool at_fold) {
  for (int i = 0; i < repeats; ++i) {
    if (i == 0 && at_fold) {
      streams.forward(0);
      streams.backward(1);
    } else {
      streams.overlapped(0, 1);
    }
    streams.overlapped(1, 0);
  }
}

// Phase 6: from its middle on, only input gradients, so that the other ranks' last gradients come sooner and the
// weight gradients fill the tail.
void closing_phase(Streams& streams, int repeats) {
  for (int i = 0; i < 2 * repeats; ++i) {
    const int stream = i % 2 == 0 ? 1 : 0;
    if (i < repeats) {
      streams.backward(stream);
    } else {
      streams.input_gradient(stream);
    }
  }
}

}  // namespace

std::array<int, 8> dualpipe_phases(const DualPipeRank& rank) {
  const int outside = rank.half - rank.distance - 1;
  const int inside = rank.distance + 1;
  const int main = rank.microbatches - 2 * rank.half + inside;
  return {2 * outside, inside, outside, main, outside, inside, outside, inside};
}

std::vector<Pass> dualpipe_passes(const DualPipeRank& rank) {
  std::vector<Pass> order;
  order.reserve(static_cast<std::size_t>(rank.microbatches) * 5);
  Streams streams(order);
  const std::array<int, 8> repeats = dualpipe_phases(rank);
  for (int i = 0; i < repeats[0]; ++i) streams.forward(0);
  for (int i = 0; i < repeats[1]; ++i) {
    streams.forward(0);
    streams.forward(1);
  }
  for (int i = 0; i < repeats[2]; ++i) {
    streams.input_gradient(1);
    streams.weight_gradient();
    streams.forward(1);
  }
  main_phase(streams, repeats[3], rank.distance == rank.half - 1);
  for (int i = 0; i < repeats[4]; ++i) {
    streams.backward(1);
    streams.overlapped(1, 0);
  }
  closing_phase(streams, repeats[5]);
  for (int i = 0; i < repeats[6]; ++i) {
    streams.weight_gradient();
    streams.input_gradient(0);
  }
  for (int i = 0; i < repeats[7]; ++i) streams.weight_gradient();
  return order;
}

}  // namespace stepsim
