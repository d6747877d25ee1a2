// PyTorch's pipeline-schedule CSV (torch.distributed.pipelining, "compute only" form), in and out.
//
// A row a pipeline rank, a cell an action: stage, kind, microbatch: "7F3", "7B3" (full backward), "7I3" (input
// gradient), "7W3" (weight gradient), "(0F7;7B3)OVERLAP_F_B" (an overlapped pair). Empty cells and spaces mean nothing.
// PyTorch's own communication actions (SEND_F, RECV_F, SEND_B, RECV_B, UNSHARD, RESHARD, REDUCE_GRAD) are read over:
// the simulation places its own.
//
// One thing PyTorch's files cannot say: that a stage lives on two ranks, once for each direction (DualPipe). Passes of
// direction 1 are written with an "r" after the stage, "7rF63". PyTorch refuses such a file; it cannot run it.
#pragma once

#include <string>
#include <string_view>

#include "workloads/schedule.hpp"

namespace stepsim {

std::string schedule_to_csv(const Schedule& schedule);

// Which stages a rank holds is read from its passes; its chunks are numbered by direction, then by stage. Throws
// InputError with everything that is wrong: cells that are no action (with their line), and problems_of() the schedule.
Schedule schedule_from_csv(std::string_view text, const std::string& file);
Schedule read_schedule_csv(const std::string& path);

}  // namespace stepsim
