// A pipeline schedule: for every pipeline rank, the order of its passes. Order only, no times.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace stepsim {

enum class PassKind : std::uint8_t {
  forward,
  backward,         // input and weight gradients together
  input_gradient,   // "I"; its weight gradient comes later
  weight_gradient,  // "W"
};

// One pass of one microbatch through one chunk (the stage that a rank holds under this index).
struct Pass {
  PassKind kind = PassKind::forward;
  std::int32_t microbatch = 0;
  std::int32_t chunk = 0;
  // The pass runs interleaved with the next one of its rank (an overlapped forward/backward pair): each one's
  // communication moves under the other's compute.
  bool paired_with_next = false;

  bool operator==(const Pass&) const = default;
};

struct Schedule {
  int stages = 0;  // model stages, numbered along the forward pass
  int microbatches = 0;
  std::vector<std::vector<int>> placement;  // [pipeline rank][chunk] -> stage
  // Which microbatches run through a chunk: a chunk of a bidirectional schedule sees only those of its direction.
  // [pipeline rank][chunk] -> direction; microbatch m runs in direction direction_of[m].
  std::vector<std::vector<int>> direction;  // all 0 unless bidirectional
  std::vector<int> microbatch_direction;    // [microbatch]
  std::vector<std::vector<Pass>> order;     // [pipeline rank]

  int ranks() const { return static_cast<int>(order.size()); }
  // The pipeline rank and chunk that hold `stage` in `direction`.
  struct Place {
    int rank = -1, chunk = -1;
    bool operator==(const Place&) const = default;
  };
  Place place_of(int stage, int direction) const;

  bool operator==(const Schedule&) const = default;
};

// What a schedule is made from.
struct ScheduleShape {
  int ranks = 1;         // pipeline ranks
  int chunks = 1;        // virtual stages a rank
  int microbatches = 1;  // over all directions
};

// One kind of schedule; one file in schedules/, one line in the table.
struct ScheduleKind {
  std::string_view name;
  std::string_view about;  // one line for `stepsim list schedules`
  bool splits_backward;    // uses I and W
  int copies;              // copies of each stage's parameters (2: bidirectional)
  // "" when the shape is allowed; else what is wrong and the nearest shapes that are.
  std::string (*refuses)(const ScheduleShape&);
  Schedule (*make)(const ScheduleShape&);
  int fixed_chunks;  // chunks a rank holds whatever the plan says (2 for V shapes, DualPipe); 0: the plan's number
};

const std::vector<ScheduleKind>& schedules();
const ScheduleKind* find_schedule(std::string_view name);

// Every reason why the schedule cannot run: a pass missing, repeated or misplaced (named), a dependency broken or a
// deadlock across ranks (with the cycle). Empty when it can.
std::vector<std::string> problems_of(const Schedule& schedule);

}  // namespace stepsim
