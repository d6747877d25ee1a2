// Timeline: what engines return.
#pragma once

#include <cstdint>
#include <vector>

namespace stepsim {

// Times of one op on one rank, seconds since the step began. compute and delay: ready == start. transfer: from `ready`
// (this rank could start) to `start` (the last member could) the rank waits; from start to end bytes move.
struct Span {
  double ready = 0;
  double start = 0;
  double end = 0;

  bool operator==(const Span&) const = default;
};

struct Timeline {
  double end = 0;                        // the step time, s
  std::vector<std::vector<Span>> spans;  // [rank of the graph][op of its program]
  std::uint64_t events = 0;              // ops run
  std::vector<double> link_bytes = {};   // [link] bytes it carried; empty where the graph alone tells (no reroutings)

  bool operator==(const Timeline&) const = default;
};

}  // namespace stepsim
