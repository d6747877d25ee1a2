// How far a run of many points is, on standard error: points done, rate, time left, best so far.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace stepsim {

struct ProgressState {
  std::int64_t done = 0, total = 0;  // total 0: not known
  std::int64_t counted = 0;          // of those done, the ones that took time: the rate is theirs
  double seconds = 0;                // since the start
  std::string best;                  // "11.8 s: pipeline 16", or ""
};
// "412 of 1000 points, 17.2 a second, 34 s left; best 11.8 s: pipeline 16"
std::string to_text(const ProgressState& state);

// Writes a line in place on a terminal, elsewhere a new line every ten seconds.
class Progress {
 public:
  explicit Progress(bool shown);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void show(ProgressState state);  // `seconds` is filled in; at most twice a second

 private:
  using Clock = std::chrono::steady_clock;
  bool shown_, terminal_;
  Clock::time_point start_, last_;
  bool written_ = false;
};

}  // namespace stepsim
