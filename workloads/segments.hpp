// Items of a block -> segments: stretches of compute between collectives, priced.
#pragma once

#include <vector>

#include "sim/cluster/gpu.hpp"
#include "workloads/layers.hpp"
#include "workloads/schedule.hpp"

namespace stepsim {

struct Segment {
  const CollectiveCall* call = nullptr;  // a collective; nullptr: compute
  Phase phase = Phase::forward;
  std::vector<int> needs;                // earlier collective segments of the same list
  double seconds = 0, sm_seconds = 0;    // compute: all its kernels, one after the other
  ComputeWork work;
};

// Which items of a block a pass runs: forward all of `forward`; a full backward all of `backward`; an input-gradient
// pass its recompute and input-gradient items; a weight-gradient pass the weight-gradient items. Consecutive kernels
// become one segment unless a collective stands between them, the phase changes, or a kernel needs a collective that no
// earlier one needed. `sms`: SMs that compute runs on. The items must outlive the result.
std::vector<Segment> segments_of(const Block& block, PassKind pass, const Gpu& gpu, int sms);

// Compute seconds of a list.
double seconds_of(const std::vector<Segment>& segments);

}  // namespace stepsim
