// What stepsim memory prints.
#include <fmt/format.h>

#include <iterator>

#include "sim/report/derived.hpp"
#include "sim/report/report.hpp"
#include "sim/report/table.hpp"
#include "sim/report/text_sections.hpp"
#include "sim/report/words.hpp"

namespace stepsim {
namespace {

std::string verdict(const Report& report) {
  const RankRow* fullest = fullest_rank(report);
  if (fullest == nullptr) return "";
  const double room = report.facts.gpu_memory_bytes - fullest->peak_memory_bytes;
  const std::string needs = fmt::format("stage {} (rank {}) needs {}, a GPU has {}", fullest->stage, fullest->rank,
                                        bytes_text(fullest->peak_memory_bytes), bytes_text(report.facts.gpu_memory_bytes));
  return wrap(room >= 0 ? fmt::format("Fits: {}; {} to spare.", needs, bytes_text(room))
                        : fmt::format("DOES NOT FIT: {}; {} too much.", needs, bytes_text(-room)),
              page_width) +
         "\n";
}

}  // namespace

std::string memory_text(const Report& report) {
  std::string text = verdict(report) + fitting_section(report.fitting_changes) + "\n";
  text += wrap(fmt::format("{}: {} on {}, {} GPUs", report.inputs.experiment, report.inputs.model, report.inputs.cluster,
                           number_text(report.inputs.gpus)),
               page_width) +
          "\n\n";
  text += memory_section(report) + "\n" + activations_section(report);
  for (const std::string& warning : report.warnings) text += wrap("  - " + warning, page_width, 4) + "\n";
  return text;
}

std::string memory_to_csv(const Report& report) {
  std::string text = "rank,count,stage,peak_bytes";
  const StepFacts& facts = report.facts;
  if (facts.memory.empty()) return text + "\n";
  for (const auto& [kind, bytes] : facts.memory[0]) text += fmt::format(",{}_bytes", kind);
  for (const auto& [part, bytes] : facts.activation_parts[0]) text += fmt::format(",activations_{}_bytes", part);
  for (const auto& [kind, bytes] : facts.reserved[0]) text += fmt::format(",reserved_{}_bytes", kind);
  text += "\n";
  for (std::size_t r = 0; r < report.ranks.size(); ++r) {
    const RankRow& row = report.ranks[r];
    fmt::format_to(std::back_inserter(text), "{},{},{},{}", row.rank, row.count, row.stage, row.peak_memory_bytes);
    for (const auto* values : {&facts.memory[r], &facts.activation_parts[r], &facts.reserved[r]}) {
      for (const auto& [kind, bytes] : *values) fmt::format_to(std::back_inserter(text), ",{}", bytes);
    }
    text += "\n";
  }
  return text;
}

}  // namespace stepsim
