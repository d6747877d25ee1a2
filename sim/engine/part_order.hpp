// Which parts of a pattern wait for which (Part::after, Part::behind).
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <vector>

#include "sim/graph/step_graph.hpp"

namespace stepsim {

class PartOrder {
 public:
  struct Progress {                   // of one call
    std::vector<std::int32_t> waits;  // [part] parts that it still comes after
    std::vector<bool> done, held;     // [part] held: latency paid, but the part before it still moves
  };

  explicit PartOrder(const std::vector<Part>& parts) : successors_(parts.size()), followers_(parts.size()) {
    for (std::size_t p = 0; p < parts.size(); ++p) {
      const auto part = static_cast<std::int32_t>(p);
      waits_.push_back(static_cast<std::int32_t>(parts[p].after.size()));
      behind_.push_back(parts[p].behind);
      for (const std::int32_t before : parts[p].after) successors_[before].push_back(part);
      if (parts[p].behind >= 0) followers_[parts[p].behind].push_back(part);
    }
  }

  void begin(Progress& progress) const {
    progress.waits = waits_;
    progress.done.assign(waits_.size(), false);
    progress.held.assign(waits_.size(), false);
  }
  // Called when a part's latency is paid. False: its bytes are held until the part before it has ended.
  bool may_move(std::int32_t part, Progress& progress) const {
    progress.held[part] = behind_[part] >= 0 && !progress.done[behind_[part]];
    return !progress.held[part];
  }
  void end(std::int32_t part, Progress& progress) const { progress.done[part] = true; }
  const std::vector<std::int32_t>& successors(std::int32_t part) const { return successors_[part]; }
  const std::vector<std::int32_t>& followers(std::int32_t part) const { return followers_[part]; }

 private:
  std::vector<std::int32_t> waits_, behind_;
  std::vector<std::vector<std::int32_t>> successors_, followers_;
};

class PartOrders {
 public:
  explicit PartOrders(const StepGraph& graph) {
    const auto waits = [](const Part& part) { return !part.after.empty() || part.behind >= 0; };
    for (const Group& group : graph.groups) {
      auto& of_group = orders_.emplace_back();
      for (const Pattern& pattern : group.patterns) {
        const bool any = std::any_of(pattern.parts.begin(), pattern.parts.end(), waits);
        of_group.push_back(any ? std::make_unique<PartOrder>(pattern.parts) : nullptr);
      }
    }
  }
  // Null when no part of the pattern waits for another.
  const PartOrder* of(GroupId group, std::int32_t pattern) const { return orders_[group][pattern].get(); }

 private:
  std::vector<std::vector<std::unique_ptr<PartOrder>>> orders_;  // [group][pattern]
};

}  // namespace stepsim
