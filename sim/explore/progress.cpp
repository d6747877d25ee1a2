#include "sim/explore/progress.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>

#include "sim/report/words.hpp"

namespace stepsim {

std::string to_text(const ProgressState& s) {
  std::string text = s.total > 0 ? fmt::format("{} of {} points", s.done, s.total) : fmt::format("{} points", s.done);
  const double rate = s.seconds > 0 ? static_cast<double>(s.counted) / s.seconds : 0;
  if (rate > 0) text += fmt::format(", {:.3g} a second", rate);
  if (rate > 0 && s.total > s.done) text += fmt::format(", {} left", seconds_text(static_cast<double>(s.total - s.done) / rate));
  if (!s.best.empty()) text += "; best " + s.best;
  return text;
}

Progress::Progress(bool shown) : shown_(shown), terminal_(isatty(STDERR_FILENO) != 0), start_(Clock::now()), last_(start_) {}

Progress::~Progress() {
  if (written_ && terminal_) std::fputs("\r\033[K", stderr);
}

void Progress::show(ProgressState state) {
  const Clock::time_point now = Clock::now();
  const std::chrono::duration<double> since = now - last_, all = now - start_;
  if (!shown_ || since.count() < (terminal_ ? 0.5 : 10.0)) return;
  last_ = now;
  state.seconds = all.count();
  written_ = true;
  const std::string text = to_text(state);
  if (terminal_) {
    std::fprintf(stderr, "\r\033[K%s", text.substr(0, 99).c_str());
  } else {
    std::fprintf(stderr, "stepsim: %s\n", text.c_str());
  }
}

}  // namespace stepsim
