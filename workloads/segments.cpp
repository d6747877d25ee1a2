#include "workloads/segments.hpp"

#include <algorithm>

#include "sim/cost/kernel.hpp"

namespace stepsim {
namespace {

bool runs_in(Phase phase, PassKind pass) {
  switch (pass) {
    case PassKind::forward:
    case PassKind::backward: return true;
    case PassKind::input_gradient: return phase != Phase::weight_gradient;
    case PassKind::weight_gradient: return phase == Phase::weight_gradient;
  }
  return false;
}

// A full backward is one phase; recompute stays apart.
Phase shown_phase(Phase phase, PassKind pass) {
  const bool gradient = phase == Phase::input_gradient || phase == Phase::weight_gradient;
  return pass == PassKind::backward && gradient ? Phase::backward : phase;
}

void add_kernel(Segment& segment, const Kernel& kernel, const Gpu& gpu, int sms) {
  const KernelCost cost = cost_of(kernel, gpu, sms);
  segment.seconds += cost.time.value;
  segment.sm_seconds += cost.sm_time.value;
  segment.work.flops += kernel.flops.value;
  segment.work.model_flops += kernel.model_flops.value;
  segment.work.compute_seconds += cost.compute_time.value;
  segment.work.hbm_seconds += cost.hbm_time.value;
}

}  // namespace

std::vector<Segment> segments_of(const Block& block, PassKind pass, const Gpu& gpu, int sms) {
  const std::vector<Item>& items = pass == PassKind::forward ? block.forward : block.backward;
  std::vector<Segment> segments;
  std::vector<int> segment_of(items.size(), -1);  // collectives that run in this pass
  std::vector<bool> met(items.size(), false);     // collectives that a kernel has already needed
  for (std::size_t i = 0; i < items.size(); ++i) {
    const Item& item = items[i];
    if (!runs_in(item.phase, pass)) continue;
    const Phase phase = shown_phase(item.phase, pass);
    std::vector<int> needs;  // what ran in an earlier pass of this rank is done
    bool fresh = false;
    for (const int n : item.needs) {
      if (segment_of[n] < 0) continue;
      needs.push_back(segment_of[n]);
      fresh = fresh || !met[n];
    }
    if (const auto* call = std::get_if<CollectiveCall>(&item.what)) {
      segment_of[i] = static_cast<int>(segments.size());
      segments.push_back({call, phase, needs, 0, 0, {}});
      continue;
    }
    for (const int n : item.needs) met[n] = true;
    const bool grows = !segments.empty() && segments.back().call == nullptr && segments.back().phase == phase && !fresh;
    if (!grows) segments.push_back({nullptr, phase, needs, 0, 0, {}});
    add_kernel(segments.back(), std::get<Kernel>(item.what), gpu, sms);
  }
  return segments;
}

double seconds_of(const std::vector<Segment>& segments) {
  double seconds = 0;
  for (const Segment& s : segments) seconds += s.seconds;
  return seconds;
}

}  // namespace stepsim
