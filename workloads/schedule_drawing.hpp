// A schedule as a picture: text and SVG.
#pragma once

#include <string>

#include "workloads/schedule_times.hpp"

namespace stepsim {

// All passes that cannot be split take one second, a full backward pass two; communication is free.
PassTimes unit_times();

// A row a rank, a column a slot of time of length `slot`. A pass is named kind and microbatch, "F3", after its stage
// when ranks hold several, "7F3"; an overlapped pair "7F3&0B1"; "-" where it goes on, "." where the rank idles. Lines
// longer than `width` characters are cut into blocks of slots; 0 does not cut.
std::string schedule_to_text(const Schedule& schedule, const PassTimes& times, Seconds slot, int width = 0);

// The same as SVG, to scale: a row a rank, colours by kind of pass, microbatch numbers, and a tooltip a pass.
std::string schedule_to_svg(const Schedule& schedule, const PassTimes& times);

}  // namespace stepsim
