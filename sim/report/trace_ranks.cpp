#include "sim/report/trace_ranks.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <set>

#include "sim/base/errors.hpp"
#include "sim/report/calls.hpp"

namespace stepsim {
namespace {

Problem wrong(std::string reason) {
  return {"", 0, "--trace-ranks", std::move(reason)};
}

std::optional<int> whole(std::string_view text) {
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < 0) return std::nullopt;
  return value;
}

// "7" or "0-15"
std::optional<std::pair<int, int>> range(std::string_view text) {
  const auto dash = text.find('-');
  const auto first = whole(text.substr(0, dash));
  const auto last = dash == std::string_view::npos ? first : whole(text.substr(dash + 1));
  if (!first || !last || *first > *last) return std::nullopt;
  return std::pair{*first, *last};
}

}  // namespace

RankChoice parse_rank_choice(const std::string& text) {
  constexpr std::string_view stage = "stage:";
  RankChoice choice{.text = text, .ranks = {}, .stages = {}};
  std::vector<Problem> problems;
  for (std::size_t begin = 0; begin <= text.size();) {
    const auto end = std::min(text.find(',', begin), text.size());
    const std::string_view part = std::string_view(text).substr(begin, end - begin);
    begin = end + 1;
    if (part == "all") {
      choice.all = true;
      continue;
    }
    const bool of_stage = part.starts_with(stage);
    const auto found = range(of_stage ? part.substr(stage.size()) : part);
    if (!found) {
      problems.push_back(wrong(fmt::format("\"{}\" is no rank: 7, 0-15, stage:3, stage:0-3 or all", part)));
    } else {
      (of_stage ? choice.stages : choice.ranks).push_back(*found);
    }
  }
  if (!problems.empty()) throw InputError(problems);
  return choice;
}

void require_ranks(const RankChoice& choice, int ranks, int stages) {
  std::vector<Problem> problems;
  const auto check = [&](const std::vector<std::pair<int, int>>& ranges, int count, const char* what) {
    for (const auto& [first, last] : ranges) {
      if (last >= count) problems.push_back(wrong(fmt::format("there is no {} {}: 0 to {}", what, last, count - 1)));
    }
  };
  check(choice.ranks, ranks, "rank");
  check(choice.stages, stages, "stage");
  if (!problems.empty()) throw InputError(problems);
}

std::vector<std::size_t> chosen_ranks(const RankChoice& choice, const StepGraph& graph,
                                      const std::vector<std::int32_t>& rank_kind) {
  std::set<std::size_t> chosen;
  for (const auto& [first, last] : choice.ranks) {
    for (int r = first; r <= last; ++r) {
      const auto real = static_cast<std::size_t>(r);
      chosen.insert(rank_kind.empty() ? real : static_cast<std::size_t>(rank_kind.at(real)));
    }
  }
  for (std::size_t r = 0; r < graph.ranks.size(); ++r) {
    const int stage = program_of(graph, r).pipeline_rank;
    const bool named = std::any_of(choice.stages.begin(), choice.stages.end(),
                                   [&](const auto& s) { return s.first <= stage && stage <= s.second; });
    if (choice.all || named) chosen.insert(r);
  }
  return {chosen.begin(), chosen.end()};
}

}  // namespace stepsim
