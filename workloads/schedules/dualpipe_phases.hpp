// The eight phases that DualPipe and DualPipeV share.
#pragma once

#include <array>
#include <vector>

#include "workloads/schedule.hpp"

namespace stepsim {

// A rank at `distance` from the fold (the fold is where the two streams of microbatches turn or cross: 0 is the rank
// farthest from it, half - 1 the nearest), in a pipeline whose two streams each run `microbatches` microbatches through
// 2 x half stages. Source: DeepSeek-V3's report, section 3.2.1, and the published DualPipe.
struct DualPipeRank {
  int half = 1;
  int distance = 0;
  int microbatches = 0;  // of each stream, at least 2 x half
};

// How often each phase repeats its group of passes, the phases numbered from 1 as DeepSeek does:
// 1 F0 | 2 F0 F1 | 3 I1 W F1 | 4 F0&B1 F1&B0 | 5 B1 F1&B0 | 6 B1 B0 (the second half: I) | 7 W I0 | 8 W
// where 0 is the stream that reaches this rank first, 1 the other, & an overlapped pair.
std::array<int, 8> dualpipe_phases(const DualPipeRank& rank);

// The passes of one rank; `chunk` of a pass is its stream (0 or 1), microbatches count from 0 in each stream.
std::vector<Pass> dualpipe_passes(const DualPipeRank& rank);

}  // namespace stepsim
