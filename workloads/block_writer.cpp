#include "workloads/block_writer.hpp"

#include <algorithm>
#include <utility>

namespace stepsim {
namespace {

std::vector<int> real(const std::vector<int>& needs) {
  std::vector<int> kept;
  for (int index : needs) {
    if (index >= 0) kept.push_back(index);
  }
  return kept;
}

int size_of(GroupKind group, const Parallel& p) {
  switch (group) {
    case GroupKind::tensor:
      return p.tensor;
    case GroupKind::context:
      return p.context;
    case GroupKind::expert:
      return p.expert;
    case GroupKind::expert_tensor:
      return p.expert_tensor;
  }
  return 1;
}

// The GEMM without its traffic.
Kernel gemm(const Linear& l, double m, double n, double k) {
  Kernel kernel{.name = l.name, .kind = l.groups > 0 ? KernelClass::grouped_gemm : KernelClass::gemm};
  kernel.precision = l.precision;
  kernel.m = m;
  kernel.n = n;
  kernel.k = k;
  kernel.groups = std::max(1.0, l.groups * l.used);
  kernel.flops = Flops(2 * m * n * k);
  kernel.model_flops = kernel.flops * l.useful;
  return kernel;
}

double weights_of(const Linear& l) {
  return std::max(1.0, l.groups) * l.in * l.out * l.used;
}

}  // namespace

void BlockWriter::repeat_forward() {
  for (Item item : block_.forward) {
    item.phase = Phase::recompute;
    if (Kernel* kernel = std::get_if<Kernel>(&item.what)) kernel->model_flops = Flops(0);
    block_.backward.push_back(std::move(item));
  }
}

void BlockWriter::kernel(Kernel kernel, const std::vector<int>& needs) {
  kernel.backward = phase_ == Phase::input_gradient || phase_ == Phase::weight_gradient;
  if (phase_ == Phase::recompute) kernel.model_flops = Flops(0);
  list().push_back({.what = kernel, .phase = phase_, .needs = real(needs)});
}

void BlockWriter::memory(std::string_view name, double bytes, const std::vector<int>& needs) {
  Kernel kernel{.name = name, .kind = KernelClass::memory};
  kernel.precision = shape_.stream;
  kernel.bytes = Bytes(bytes);
  this->kernel(kernel, needs);
}

void BlockWriter::elementwise(std::string_view name, double bytes, Unfused unfused, const std::vector<int>& needs) {
  if (fused()) return memory(name, bytes, needs);
  for (int i = 0; i < unfused.kernels; ++i) memory(name, unfused.bytes / unfused.kernels, i == 0 ? needs : std::vector<int>{});
}

void BlockWriter::reduction(std::string_view name, double bytes, Unfused unfused, const std::vector<int>& needs) {
  const std::size_t first = list().size();
  elementwise(name, bytes, unfused, needs);
  for (std::size_t i = first; i < list().size(); ++i) std::get<Kernel>(list()[i].what).access = Kernel::Access::reduces;
}

void BlockWriter::permutation(std::string_view name, double bytes, const std::vector<int>& needs) {
  memory(name, bytes, needs);
  std::get<Kernel>(list().back().what).access = Kernel::Access::permutes;
}

void BlockWriter::quantise(double rows, double width, Precision to, int copies, const std::vector<int>& needs) {
  if (to != Precision::fp8) return;
  memory("quantise", rows * (width * shape_.stream_bytes + copies * activation_row_bytes(width, to)), needs);
}

void BlockWriter::forward(const Linear& l, const std::vector<int>& needs) {
  Kernel kernel = gemm(l, l.rows, l.out, l.in);
  kernel.bytes = Bytes(l.rows * activation_row_bytes(l.in, l.precision) +
                       weights_of(l) * bytes_per_element(l.precision) + l.rows * l.out * shape_.stream_bytes);
  this->kernel(kernel, needs);
}

void BlockWriter::input_gradient(const Linear& l, const std::vector<int>& needs) {
  quantise(l.rows, l.out, l.precision, 2, needs);
  Kernel kernel = gemm(l, l.rows, l.in, l.out);
  const double gradient_row = activation_row_bytes(l.out, l.precision);
  kernel.bytes = Bytes(l.rows * gradient_row + weights_of(l) * bytes_per_element(l.precision) +
                       l.rows * l.in * shape_.stream_bytes);
  this->kernel(kernel, needs);
  output_gradients_ += l.rows * gradient_row;
  gradient(l.rows * l.out * shape_.stream_bytes);
}

void BlockWriter::weight_gradient(const Linear& l, const std::vector<int>& needs) {
  const PhaseScope scope(*this, Phase::weight_gradient);
  if (l.precision == Precision::fp8) memory("requantise", 2 * l.rows * activation_row_bytes(l.in, l.precision), needs);
  Kernel kernel = gemm(l, l.in, l.out, l.rows);
  kernel.groups_in_k = kernel.kind == KernelClass::grouped_gemm;
  const double operands = l.rows * (activation_row_bytes(l.in, l.precision) + activation_row_bytes(l.out, l.precision));
  const double main = weights_of(l) * bytes_per_element(precision().gradients);
  const double fresh = weights_of(l) * shape_.stream_bytes;
  // The main gradient is read and written: accumulation over microbatches is fused into the GEMM, or a pass of its own.
  // Where gradients are reduced every microbatch through copies, the copies follow the block (shards.hpp).
  const bool copied = shape_.plan.kernels.shards != Kernels::Shards::in_place;
  kernel.bytes = Bytes(operands + (fused() && !copied ? 2 * main : fresh));
  this->kernel(kernel, needs);
  if (!fused() && !copied) memory("accumulate", fresh + 2 * main);
}

int BlockWriter::call(const CollectiveCall& call, const std::vector<int>& needs) {
  if (size_of(call.group, shape_.plan.parallel) <= 1) return -1;
  list().push_back({.what = call, .phase = phase_, .needs = real(needs)});
  return static_cast<int>(list().size()) - 1;
}

int BlockWriter::gather(std::string_view name, double width) {
  if (!shape_.sequence_parallel()) return -1;
  return call({.name = name,
               .group = GroupKind::tensor,
               .operation = Operation::all_gather,
               .payload = Bytes(shape_.tokens * width * shape_.stream_bytes)});
}

int BlockWriter::reduce(std::string_view name, double width, const std::vector<int>& needs) {
  return call({.name = name,
               .group = GroupKind::tensor,
               .operation = shape_.sequence_parallel() ? Operation::reduce_scatter : Operation::all_reduce,
               .payload = Bytes(shape_.tokens * width * shape_.stream_bytes)},
              needs);
}

void BlockWriter::keep(double bytes, Use use) {
  const bool dropped = use.dropped || shape_.plan.recompute.full;
  (dropped ? dropped_ : kept_by_[static_cast<std::size_t>(part_)]) += bytes;
  if (use.weight_gradient) weight_inputs_ += bytes;
}

void BlockWriter::gradient(double bytes) {
  widest_ = std::max(widest_, bytes);
}

Block BlockWriter::finish(Block::Kind kind, BlockParameters parameters) && {
  block_.kind = kind;
  block_.parameters = parameters;
  for (std::size_t i = 0; i < kActivationParts; ++i) {
    block_.activations.kept_by[i] = Bytes(kept_by_[i]);
    block_.activations.kept += Bytes(kept_by_[i]);
  }
  block_.activations.logits = Bytes(logits_);
  block_.activations.weight_grad_kept = Bytes(weight_inputs_ + output_gradients_);
  block_.activations.transient = Bytes(dropped_ + widest_ + logits_);
  return std::move(block_);
}

// Unfused, as the formula is written in PyTorch (an RMS norm in FP32): cast, square, mean, scale, cast back, weight.
void norm_forward(BlockWriter& w, std::string_view name, double rows, double width, const std::vector<int>& needs) {
  const double element = w.shape().stream_bytes, all = rows * width;
  w.reduction(name, 2 * all * element, {all * (4 * element + 28), 6}, needs);
}

// Unfused: gradients of weight (2 kernels), cast, scale (2), mean, square, their sum, cast back.
void norm_backward(BlockWriter& w, std::string_view name, double rows, double width, const std::vector<int>& needs) {
  const double element = w.shape().stream_bytes, all = rows * width;
  w.reduction(name, 3 * all * element, {all * (6 * element + 44), 8}, needs);
}

void residual_add(BlockWriter& w, const std::vector<int>& needs) {
  const LayerShape& s = w.shape();
  const bool dropped = s.plan.kernels.dropout && (w.phase() == Phase::forward || w.phase() == Phase::recompute);
  w.memory("residual", s.rows * s.model.hidden * (3 * s.stream_bytes + (dropped ? 1 : 0)), needs);
}

void dropout_backward(BlockWriter& w) {
  const LayerShape& s = w.shape();
  if (s.plan.kernels.dropout) w.memory("dropout", s.rows * s.model.hidden * (2 * s.stream_bytes + 1));
}

void dropout_activations(BlockWriter& w) {
  const LayerShape& s = w.shape();
  if (s.plan.kernels.dropout) w.keep(s.rows * s.model.hidden, {});
}

}  // namespace stepsim
