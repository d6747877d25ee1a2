#include "workloads/schedule_csv_cells.hpp"

#include <fmt/format.h>

#include <charconv>
#include <optional>

#include "workloads/pass_index.hpp"

namespace stepsim {

namespace {

constexpr std::string_view unmodelled[] = {"SEND_F", "RECV_F", "SEND_B", "RECV_B", "UNSHARD", "RESHARD", "REDUCE_GRAD"};

// Takes the number that `text` starts with off it.
std::optional<int> take_number(std::string_view& text) {
  constexpr int most = 1'000'000'000;  // so that one more still is a number
  int number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || number < 0 || number > most) return std::nullopt;
  text.remove_prefix(end - text.data());
  return number;
}

std::optional<PassKind> kind_from(char letter) {
  for (PassKind kind : {PassKind::forward, PassKind::backward, PassKind::input_gradient, PassKind::weight_gradient}) {
    if (letter_of(kind)[0] == letter) return kind;
  }
  return std::nullopt;
}

std::optional<Action> action_from(std::string_view cell) {
  Action action;
  const std::optional<int> stage = take_number(cell);
  if (!stage) return std::nullopt;
  action.stage = *stage;
  if (cell.starts_with('r')) {
    action.direction = 1;
    cell.remove_prefix(1);
  }
  const std::optional<PassKind> kind = cell.empty() ? std::nullopt : kind_from(cell[0]);
  if (!kind) return std::nullopt;
  action.kind = *kind;
  cell.remove_prefix(1);
  const std::optional<int> microbatch = take_number(cell);
  if (!microbatch || !cell.empty()) return std::nullopt;
  action.microbatch = *microbatch;
  return action;
}

// "3SEND_F1", "2UNSHARD"
bool is_unmodelled(std::string_view cell) {
  if (!take_number(cell)) return false;
  for (std::string_view name : unmodelled) {
    if (!cell.starts_with(name)) continue;
    std::string_view rest = cell.substr(name.size());
    if (rest.empty() || (take_number(rest) && rest.empty())) return true;
  }
  return false;
}

}  // namespace

std::string_view trimmed(std::string_view text) {
  const auto first = text.find_first_not_of(" \t\r\"");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t\r\"") - first + 1);
}

std::vector<std::string_view> split(std::string_view text, char at) {
  std::vector<std::string_view> parts;
  for (;;) {
    const auto end = text.find(at);
    parts.push_back(text.substr(0, end));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

std::string read_cell(std::string_view cell, std::vector<Action>& actions) {
  if (cell.empty() || is_unmodelled(cell)) return "";
  if (!cell.starts_with('(')) {
    const std::optional<Action> action = action_from(cell);
    if (!action) {
      return fmt::format("\"{}\" is no action: stage, F, B, I or W, microbatch, as in 7F3, or (0F7;7B3){}", cell,
                         overlap_action);
    }
    actions.push_back(*action);
    return "";
  }
  const auto close = cell.find(')');
  const std::vector<std::string_view> parts = split(cell.substr(1, close - 1), ';');
  if (close == std::string_view::npos || trimmed(cell.substr(close + 1)) != overlap_action || parts.size() != 2) {
    return fmt::format("\"{}\" is no overlapped pair: (0F7;7B3){}", cell, overlap_action);
  }
  for (std::string_view part : parts) {
    std::optional<Action> action = action_from(trimmed(part));
    if (!action) return fmt::format("\"{}\" in \"{}\" is no action, as in 7F3", part, cell);
    action->paired_with_next = part.data() == parts[0].data();
    actions.push_back(*action);
  }
  return "";
}

}  // namespace stepsim
