// Memory by kind and stage, in the terminal report.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "sim/report/derived.hpp"
#include "sim/report/table.hpp"
#include "sim/report/text_sections.hpp"
#include "sim/report/words.hpp"

namespace stepsim {
namespace {

struct StageMemory {
  int stage = 0, ranks = 0;
  std::vector<double> bytes;  // [kind]

  double total() const {
    double sum = 0;
    for (const double b : bytes) sum += b;
    return sum;
  }
};

using Ranks = std::vector<std::vector<std::pair<std::string, double>>>;  // [rank] bytes by kind

std::vector<std::string> names_of(const Ranks& ranks) {
  std::vector<std::string> kinds;
  for (const auto& rank : ranks) {
    for (const auto& [kind, bytes] : rank) {
      if (bytes > 0 && std::find(kinds.begin(), kinds.end(), kind) == kinds.end()) kinds.push_back(kind);
    }
  }
  return kinds;
}

// One row for all ranks of a stage whose peaks are alike.
std::vector<StageMemory> stages_of(const Report& report, const Ranks& ranks, const std::vector<std::string>& kinds) {
  std::vector<StageMemory> stages;
  std::map<std::pair<int, std::vector<double>>, std::size_t> seen;
  for (std::size_t r = 0; r < std::min(report.ranks.size(), ranks.size()); ++r) {
    std::vector<double> bytes(kinds.size(), 0);
    for (std::size_t k = 0; k < kinds.size(); ++k) {
      for (const auto& [kind, value] : ranks[r]) bytes[k] += kind == kinds[k] ? value : 0;
    }
    const auto [found, isnew] = seen.try_emplace({report.ranks[r].stage, bytes}, stages.size());
    if (isnew) stages.push_back({report.ranks[r].stage, 0, std::move(bytes)});
    stages[found->second].ranks += report.ranks[r].count;
  }
  return stages;
}

std::string gigabytes(double bytes) {
  return fmt::format("{:.2f}", bytes / 1e9);
}

Table make_table(const std::vector<StageMemory>& stages, std::size_t shown, const std::vector<std::string>& titles,
                 const std::vector<std::vector<std::size_t>>& columns) {
  std::vector<Column> head{{"stage"}, {"ranks"}, {"peak"}};
  for (const std::string& title : titles) head.push_back({title});
  Table table(std::move(head));
  for (std::size_t s = 0; s < shown; ++s) {
    std::vector<std::string> cells{std::to_string(stages[s].stage), number_text(stages[s].ranks),
                                   gigabytes(stages[s].total())};
    for (const auto& column : columns) {
      double sum = 0;
      for (const std::size_t kind : column) sum += stages[s].bytes[kind];
      cells.push_back(gigabytes(sum));
    }
    table.row(std::move(cells));
  }
  return table;
}

// Kinds become columns, the smallest ones merged into "other" until the page holds them.
std::string fitted(const std::vector<StageMemory>& stages, std::size_t shown, const std::vector<std::string>& kinds) {
  std::vector<std::pair<double, std::size_t>> by_size;
  for (std::size_t k = 0; k < kinds.size(); ++k) {
    double most = 0;
    for (const StageMemory& stage : stages) most = std::max(most, stage.bytes[k]);
    by_size.emplace_back(most, k);
  }
  std::sort(by_size.begin(), by_size.end());
  for (std::size_t merged = 0;; merged = merged == 0 ? 2 : merged + 1) {
    std::vector<std::string> titles;
    std::vector<std::vector<std::size_t>> columns;
    std::vector<std::size_t> other;
    for (std::size_t k = 0; k < std::min(merged, by_size.size()); ++k) other.push_back(by_size[k].second);
    for (std::size_t k = 0; k < kinds.size(); ++k) {
      if (std::find(other.begin(), other.end(), k) != other.end()) continue;
      titles.push_back(kinds[k]);
      columns.push_back({k});
    }
    if (!other.empty()) {
      titles.emplace_back("other");
      columns.push_back(other);
    }
    const Table table = make_table(stages, shown, titles, columns);
    if (table.width() <= page_width || merged >= kinds.size()) return table.text();
  }
}

std::string section(const Report& report, const Ranks& ranks, const std::string& title) {
  constexpr std::size_t most_stages = 16;
  const auto kinds = names_of(ranks);
  auto stages = stages_of(report, ranks, kinds);
  if (stages.empty() || kinds.empty()) return "";
  if (stages.size() > most_stages) {  // the fullest
    std::stable_sort(stages.begin(), stages.end(),
                     [](const StageMemory& a, const StageMemory& b) { return a.total() > b.total(); });
  }
  const std::size_t shown = std::min(most_stages, stages.size());
  std::string text = title + "\n" + fitted(stages, shown, kinds);
  if (stages.size() > shown)
    text += fmt::format("  (the fullest; {} more not shown; --json has all)\n", stages.size() - shown);
  return text;
}

// The largest of each kind over the ranks.
std::string reserved_line(const Report& report) {
  std::map<std::string, double> most;
  for (const auto& rank : report.facts.reserved) {
    for (const auto& [kind, bytes] : rank) most[kind] = std::max(most[kind], bytes);
  }
  std::string list;
  for (const auto& [kind, name] : {std::pair("context", "the CUDA context"), std::pair("communicators", "communicators"),
                                   std::pair("fragmentation", "fragmentation")}) {
    if (most[kind] > 0) list += fmt::format("{}{} {}", list.empty() ? "" : ", ", name, bytes_text(most[kind]));
  }
  if (list.empty()) return "";
  return wrap(fmt::format("  Beside these, in no peak: {} (assumption; plan.memory)", list), page_width, 2) + "\n";
}

}  // namespace

std::string memory_section(const Report& report) {
  std::string title = "Memory at its peak, GB";
  if (report.facts.gpu_memory_bytes > 0)
    title += fmt::format(" (a GPU has {})", gigabytes(report.facts.gpu_memory_bytes));
  const std::string text = section(report, report.facts.memory, title);
  return text.empty() ? text : text + reserved_line(report);
}

std::string activations_section(const Report& report) {
  return section(report, report.facts.activation_parts, "Activations kept at that peak, by part, GB");
}

std::string fitting_section(const std::vector<FittingChange>& changes) {
  if (changes.empty()) return "";
  Table table({{"change", true}, {"peak"}, {"step, estimated"}});
  for (const FittingChange& change : changes) {
    std::string sets;
    for (const std::string& set : change.sets) {
      const bool plain = set.find_first_of("[ ") == std::string::npos;
      sets += fmt::format("{}--set {}", sets.empty() ? "" : " ", plain ? set : "'" + set + "'");
    }
    const double percent = 100 * change.slower;
    table.row({sets, bytes_text(change.peak.value), fmt::format("{:+.1f} %", percent == 0 ? 0.0 : percent)});
  }
  return "It would fit with one of these (by planned times of passes and collectives; not simulated)\n" + table.text();
}

}  // namespace stepsim
