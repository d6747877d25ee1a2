#include "workloads/pass_run.hpp"

#include <algorithm>

namespace stepsim {
namespace {

bool is_compute(const PassStep& step) { return step.segment->call == nullptr; }

bool needs(const PassStep& step, const PassStep& collective) {
  const auto& list = step.segment->needs;
  return step.block == collective.block && std::find(list.begin(), list.end(), collective.segment_index) != list.end();
}

// The first compute that has to wait for the collective at `at`: one that needs it, or the next block's first.
std::size_t first_user(const std::vector<PassStep>& steps, std::size_t at) {
  for (std::size_t i = at + 1; i < steps.size(); ++i) {
    if (is_compute(steps[i]) && (steps[i].block != steps[at].block || needs(steps[i], steps[at]))) return i;
  }
  return steps.size();
}

// From the back: compute goes on with the next compute, or with a collective that follows it and then its user.
void find_tails(std::vector<PassStep>& steps) {
  double next_compute = 0, collectives = 0;  // tails of what may follow the step at hand
  for (std::size_t i = steps.size(); i-- > 0;) {
    PassStep& step = steps[i];
    if (is_compute(step)) {
      step.tail = step.planned + std::max(next_compute, collectives);
      next_compute = step.tail;
      collectives = 0;
    } else {
      const std::size_t user = first_user(steps, i);
      step.tail = step.planned + (user < steps.size() ? steps[user].tail : 0);
      collectives = std::max(collectives, step.tail);
    }
  }
}

}  // namespace

std::vector<PassStep> steps_of_pass(const StepContext& context, PassKind kind, int stage) {
  std::vector<PassStep> steps;
  std::vector<int> blocks = context.stage_blocks[stage];
  if (kind != PassKind::forward) std::reverse(blocks.begin(), blocks.end());
  for (const int block : blocks) {
    const auto& segments = context.segments_of_block(block, kind);
    for (std::size_t i = 0; i < segments.size(); ++i) {
      const int index = static_cast<int>(i);
      steps.push_back({&segments[i], index, block, i == 0, i + 1 == segments.size(), context.planned_seconds_of(block, kind, index), 0});
    }
  }
  find_tails(steps);
  return steps;
}

}  // namespace stepsim
