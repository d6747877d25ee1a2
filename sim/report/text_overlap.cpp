// What communication costs, and the longest stretches of the critical path.
#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "sim/report/table.hpp"
#include "sim/report/text_sections.hpp"
#include "sim/report/words.hpp"

namespace stepsim {
namespace {

// "layer 12 forward x 3 (1.2 ms)"
std::string event_text(const PathEvent& event) {
  std::string text = event.name;
  if (event.kind == "compute" && event.phase != "other") text += " " + event.phase;
  if (event.layer >= 0) text += fmt::format(", layer {}", event.layer);
  if (event.microbatch >= 0) text += fmt::format(", microbatch {}", event.microbatch);
  if (event.count > 1) text += fmt::format(", {} events", event.count);
  if (!event.wire.empty()) text += " on " + event.wire;
  return fmt::format("{}: {}", text, seconds_text(event.seconds));
}

}  // namespace

std::string overlap_section(const Report& report) {
  if (report.overlap.empty()) return "";
  constexpr std::size_t most_items = 16;
  Table table({{"communication", true, true},
               {"dimension", true, true},
               {"hidden, free"},
               {"hidden, moved"},
               {"exposed, free"},
               {"exposed, paid"},
               {"slack"}});
  const std::size_t shown = std::min(most_items, report.overlap.size());
  for (std::size_t i = 0; i < shown; ++i) {
    const OverlapRow& row = report.overlap[i];
    table.row({row.name, row.dimension, seconds_text(row.hidden_free_s), seconds_text(row.hidden_critical_s),
               seconds_text(row.exposed_free_s), seconds_text(row.exposed_critical_s),
               seconds_text(row.mean_slack_s)});
  }
  std::string text = "What communication costs (mean of all GPUs; slack: mean of its calls)\n" + table.text();
  if (report.overlap.size() > shown) {
    text += fmt::format("  ({} more kinds not shown; --json has all)\n", report.overlap.size() - shown);
  }
  return text +
         wrap(
             "  Hidden: under compute. Free: it could grow by its slack and the step would not. Moved: hidden here, "
             "but whatever delays it is waited for elsewhere. Paid: exposed, and the step waits for it.",
             page_width, 2) +
         "\n";
}

std::string chains_section(const Report& report) {
  constexpr std::size_t most_chains = 3, most_events = 4;
  const auto& chains = report.critical_path.chains;
  if (chains.empty()) return "";
  std::string text = "Longest stretches of the critical path on one rank\n";
  for (std::size_t c = 0; c < std::min(most_chains, chains.size()); ++c) {
    const PathChain& chain = chains[c];
    std::vector<const PathEvent*> events;
    for (const PathEvent& e : chain.events) events.push_back(&e);
    std::stable_sort(events.begin(), events.end(),
                     [](const PathEvent* a, const PathEvent* b) { return a->seconds > b->seconds; });
    std::string line =
        fmt::format("  rank {}, {} from {} on", chain.rank, seconds_text(chain.seconds), seconds_text(chain.begin_s));
    for (std::size_t e = 0; e < std::min(most_events, events.size()); ++e) {
      fmt::format_to(std::back_inserter(line), "{}{}", e == 0 ? "; longest: " : "; ", event_text(*events[e]));
    }
    text += wrap(line, page_width, 4) + "\n";
  }
  return text;
}

}  // namespace stepsim
