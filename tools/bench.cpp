// What a simulation costs: wall time, memory and events a second, and how they grow. Each row runs in a child of its
// own, so that its memory is its own; ratios compare rows of this one run.
//   build/release/tools/bench [--unfolded]
//   build/release/tools/bench --sweep [POINTS]   what a point of a sweep costs, and whether memory grows with their number
#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "sim/engine/child.hpp"
#include "sim/explore/sweep.hpp"
#include "sim/explore/workers.hpp"
#include "sim/simulate.hpp"

namespace {

using namespace stepsim;

struct Case {
  std::string name;
  std::string experiment;
  std::vector<std::string> overrides;
  bool fold = true, elasticities = true;
  std::string cluster = "";  // another than the experiment's
};

struct Cost {
  double wall_s, rss_bytes, events, step_time_s, representatives;
};

Cost measure(const Case& row, const std::string& home) {
  SharedArray<Cost> cost(1);
  run_in_child([&] {
    const auto begin = std::chrono::steady_clock::now();
    Request request;
    request.experiment = row.experiment;
    request.overrides = row.overrides;
    request.cluster = row.cluster;
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

// A sweep into a store in a file, in a child of its own.
struct SweepCost {
  double wall_s, cpu_s, own_rss_bytes, worker_rss_bytes, simulated;
};

double seconds_of(const struct timeval& t) { return static_cast<double>(t.tv_sec) + 1e-6 * static_cast<double>(t.tv_usec); }

SweepCost measure(const Sweep& sweep) {
  SharedArray<SweepCost> cost(1);
  run_in_child([&] {
    const auto begin = std::chrono::steady_clock::now();
    const std::string file = (std::filesystem::temp_directory_path() / fmt::format("stepsim-bench-{}.sqlite", getpid())).string();
    std::filesystem::remove(file);
    Store store(file, Store::Use::write);
    SweepOptions options;
    options.simulate.elasticities = false;
    options.workers = usable_cores();
    const SweepCounts counts = run_sweep(sweep, store, options);
    const std::chrono::duration<double> wall = std::chrono::steady_clock::now() - begin;
    struct rusage self{}, children{};
    getrusage(RUSAGE_SELF, &self);
    getrusage(RUSAGE_CHILDREN, &children);
    const double cpu = seconds_of(self.ru_utime) + seconds_of(self.ru_stime) + seconds_of(children.ru_utime) + seconds_of(children.ru_stime);
    cost[0] = {wall.count(), cpu, 1024.0 * static_cast<double>(self.ru_maxrss), 1024.0 * static_cast<double>(children.ru_maxrss),
               static_cast<double>(counts.simulated)};
    std::filesystem::remove(file);
  });
  return cost[0];
}

Sweep sweep_of(std::string name, std::size_t size, std::function<Request(std::size_t)> request) {
  return {std::move(name), size, [=](std::size_t i) { return SweepPoint{{static_cast<std::int64_t>(i), fmt::format("{}", i), {}}, request(i)}; }};
}

// A thousand distinct plans, as one sweeps them before a training run: every combination that is legal and a few that are
// refused.
Sweep gpt_plans(const std::string& home) {
  std::vector<Request> requests;
  for (const int nodes : {32, 64, 128}) {
    for (const int tensor : {2, 4, 8}) {
      for (const int pipeline : {2, 4, 8, 16}) {
        for (const int microbatch : {1, 2, 4}) {
          for (const char* schedule : {"1f1b", "zb-h1", "gpipe"}) {
            for (const char* recompute : {"none", "[norm, swiglu]", "full"}) {
              Request request;
              request.home = home;
              request.experiment = "gpt-3-175b-pipeline";
              request.overrides = {fmt::format("cluster.nodes={}", nodes), fmt::format("plan.parallel.tensor={}", tensor),
                                   fmt::format("plan.parallel.pipeline={}", pipeline), fmt::format("plan.schedule={}", schedule),
                                   fmt::format("plan.batch.microbatch_sequences={}", microbatch),
                                   fmt::format("plan.recompute={}", recompute), "plan.batch.global_sequences=1024"};
              requests.push_back(request);
            }
          }
        }
      }
    }
  }
  return sweep_of("gpt", requests.size(), [=](std::size_t i) { return requests[i]; });
}

// Plans of DeepSeek-V3 on 2048 GPUs whose exchanges overlap with computing and share the network with everything else.
Sweep dualpipe_plans(const std::string& home) {
  std::vector<Request> requests;
  for (const int pipeline : {8, 16}) {
    for (const int expert : {32, 64, 128}) {
      for (const int context : {1, 2}) {
        for (const char* schedule : {"dualpipe", "dualpipev"}) {
          for (const char* recompute : {"none", "[norm, swiglu]"}) {
            Request request;
            request.home = home;
            request.experiment = "deepseek-v3-dualpipe";
            request.overrides = {fmt::format("plan.parallel.pipeline={}", pipeline), fmt::format("plan.parallel.expert={}", expert),
                                 fmt::format("plan.parallel.context={}", context), fmt::format("plan.schedule={}", schedule),
                                 fmt::format("plan.recompute={}", recompute)};
            requests.push_back(request);
          }
        }
      }
    }
  }
  return sweep_of("dualpipe", requests.size(), [=](std::size_t i) { return requests[i]; });
}

// Tiny steps that differ in their batch.
Sweep tiny_steps(const std::string& home, int points) {
  return sweep_of("tiny", static_cast<std::size_t>(points), [=](std::size_t i) {
    Request request;
    request.home = home;
    request.experiment = "gpt-3-175b-pipeline";
    request.overrides = {"cluster.nodes=1", "model.layers=2", "plan.parallel.pipeline=1", "plan.parallel.tensor=8",
                         "plan.batch.global_sequences=1", fmt::format("plan.batch.sequence_length={}", 128 + i)};
    return request;
  });
}

int bench_sweeps(const std::string& home, int points) {
  const auto show = [](const std::string& name, const SweepCost& c) {
    fmt::print("{:<56} {:>8.2f} {:>8.1f} {:>10.0f} {:>8.0f} {:>8.0f}\n", name, c.wall_s, 1e3 * c.cpu_s / c.simulated,
               60 * c.simulated / c.wall_s, c.own_rss_bytes / 1e6, c.worker_rss_bytes / 1e6);
  };
  fmt::print("{:<56} {:>8} {:>8} {:>10} {:>8} {:>8}\n", "", "wall s", "CPU ms", "points/min", "RSS MB", "worker");
  const SweepCost gpt = measure(gpt_plans(home));
  show(fmt::format("{:.0f} plans of GPT-3 175B, 256 to 1024 GPUs", gpt.simulated), gpt);
  const SweepCost dualpipe = measure(dualpipe_plans(home));
  show(fmt::format("{:.0f} overlapped plans of DeepSeek-V3, 2048 GPUs", dualpipe.simulated), dualpipe);
  for (const int n : {points / 10, points}) {
    const SweepCost tiny = measure(tiny_steps(home, n));
    show(fmt::format("{:.0f} tiny steps", tiny.simulated), tiny);
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string_view what = argc > 1 ? argv[1] : "";
  const int points = argc > 2 ? std::atoi(argv[2]) : 10'000;
  if ((what != "" && what != "--sweep" && what != "--unfolded") || argc > (what == "--sweep" ? 3 : 2) || points < 10) {
    fmt::print(stderr, "usage: bench [--unfolded | --sweep [POINTS, 10 or more]]\n");
    return 2;
  }
  if (what == "--sweep") {
    return bench_sweeps(find_home(argv[0], ""), points);
  }
  const bool unfolded = what == "--unfolded";
  const std::string home = find_home(argv[0], "");
  std::vector<Case> rows = {
      {"DualPipe, 2048 GPUs, elasticities included", "deepseek-v3-dualpipe", {}},
      {"the same, one run", "deepseek-v3-dualpipe", {}, true, false},
      {"ZeRO-3 hierarchical, 2048 GPUs, elasticities included", "deepseek-v3-zero3-hierarchical", {}},
      {"DualPipe, 2048 nodes = 16,384 GPUs, one run", "deepseek-v3-2048-nodes", {}, true, false},
      {"ZeRO-3 flat, all pairs of 16,384 GPUs, one run", "deepseek-v3-zero3-flat", {"plan.batch.global_sequences=131072"}, true, false, "h800-2048x8"},
  };
  for (const int replicas : {1, 2, 8, 32, 128}) {
    rows.push_back({fmt::format("GPT-3 175B TP8 PP16, {} replicas, one run", replicas), "gpt-3-175b-pipeline",
                    {fmt::format("cluster.nodes={}", 16 * replicas), fmt::format("plan.batch.global_sequences={}", 64 * replicas)},
                    true, false});
    rows.back().cluster = "h800-2048x8";
  }
  if (unfolded) rows.push_back({"DualPipe, 2048 GPUs, unfolded, one run", "deepseek-v3-dualpipe", {}, false, false});
  fmt::print("{:<56} {:>8} {:>8} {:>6} {:>10} {:>10} {:>9}\n", "", "wall s", "RSS MB", "ranks", "events", "events/s", "step s");
  for (const Case& row : rows) {
    const Cost c = measure(row, home);
    fmt::print("{:<56} {:>8.2f} {:>8.0f} {:>6.0f} {:>10.0f} {:>10.0f} {:>9.3f}\n", row.name, c.wall_s, c.rss_bytes / 1e6,
               c.representatives, c.events, c.events / c.wall_s, c.step_time_s);
  }
  return 0;
}
