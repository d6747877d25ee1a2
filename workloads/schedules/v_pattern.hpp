// Schedules that repeat one building block in a V (Qi et al., Pipeline Parallelism with Controllable Memory).
#pragma once

#include <array>
#include <vector>

#include "workloads/schedule.hpp"

namespace stepsim {

// Slots, from the block's start, of F in chunk 0, F in chunk 1, I in chunk 1, I in chunk 0 on one rank, for passes of
// equal length. Six passes a microbatch and rank: the block repeats every six slots, and no two of the four may fall on
// the same slot modulo six; the two weight gradients take the slots left.
using VBlock = std::array<int, 4>;

// The block of every microbatch and rank (`blocks`: one a rank), then moved together: in the start and the end of the
// step, where the repeated block leaves slots idle, passes move ahead into them as far as what they need and the memory
// of the repeated block allow.
Schedule v_pattern_schedule(const ScheduleShape& shape, const std::vector<VBlock>& blocks);

}  // namespace stepsim
