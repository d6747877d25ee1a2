#include "sim/report/pass_windows.hpp"

#include <algorithm>

namespace stepsim {

void Window::take(const Window& other) {
  begin = std::min(begin, other.begin);
  end = std::max(end, other.end);
}

PassWindows::Part PassWindows::part_of(Phase phase) {
  switch (phase) {
    case Phase::forward:
      return forward;
    case Phase::recompute:
    case Phase::backward:
    case Phase::input_gradient:
      return input;
    case Phase::weight_gradient:
      return weight;
    default:
      return none;
  }
}

PassWindows::PassWindows(const Program& program, const std::vector<Span>& spans) {
  for (std::size_t i = 0; i < program.ops.size(); ++i) {
    const OpView op = program.ops[i];
    const Part part = part_of(op.tags.phase);
    if (op.kind != OpKind::compute || op.tags.chunk < 0 || op.tags.microbatch < 0 || part == none) continue;
    const auto chunk = static_cast<std::size_t>(op.tags.chunk), microbatch = static_cast<std::size_t>(op.tags.microbatch);
    if (chunk >= parts_.size()) parts_.resize(chunk + 1);
    if (microbatch >= parts_[chunk].size()) parts_[chunk].resize(microbatch + 1);
    parts_[chunk][microbatch][part].take({spans[i].start, spans[i].end});
  }
}

Window PassWindows::of(const Pass& pass) const {
  const auto chunk = static_cast<std::size_t>(pass.chunk), microbatch = static_cast<std::size_t>(pass.microbatch);
  if (chunk >= parts_.size() || microbatch >= parts_[chunk].size()) return {};
  const std::array<Window, 3>& parts = parts_[chunk][microbatch];
  if (pass.kind == PassKind::forward) return parts[forward];
  if (pass.kind == PassKind::input_gradient) return parts[input];
  if (pass.kind == PassKind::weight_gradient) return parts[weight];
  Window both = parts[input];
  both.take(parts[weight]);
  return both;
}

}  // namespace stepsim
