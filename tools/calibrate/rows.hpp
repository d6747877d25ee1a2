// Measurements of kernels, from platforms/gpus/measured.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "sim/cost/kernel.hpp"

namespace stepsim {

// One timed run. A measurement of a forward and a backward pass together has two kernels.
struct Measured {
  std::string gpu;     // stem of its file
  std::string table;   // what prices it: "bf16", "fp8", "grouped bf16", "grouped fp8", "flash", "flash2"
  std::string condition;  // sustained: long enough to feel the limit of power; burst: not; unstated: one
                          // or the other, whichever the prediction is closer to (a series on B200 falls into two clocks,
                          // a quarter apart); zeros: long, on zeros;
                          // best_shape: the fastest of thousands of shapes; launch_bound: shorter than the host takes
                          // to launch it
  std::vector<Kernel> kernels;
  Seconds time;
};

// gemm.csv and attention.csv. Throws InputError where a line is not as its header says.
std::vector<Measured> read_kernels(const std::string& folder);

// An all-reduce of GPUs of one node, over a buffer.
struct MeasuredCall {
  std::string machine, series;  // series: one sweep over sizes
  double gpus = 0, bytes = 0, seconds = 0;
};
// All-reduces within a node of at least a KiB, with whatever algorithm the library chose, of a table as
// `stepsim collective --measured` reads it. Throws as read_kernels does.
std::vector<MeasuredCall> read_calls(const std::string& file);

// Passes over memory: seconds = start + bytes / bandwidth. The data sheet's bandwidth is one of them ("data_sheet").
struct MeasuredPass {
  double gbps = 0;
  double start_us = 0;  // 0: not stated
};
using MeasuredMemory = std::map<std::string, std::map<std::string, MeasuredPass>>;  // [gpu][kernel]
// memory.csv. Throws as read_kernels does.
MeasuredMemory read_memory(const std::string& folder);

}  // namespace stepsim
