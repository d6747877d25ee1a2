#include "sim/graph/repeat.hpp"

#include <algorithm>

#include "sim/graph/fold.hpp"

namespace stepsim {
namespace {

OpTable repeated(const Program& program, int times) {
  const auto count = static_cast<std::int32_t>(program.ops.size());
  const auto is_message = [&](std::uint8_t stream) { return program.streams[stream].dimension == Dimension::pipeline; };
  std::vector<std::int32_t> first(program.streams.size(), -1), last(program.streams.size(), -1);  // [stream] op of a step
  for (std::int32_t i = 0; i < count; ++i) {
    const std::uint8_t stream = program.ops[static_cast<std::size_t>(i)].stream;
    if (first[stream] < 0) first[stream] = i;
    last[stream] = i;
  }
  OpTable ops;
  ops.reserve(program.ops.size() * static_cast<std::size_t>(times));
  for (int step = 0; step < times; ++step) {
    const std::int32_t offset = step * count;
    for (std::int32_t i = 0; i < count; ++i) {
      Op op = program.ops.copy(static_cast<std::size_t>(i));
      for (std::int32_t& before : op.after) before += offset;
      if (step > 0 && i == first[op.stream] && !is_message(op.stream)) {
        for (std::size_t s = 0; s < last.size(); ++s) {
          if (s != op.stream && last[s] >= 0 && !is_message(static_cast<std::uint8_t>(s))) op.after.push_back(last[s] + offset - count);
        }
      }
      ops.push_back(op);
    }
  }
  return ops;
}

}  // namespace

StepGraph repeated(const StepGraph& graph, int times) {
  StepGraph all = graph;
  for (Program& program : all.programs) program.ops = repeated(program, times);
  return all;
}

bool repeats(const StepGraph& graph) {
  return folds(graph) && graph.reroutings.empty() &&
         std::all_of(graph.ranks.begin(), graph.ranks.end(), [](const Rank& rank) { return rank.speed_changes.empty(); }) &&
         std::all_of(graph.links.begin(), graph.links.end(), [](const GraphLink& link) { return link.capacity_changes.empty(); });
}

}  // namespace stepsim
