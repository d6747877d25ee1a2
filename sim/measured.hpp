// Measured collectives against simulated ones.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "sim/cluster/cluster.hpp"

namespace stepsim {

// A line of platforms/measured/collectives.csv, whose head says what the columns mean.
struct MeasuredRow {
  int line = 0;
  std::string machine;
  int gpus = 0, per_node = 0;
  std::string operation, algorithm;
  std::optional<double> size_bytes;
  int tokens = 0, top_k = 0, max_nodes = 0;  // 0: does not apply, or no limit
  double bandwidth = 0;                      // bytes/s
  std::string metric;                        // busbw, logical, p2p
  std::string software, source, note;
};

// Throws InputError with every line that cannot be read.
std::vector<MeasuredRow> read_measured(const std::string& path);

struct Comparison {
  MeasuredRow row;
  std::string cluster;    // that stands for it; empty: none is shipped
  std::string algorithm;  // as simulated
  std::string missing;    // why it is not simulated; empty: it is
  double simulated = 0;   // bytes/s, in the row's metric
  double deviation() const { return simulated / row.bandwidth - 1; }
};

// `load` gives the cluster of a shipped name; `clusters` are the shipped names. For a row the smallest cluster of its
// machine that has as many GPUs.
std::vector<Comparison> compare_measured(const std::vector<MeasuredRow>& rows, const std::vector<std::string>& clusters,
                                         const std::function<ClusterSpec(const std::string&)>& load);

// Every row, then a summary of each series; at most 100 columns.
std::string measured_text(const std::vector<Comparison>& rows);
std::string measured_csv(const std::vector<Comparison>& rows);

}  // namespace stepsim
