// The report as CSV: a row a rank, with the keys of the JSON report as titles.
#include <fmt/format.h>

#include <iterator>

#include "sim/report/report.hpp"

namespace stepsim {

std::string to_csv(const Report& report) {
  std::string text =
      "rank,count,stage,compute_s,overlapped_communication_s,exposed_communication_s,wait_s,bubble_s,idle_s";
  for (const std::string& tier : report.tiers) text += "," + tier + "_bytes";
  text += ",peak_memory_bytes\n";
  for (const RankRow& row : report.ranks) {
    fmt::format_to(std::back_inserter(text), "{},{},{},{},{},{},{},{},{}", row.rank, row.count, row.stage,
                   row.compute_s, row.overlapped_communication_s, row.exposed_communication_s, row.wait_s, row.bubble_s,
                   row.idle_s);
    for (const double bytes : row.wire_bytes) fmt::format_to(std::back_inserter(text), ",{}", bytes);
    fmt::format_to(std::back_inserter(text), ",{}\n", row.peak_memory_bytes);
  }
  return text;
}

}  // namespace stepsim
