// Numbers that several writers take from a report: pure functions, never a division by zero.
#pragma once

#include <string>
#include <vector>

#include "sim/report/report.hpp"

namespace stepsim {

int gpus_of(const Report& report);  // of the cluster; of the rows when the inputs do not say
double tokens_per_second_per_gpu(const Report& report);
double model_utilisation(const Report& report);     // MFU, 0 when no peak is given
double hardware_utilisation(const Report& report);  // HFU

// Mean over all GPUs (rows weighted by the ranks they stand for), as shares of the step time.
struct Shares {
  double compute = 0, overlapped = 0, exposed = 0, wait = 0, bubble = 0;
};
Shares mean_shares(const Report& report);

// Rows of ranks that spend the step alike, to six digits, and of links alike, each with how many there are: an unfolded
// run has a row for each of thousands of ranks.
std::vector<RankRow> rank_kinds(const Report& report);
std::vector<LinkRow> link_kinds(const Report& report);

const RankRow* fullest_rank(const Report& report);  // with the highest memory peak; nullptr without rows
bool fits_in_memory(const Report& report);          // true when the GPU's memory is not known

// Seconds that a roofline's largest wire needs, and its name; 0 and "" without wires.
struct WireNeed {
  std::string wire;
  double seconds = 0;
};
WireNeed largest_wire(const Report& report);

// What binds the step: the verdict's resource, or the roofline's when elasticities were not measured.
std::string bound_by(const Report& report);

double elasticity_of(const Report& report, const std::string& resource);  // 0 when not measured

}  // namespace stepsim
