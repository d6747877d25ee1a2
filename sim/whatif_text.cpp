// What-ifs as a table and as JSON.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "sim/report/table.hpp"
#include "sim/report/words.hpp"
#include "sim/whatif.hpp"

namespace stepsim {
namespace {

constexpr double kNothing = 1e-9;  // part of the step below which a change makes no difference

std::string signed_seconds(double saved) { return (saved < 0 ? "-" : "+") + seconds_text(std::abs(saved)); }

}  // namespace

std::string to_text(const WhatIf& result, const Inputs& inputs, bool all) {
  std::string text = fmt::format("{}: {}, {} on the fullest GPU{}\n\n", inputs.name, seconds_text(result.step_time_s),
                                 bytes_text(result.memory_bytes), result.fits ? "" : " (does not fit)");
  Table table({{"change", true, true}, {"saved"}, {"of the step"}, {"step"}, {"memory"}});
  int without = 0, refused = 0;
  std::string reasons;
  for (const Effect& e : result.effects) {
    if (!e.refused.empty()) {
      ++refused;
      reasons += wrap(fmt::format("  {}: {}", e.change.text, e.refused), page_width, 4) + "\n";
      continue;
    }
    const bool nothing = std::abs(e.saved_s) <= kNothing * result.step_time_s && e.memory_bytes == result.memory_bytes;
    if (nothing) ++without;
    if (nothing && !all) continue;
    table.row({e.change.text, signed_seconds(e.saved_s), fmt::format("{:+.1f} %", 100 * e.saved_s / result.step_time_s),
               seconds_text(e.step_time_s), bytes_text(e.memory_bytes) + (e.fits ? "  " : " !")});
  }
  text += table.text() + "\n" + wrap("saved: by the change, simulated; a minus is a loss. memory: of the fullest GPU; ! does not fit. Faster wires leave the "
                                       "collectives' algorithms as they are; a --set of the wire's speed lets auto choose anew.", page_width) + "\n";
  if (all && refused > 0) return text + "\nCannot run:\n" + reasons;
  return text + fmt::format("{} change{} no difference, {} cannot run (--all lists them).\n", without,
                            without == 1 ? " makes" : "s make", refused);
}

std::string to_json(const WhatIf& result, const Inputs& inputs) {
  nlohmann::ordered_json json = {{"schema", "stepsim.whatif/1"},
                                 {"experiment", inputs.name},
                                 {"step_time_s", result.step_time_s},
                                 {"memory_bytes", result.memory_bytes},
                                 {"fits", result.fits}};
  json["changes"] = nlohmann::ordered_json::array();
  for (const Effect& e : result.effects) {
    nlohmann::ordered_json row = {{"kind", e.change.kind}, {"change", e.change.text}};
    if (e.change.resource.empty()) {
      row["set"] = e.change.overrides;
    } else {
      row["resource"] = e.change.resource;
      row["factor"] = e.change.factor;
    }
    if (e.refused.empty()) {
      row["step_time_s"] = e.step_time_s;
      row["saved_s"] = e.saved_s;
      row["memory_bytes"] = e.memory_bytes;
      row["fits"] = e.fits;
    } else {
      row["refused"] = e.refused;
    }
    json["changes"].push_back(std::move(row));
  }
  return json.dump(2) + "\n";
}

}  // namespace stepsim
