#include "workloads/grid.hpp"

#include <cstdint>
#include <unordered_map>

namespace stepsim {
namespace {

struct Digit {
  int Place::* digit;
  int size;
};

// Reads a rank as a number in mixed base, fastest digit first.
void read_digits(int rank, const std::vector<Digit>& digits, Place& place) {
  for (const Digit& d : digits) {
    place.*d.digit = rank % d.size;
    rank /= d.size;
  }
}

std::vector<Digit> dense_digits(const Grid& grid, const ParallelPlan& plan) {
  std::vector<Digit> digits;
  for (const Axis axis : plan.parallel.order) {
    switch (axis) {
      case Axis::tensor: digits.push_back({&Place::tensor, grid.tensor}); break;
      case Axis::context: digits.push_back({&Place::context, grid.context}); break;
      case Axis::data: digits.push_back({&Place::data, grid.data}); break;
      case Axis::pipeline: digits.push_back({&Place::pipeline, grid.pipeline}); break;
      case Axis::expert: break;
    }
  }
  return digits;
}

std::vector<Digit> expert_digits(const Grid& grid, const ParallelPlan& plan) {
  std::vector<Digit> digits;
  for (const Axis axis : plan.parallel.order) {
    switch (axis) {
      case Axis::tensor: digits.push_back({&Place::expert_tensor, grid.expert_tensor}); break;
      case Axis::expert: digits.push_back({&Place::expert, grid.expert}); break;
      case Axis::data: digits.push_back({&Place::expert_data, grid.expert_data}); break;
      case Axis::pipeline: digits.push_back({&Place::pipeline, grid.pipeline}); break;
      case Axis::context: break;
    }
  }
  return digits;
}

}  // namespace

std::vector<std::vector<RankId>> Grid::by_pipeline() const {
  std::vector<std::vector<RankId>> ranks(static_cast<std::size_t>(pipeline));
  for (int r = 0; r < world; ++r) ranks[static_cast<std::size_t>(place[r].pipeline)].push_back(r);
  return ranks;
}

Grid make_grid(const ParallelPlan& plan, int world) {
  const Parallel& p = plan.parallel;
  Grid grid;
  grid.world = world;
  grid.tensor = p.tensor;
  grid.context = p.context;
  grid.data = p.data;
  grid.pipeline = p.pipeline;
  grid.expert_tensor = p.expert_tensor;
  grid.expert = p.expert;
  grid.expert_data = world / (p.expert_tensor * p.expert * p.pipeline);
  const auto dense = dense_digits(grid, plan);
  const auto expert = expert_digits(grid, plan);
  for (int r = 0; r < world; ++r) {
    Place place;
    read_digits(r, expert, place);
    const int stage = place.pipeline;
    read_digits(r, dense, place);
    grid.pipelines_agree = grid.pipelines_agree && place.pipeline == stage;
    grid.place.push_back(place);
  }
  return grid;
}

std::vector<std::vector<RankId>> groups_by(const Grid& grid, GroupKey key) {
  constexpr int kBits = 21;  // more ranks than any cluster has
  std::unordered_map<std::uint64_t, std::size_t> index;
  std::vector<std::vector<RankId>> groups;
  for (int r = 0; r < grid.world; ++r) {
    std::uint64_t number = 0;
    for (const int digit : key(grid.place[r])) number = number << kBits | static_cast<std::uint64_t>(digit);
    const auto [it, fresh] = index.try_emplace(number, groups.size());
    if (fresh) groups.emplace_back();
    groups[it->second].push_back(r);
  }
  return groups;
}

std::vector<RankId> group_of_first(const Grid& grid, GroupKey key) {
  std::vector<RankId> group;
  for (int r = 0; r < grid.world; ++r) {
    if (key(grid.place[r]) == key(grid.place[0])) group.push_back(r);
  }
  return group;
}

GroupDigits tensor_key(const Place& p) { return {p.pipeline, p.data, p.context}; }
GroupDigits context_key(const Place& p) { return {p.pipeline, p.data, p.tensor}; }
GroupDigits expert_key(const Place& p) { return {p.pipeline, p.expert_data, p.expert_tensor}; }
GroupDigits expert_tensor_key(const Place& p) { return {p.pipeline, p.expert_data, p.expert}; }
GroupDigits dense_replicas_key(const Place& p) { return {p.pipeline, p.tensor}; }
GroupDigits expert_replicas_key(const Place& p) { return {p.pipeline, p.expert, p.expert_tensor}; }

}  // namespace stepsim
