#include "workloads/pass_index.hpp"

#include <fmt/format.h>

namespace stepsim {

int slot_of(PassKind kind) {
  switch (kind) {
    case PassKind::forward:
      return 0;
    case PassKind::backward:
    case PassKind::input_gradient:
      return 1;
    case PassKind::weight_gradient:
      return 2;
  }
  return 0;
}

std::string_view letter_of(PassKind kind) {
  switch (kind) {
    case PassKind::forward:
      return "F";
    case PassKind::backward:
      return "B";
    case PassKind::input_gradient:
      return "I";
    case PassKind::weight_gradient:
      return "W";
  }
  return "";
}

std::string name_of(const Schedule& schedule, int rank, const Pass& pass) {
  return fmt::format("{} of microbatch {} at stage {}", letter_of(pass.kind), pass.microbatch,
                     schedule.placement[rank][pass.chunk]);
}

PassIndex::PassIndex(const Schedule& schedule) : schedule_(&schedule) {
  const std::size_t size = static_cast<std::size_t>(schedule.stages) * schedule.microbatches;
  for (auto& positions : positions_) positions.assign(size, {});
  for (int rank = 0; rank < schedule.ranks(); ++rank) {
    for (std::size_t i = 0; i < schedule.order[rank].size(); ++i) {
      const Pass& pass = schedule.order[rank][i];
      if (pass.chunk < 0 || pass.chunk >= static_cast<int>(schedule.placement[rank].size())) continue;
      if (pass.microbatch < 0 || pass.microbatch >= schedule.microbatches) continue;
      if (schedule.direction[rank][pass.chunk] != schedule.microbatch_direction[pass.microbatch]) continue;
      const int stage = schedule.placement[rank][pass.chunk];
      PassPosition& position = positions_[slot_of(pass.kind)][at(stage, pass.microbatch)];
      if (!position.exists()) position = {rank, static_cast<int>(i)};
    }
  }
}

std::array<PassPosition, 2> PassIndex::needs(int rank, const Pass& pass) const {
  const int stage = schedule_->placement[rank][pass.chunk];
  std::array<PassPosition, 2> needs;
  switch (slot_of(pass.kind)) {
    case 0:
      if (stage > 0) needs[0] = forward(stage - 1, pass.microbatch);
      break;
    case 1:
      needs[0] = forward(stage, pass.microbatch);
      if (stage + 1 < schedule_->stages) needs[1] = input_gradient(stage + 1, pass.microbatch);
      break;
    default:
      needs[0] = input_gradient(stage, pass.microbatch);
  }
  return needs;
}

}  // namespace stepsim
