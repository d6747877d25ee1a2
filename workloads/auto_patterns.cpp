#include "workloads/auto_patterns.hpp"

#include <algorithm>
#include <optional>

#include "workloads/schedules/v_pattern.hpp"

namespace stepsim {

namespace {

constexpr int block_length = 6;  // passes of a microbatch on a rank
constexpr int most_slots = 4;    // a stage, in one leg

// Slots a stage in each leg, and the pauses between one leg and the next.
struct Steps {
  std::array<int, 4> leg;
  std::array<int, 3> pause;
};

std::vector<VBlock> blocks_of(const Steps& steps, int ranks) {
  const int last = ranks - 1;
  std::vector<VBlock> blocks;
  for (int rank = 0; rank < ranks; ++rank) {
    const int down = steps.leg[0] * rank;
    const int up_from = steps.leg[0] * last + steps.pause[0];
    const int back_from = up_from + steps.leg[1] * last + steps.pause[1];
    const int home_from = back_from + steps.leg[2] * last + steps.pause[2];
    blocks.push_back({down, up_from + steps.leg[1] * (last - rank), back_from + steps.leg[2] * rank,
                      home_from + steps.leg[3] * (last - rank)});
  }
  return blocks;
}

bool repeats(const std::vector<VBlock>& blocks) {
  return std::all_of(blocks.begin(), blocks.end(), [](const VBlock& block) {
    unsigned taken = 0;
    for (int offset : block) {
      const unsigned bit = 1u << (offset % block_length);
      if (taken & bit) return false;
      taken |= bit;
    }
    return true;
  });
}

// The shortest pauses with which the block can be repeated on every rank.
std::optional<Steps> with_pauses(const std::array<int, 4>& leg, int ranks) {
  std::optional<Steps> best;
  int shortest = 3 * block_length + 1;
  for (int a = 1; a <= block_length; ++a) {
    for (int b = 1; b <= block_length; ++b) {
      for (int c = 1; c <= block_length; ++c) {
        if (a + b + c >= shortest) continue;
        const Steps steps{leg, {a, b, c}};
        if (!repeats(blocks_of(steps, ranks))) continue;
        best = steps;
        shortest = a + b + c;
      }
    }
  }
  return best;
}

struct OrderPattern {
  std::vector<VBlock> blocks;
  int memory;  // activations of a chunk, at most
  int length;  // slots until a microbatch is through
};

// Slots that activations are held, over the slots after which the next microbatch's are: so many are held at once. The
// weight gradients take the next of the two free slots in six.
OrderPattern pattern_of(std::vector<VBlock> blocks) {
  int held = 0;
  for (const VBlock& block : blocks) {
    held = std::max(held, (block[3] - block[0] + block_length) / block_length +
                              (block[2] - block[1] + block_length) / block_length);
  }
  const int length = blocks[0][3];
  return {std::move(blocks), held, length};
}

}  // namespace

std::vector<Schedule> v_pattern_schedules(const ScheduleShape& shape, double memory_cap, std::size_t most) {
  std::vector<OrderPattern> patterns;
  std::array<int, 4> leg{};
  for (leg[0] = 1; leg[0] <= most_slots; ++leg[0]) {
    for (leg[1] = 1; leg[1] <= most_slots; ++leg[1]) {
      for (leg[2] = 1; leg[2] <= most_slots; ++leg[2]) {
        for (leg[3] = 1; leg[3] <= most_slots; ++leg[3]) {
          const std::optional<Steps> steps = with_pauses(leg, shape.ranks);
          if (!steps) continue;
          OrderPattern pattern = pattern_of(blocks_of(*steps, shape.ranks));
          if (pattern.memory <= memory_cap) patterns.push_back(std::move(pattern));
        }
      }
    }
  }
  std::stable_sort(patterns.begin(), patterns.end(), [](const OrderPattern& a, const OrderPattern& b) {
    return a.memory != b.memory ? a.memory > b.memory : a.length < b.length;
  });
  if (patterns.size() > most) patterns.resize(most);
  std::vector<Schedule> schedules;
  for (const OrderPattern& pattern : patterns) schedules.push_back(v_pattern_schedule(shape, pattern.blocks));
  return schedules;
}

}  // namespace stepsim
