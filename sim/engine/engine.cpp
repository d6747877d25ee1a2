#include "sim/engine/engine.hpp"

#include <array>

#include "sim/engine/runs.hpp"

namespace stepsim {
namespace {

struct Row {
  std::string_view name;
  std::unique_ptr<Engine> (*make)();
};
constexpr std::array<Row, 2> kEngines{{{"simgrid", make_simgrid_engine}, {"ideal", make_ideal_engine}}};

}  // namespace

std::unique_ptr<Engine> make_engine(std::string_view name) {
  for (const Row& row : kEngines) {
    if (row.name == name) return row.make();
  }
  return nullptr;
}

std::vector<std::string> engine_names() {
  std::vector<std::string> names;
  for (const Row& row : kEngines) names.emplace_back(row.name);
  return names;
}

void require_sound(const StepGraph& graph) {
  const auto problems = problems_of(graph);
  if (problems.empty()) return;
  std::string text = "the step graph is not sound:";
  for (std::size_t i = 0; i < problems.size() && i < 10; ++i) text += "\n  " + problems[i];
  throw GraphError(text);
}

Timeline blank_timeline(const StepGraph& graph) {
  Timeline timeline;
  timeline.events = count_events(graph);
  for (const Rank& rank : graph.ranks) timeline.spans.emplace_back(graph.programs[rank.program].ops.size());
  return timeline;
}

std::vector<Span*> spans_of(Timeline& timeline) {
  std::vector<Span*> first;
  for (std::vector<Span>& spans : timeline.spans) first.push_back(spans.data());
  return first;
}

}  // namespace stepsim
