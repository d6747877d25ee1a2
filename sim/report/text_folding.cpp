#include "sim/report/text_folding.hpp"

#include <fmt/format.h>

#include "sim/report/table.hpp"
#include "sim/report/words.hpp"

namespace stepsim {
namespace {

constexpr std::size_t most_kinds = 24;  // of kinds that differ
constexpr std::size_t most_steps = 4;  // of one reason: its beginning and its root are always told

std::string reason_of(const RankKind& kind) {
  std::string text;
  const std::size_t n = kind.why.size();
  for (std::size_t i = 0; i < n; ++i) {
    if (n > most_steps && i >= 2 && i + 1 < n) {
      if (i == 2) text += ", ... and so on:";
      continue;
    }
    text += fmt::format("{}{}", i == 0 ? "" : n > most_steps && i + 1 == n ? " one " : ", which ", kind.why[i]);
  }
  return text;
}

std::string counted(std::size_t things, std::string_view what, std::size_t kinds) {
  return fmt::format("{} {} of {} kind{}", number_text(static_cast<double>(things)), what,
                     number_text(static_cast<double>(kinds)), kinds == 1 ? "" : "s");
}

}  // namespace

std::string folding_text(const FoldingReasons& reasons) {
  std::string text = wrap(fmt::format("Folding: {}, {}, {}; {} round{} of refinement", counted(reasons.ranks, "ranks", reasons.rank_kinds),
                                      counted(reasons.groups, "groups", reasons.group_kinds),
                                      counted(reasons.links, "links in use", reasons.link_kinds), reasons.rounds,
                                      reasons.rounds == 1 ? "" : "s"),
                          page_width, 2) + "\n";
  Table table({{"program", true, true}, {"ranks"}, {"first"}});
  std::vector<const RankKind*> differ;
  for (const RankKind& kind : reasons.kinds) {
    if (kind.unlike >= 0) {
      differ.push_back(&kind);
    } else {
      table.row({kind.program, number_text(kind.count), std::to_string(kind.first)});
    }
  }
  text += "Largest kind of each program\n" + table.text();
  if (differ.empty()) return text + "All ranks of a program are alike.\n";
  text += "Ranks that differ from the largest kind of their program\n";
  for (std::size_t i = 0; i < std::min(most_kinds, differ.size()); ++i) {
    const RankKind& kind = *differ[i];
    text += wrap(fmt::format("  rank {}{}, unlike rank {}: {}", kind.first,
                             kind.count == 1 ? "" : fmt::format(" and {} alike", number_text(kind.count - 1)), kind.unlike,
                             reason_of(kind)),
                 page_width, 4) + "\n";
  }
  if (differ.size() > most_kinds) text += fmt::format("  ({} more kinds)\n", number_text(static_cast<double>(differ.size() - most_kinds)));
  return text;
}

}  // namespace stepsim
