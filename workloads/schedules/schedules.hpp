// The table of pipeline schedules, and what their files share. To add one: a file here that defines
// `ScheduleKind <name>_schedule()`, and a line in STEPSIM_SCHEDULES.
#pragma once

#include <string>
#include <vector>

#include "workloads/schedule.hpp"

// One line a schedule, in the order in which they are listed.
// clang-format off
#define STEPSIM_SCHEDULES(line) \
  line(gpipe) \
  line(one_f_one_b) \
  line(interleaved) \
  line(breadth_first) \
  line(zb_h1) \
  line(zb_h2) \
  line(zb_v) \
  line(zb_v_half) \
  line(zb_v_min) \
  line(dualpipe) \
  line(dualpipev)
// clang-format on

namespace stepsim {

#define STEPSIM_DECLARE_SCHEDULE(name) ScheduleKind name##_schedule();
STEPSIM_SCHEDULES(STEPSIM_DECLARE_SCHEDULE)
#undef STEPSIM_DECLARE_SCHEDULE

// A schedule without passes. Chunk c of rank r is stage c x ranks + r: the pipeline loops round the ranks, once a chunk
// (with one chunk: stage r).
Schedule looped_schedule(int ranks, int chunks, int microbatches);

// A schedule without passes. Two chunks a rank, stages r and 2 ranks - 1 - r: the pipeline goes down the ranks and back
// up, so that the first and the last stage share rank 0.
Schedule v_schedule(int ranks, int microbatches);

// What no schedule allows: fewer than one rank, chunk or microbatch; chunks that differ from those the schedule always
// has (1 stands for "not said"). "" when fine; `fixed_chunks` 0 allows any number.
std::string refuse_shape(const ScheduleShape& shape, std::string_view schedule, int fixed_chunks);

// "7 microbatches: <rule> (nearest: 6, 8)"; the nearest numbers that `allowed` accepts below and above are looked up.
std::string refuse_microbatches(const ScheduleShape& shape, const std::string& rule, bool (*allowed)(ScheduleShape));

// A rank's passes while they are written down. W passes are taken first in, first out from those that were put off.
class PassList {
 public:
  explicit PassList(std::vector<Pass>& order) : order_(&order) {}

  void forward(int microbatch, int chunk) { add(PassKind::forward, microbatch, chunk); }
  void backward(int microbatch, int chunk) { add(PassKind::backward, microbatch, chunk); }
  void input_gradient(int microbatch, int chunk);  // and remembers the weight gradient as put off
  void weight_gradient();                          // the longest put off
  int put_off() const { return static_cast<int>(waiting_.size() - taken_); }
  void pair_last_with_next() { order_->back().paired_with_next = true; }

 private:
  void add(PassKind kind, int microbatch, int chunk) { order_->push_back({kind, microbatch, chunk, false}); }

  std::vector<Pass>* order_;
  std::vector<Pass> waiting_;
  std::size_t taken_ = 0;
};

}  // namespace stepsim
