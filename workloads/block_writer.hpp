// Writes the items of one block in program order and keeps account of its activations.
#pragma once

#include <initializer_list>
#include <string_view>
#include <vector>

#include "workloads/layer_shape.hpp"
#include "workloads/layers.hpp"

namespace stepsim {

// A linear on this GPU: [rows, in] x [in, out], or one such matrix for each of `groups` experts that share the rows.
struct Linear {
  std::string_view name;
  double rows = 0, in = 0, out = 0;
  Precision precision = Precision::bf16;
  double groups = 0;  // 0: not grouped
  double used = 1;    // part of the groups that have any row; the weights of the others are not touched
  double useful = 1;  // the part of the work that no other tensor rank does as well
};

class BlockWriter {
 public:
  explicit BlockWriter(const LayerShape& shape) : shape_(shape) {}
  const LayerShape& shape() const { return shape_; }
  const Precisions& precision() const { return shape_.plan.precision; }
  bool fused() const { return shape_.plan.kernels.fused; }
  // Module by module; full recompute repeats the forward list instead.
  bool recomputes(Module module) const {
    return !shape_.plan.recompute.full && shape_.plan.recompute.modules.contains(module);
  }

  // Phase of the items that follow. Forward items go to the forward list, all others to the backward list. Kernels of
  // the recompute phase count no model FLOPs.
  void phase(Phase phase) { phase_ = phase; }
  Phase phase() const { return phase_; }
  // The whole forward list once more, at the start of the backward list.
  void repeat_forward();

  // --- items; `needs` are results of call() below, -1 is ignored ---
  void kernel(Kernel kernel, const std::vector<int>& needs = {});
  // Memory-bound: reads and writes `bytes`.
  void memory(std::string_view name, double bytes, const std::vector<int>& needs = {});
  // As memory(), in one kernel; or, where the plan's elementwise kernels are not fused, in several that move other bytes.
  struct Unfused {
    double bytes = 0;
    int kernels = 1;
  };
  void elementwise(std::string_view name, double bytes, Unfused unfused, const std::vector<int>& needs = {});
  // The same of a kernel that reduces along rows: a norm, a softmax, a loss.
  void reduction(std::string_view name, double bytes, Unfused unfused, const std::vector<int>& needs = {});
  // Rows to where an index says, in one kernel.
  void permutation(std::string_view name, double bytes, const std::vector<int>& needs = {});
  // To FP8 when `to` is FP8 (otherwise nothing): reads the stream's format, writes `copies` (1: along rows; 2: along
  // columns too, as a weight gradient wants it).
  void quantise(double rows, double width, Precision to, int copies, const std::vector<int>& needs = {});
  void forward(const Linear& linear, const std::vector<int>& needs = {});
  // Quantises the output's gradient, then computes the input's; the former stays until the weight gradient.
  void input_gradient(const Linear& linear, const std::vector<int>& needs = {});
  // In phase weight_gradient whatever the current one is. Brings a kept FP8 input into its transposed tiles first.
  void weight_gradient(const Linear& linear, const std::vector<int>& needs = {});

  // Index for `needs`, -1 when the group has one member (then nothing is written).
  int call(const CollectiveCall& call, const std::vector<int>& needs = {});
  // Tensor group, `width` elements a token: all tokens' rows gathered where sequence parallelism cuts them (else -1).
  int gather(std::string_view name, double width);
  // Tensor group: partial sums reduced, to shards with sequence parallelism, else to all.
  int reduce(std::string_view name, double width, const std::vector<int>& needs = {});

  // --- activations, bytes of a microbatch ---
  void part(ActivationPart part) { part_ = part; }  // what is kept from here on belongs to it
  void keep_input(double bytes) { kept_by_[static_cast<std::size_t>(part_)] += bytes; }  // kept under every policy
  struct Use {
    bool weight_gradient = false;  // input of a linear
    bool dropped = false;          // recomputed in the backward pass
  };
  void keep(double bytes, Use use);
  // A gradient that exists while the block runs; only the widest counts.
  void gradient(double bytes);
  void logits(double bytes) { logits_ += bytes; }

  Block finish(Block::Kind kind, BlockParameters parameters) &&;

 private:
  std::vector<Item>& list() { return phase_ == Phase::forward ? block_.forward : block_.backward; }

  const LayerShape& shape_;
  Phase phase_ = Phase::forward;
  Block block_;
  ActivationPart part_ = ActivationPart::norm;
  std::array<double, kActivationParts> kept_by_{};
  double dropped_ = 0, weight_inputs_ = 0, output_gradients_ = 0, widest_ = 0, logits_ = 0;
};

// Items written during its life belong to `phase`.
class PhaseScope {
 public:
  PhaseScope(BlockWriter& writer, Phase phase) : writer_(writer), before_(writer.phase()) { writer_.phase(phase); }
  ~PhaseScope() { writer_.phase(before_); }
  PhaseScope(const PhaseScope&) = delete;
  PhaseScope& operator=(const PhaseScope&) = delete;

 private:
  BlockWriter& writer_;
  Phase before_;
};

// RMS or layer norm over [rows, width]: reads and writes once; backward reads input and output gradient, writes one.
void norm_forward(BlockWriter& w, std::string_view name, double rows, double width, const std::vector<int>& needs = {});
void norm_backward(BlockWriter& w, std::string_view name, double rows, double width,
                   const std::vector<int>& needs = {});
// x + y over the residual stream, in forward as in backward; with dropout of y in the same kernel (a byte a mask).
void residual_add(BlockWriter& w, const std::vector<int>& needs = {});
// At the start of a part's backward, where the plan has dropout: the mask on the gradient. And the mask, kept.
void dropout_backward(BlockWriter& w);
void dropout_activations(BlockWriter& w);

}  // namespace stepsim
