// What an op waits for on its own rank. Kept by program, not by rank: ranks share programs.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/graph/step_graph.hpp"

namespace stepsim {

class OrderIndex {
 public:
  explicit OrderIndex(const StepGraph& graph) : graph_(graph) {
    for (const Program& program : graph.programs) {
      std::vector<std::int32_t> latest(program.streams.size(), -1);
      auto& before = before_.emplace_back();
      for (std::size_t i = 0; i < program.ops.size(); ++i) {
        auto& previous = latest[program.ops[i].stream];
        before.push_back(previous);
        previous = static_cast<std::int32_t>(i);
      }
    }
  }

  // The op before it on its stream, then the ops in `after`.
  template <typename Visit>
  void each_before(std::size_t program, std::int32_t op, Visit visit) const {
    const auto i = static_cast<std::size_t>(op);
    if (before_[program][i] >= 0) visit(before_[program][i]);
    for (const auto candidate : graph_.programs[program].ops[i].after) visit(candidate);
  }

  // [op] how many ops wait for it, counted once for each reason.
  std::vector<std::int32_t> followers(std::size_t program) const {
    const auto count = graph_.programs[program].ops.size();
    std::vector<std::int32_t> result(count, 0);
    for (std::size_t i = 0; i < count; ++i) {
      each_before(program, static_cast<std::int32_t>(i),
                  [&](std::int32_t before) { ++result[static_cast<std::size_t>(before)]; });
    }
    return result;
  }

 private:
  const StepGraph& graph_;
  std::vector<std::vector<std::int32_t>> before_;  // [program][op]
};

}  // namespace stepsim
