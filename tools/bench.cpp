// What a simulation costs: wall time, memory and events a second, and how they grow. Each row runs in a child of its
// own, so that its memory is its own; ratios compare rows of this one run.
//   build/release/bench [--unfolded]
#include <fmt/format.h>
#include <sys/resource.h>

#include <chrono>
#include <cstring>
#include <string>
#include <vector>

#include "sim/engine/child.hpp"
#include "sim/simulate.hpp"

namespace {

using namespace stepsim;

struct Row {
  std::string name;
  std::string experiment;
  std::vector<std::string> overrides;
  bool fold = true, elasticities = true;
};

struct Cost {
  double wall_s, rss_bytes, events, step_time_s, representatives;
};

Cost measure(const Row& row, const std::string& home) {
  SharedArray<Cost> cost(1);
  run_in_child([&] {
    const auto begin = std::chrono::steady_clock::now();
    Request request;
    request.experiment = row.experiment;
    request.overrides = row.overrides;
    request.home = home;
    Options options;
    options.fold = row.fold;
    options.elasticities = row.elasticities;
    const Simulation done = simulate(load(request), options);
    const std::chrono::duration<double> wall = std::chrono::steady_clock::now() - begin;
    struct rusage self{}, children{};
    getrusage(RUSAGE_SELF, &self);
    getrusage(RUSAGE_CHILDREN, &children);
    cost[0] = {wall.count(), 1024.0 * static_cast<double>(std::max(self.ru_maxrss, children.ru_maxrss)),
               static_cast<double>(done.timeline.events), done.timeline.end, static_cast<double>(done.graph.ranks.size())};
  });
  return cost[0];
}

}  // namespace

int main(int argc, char** argv) {
  const bool unfolded = argc > 1 && std::strcmp(argv[1], "--unfolded") == 0;
  const std::string home = find_home(argv[0], "");
  std::vector<Row> rows = {
      {"DualPipe, 2048 GPUs, elasticities included", "deepseek-v3-dualpipe", {}},
      {"the same, one run", "deepseek-v3-dualpipe", {}, true, false},
      {"ZeRO-3 hierarchical, 2048 GPUs, elasticities included", "deepseek-v3-zero3-hierarchical", {}},
      {"DualPipe, 2048 nodes = 16,384 GPUs, one run", "deepseek-v3-2048-nodes", {}, true, false},
  };
  if (unfolded) rows.push_back({"DualPipe, 2048 GPUs, unfolded, one run", "deepseek-v3-dualpipe", {}, false, false});
  fmt::print("{:<56} {:>8} {:>8} {:>6} {:>10} {:>10} {:>9}\n", "", "wall s", "RSS MB", "ranks", "events", "events/s", "step s");
  for (const Row& row : rows) {
    const Cost c = measure(row, home);
    fmt::print("{:<56} {:>8.2f} {:>8.0f} {:>6.0f} {:>10.0f} {:>10.0f} {:>9.3f}\n", row.name, c.wall_s, c.rss_bytes / 1e6,
               c.representatives, c.events, c.events / c.wall_s, c.step_time_s);
  }
  return 0;
}
