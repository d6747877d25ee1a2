#include "sim/stress.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <map>
#include <numeric>

#include "sim/engine/child.hpp"
#include "sim/engine/engine.hpp"
#include "sim/folded_step.hpp"
#include "sim/settle.hpp"
#include "workloads/check.hpp"

namespace stepsim {
namespace {

constexpr double kNoise = 1e-3;  // of the step

// What a child hands back.
struct Outcome {
  double step_time_s;
  int waiting_ranks, for_rank;
  bool stuck;
  char failure[240];
};

Inputs under(const Inputs& inputs, const Draw& draw) {
  Inputs changed = inputs;
  Reading reading;
  changed.cluster = apply(reading, inputs.planned_on, draw.scenario);
  reading.throw_if_any();
  if (draw.zipf > 0) {
    changed.plan.routing.kind = Routing::Balance::zipf;
    changed.plan.routing.zipf = draw.zipf;
    changed.plan.routing.balance = fmt::format("zipf:{:g}", draw.zipf);
  }
  return changed;
}

struct Ran {
  Timeline timeline;
  StepGraph graph;
};

Ran run(const Inputs& inputs, const Options& options) {
  Ran ran;
  ran.graph = folded_step(inputs, options).graph;
  ran.timeline = make_engine(options.engine)->run(ran.graph);
  return ran;
}

// Ranks of one kind that wait in collectives.
struct Waiting {
  int count = 0, stage = 0;
  double wait_s = 0;  // of each
};
std::map<int, Waiting> waiting_of(const std::vector<WaitRow>& rows) {
  std::map<int, Waiting> kinds;
  for (const WaitRow& row : rows) {
    Waiting& kind = kinds[row.rank];
    kind.count = row.count;
    kind.stage = row.stage;
    kind.wait_s += row.wait_s;
  }
  return kinds;
}

// Wait of each real rank's kind is compared with what ranks at its place in the pipeline wait anyway.
std::map<int, double> waits_by_stage(const Ran& ran) {
  std::map<int, double> most;
  for (const auto& [rank, kind] : waiting_of(who_waits(ran.graph, ran.timeline))) most[kind.stage] = std::max(most[kind.stage], kind.wait_s);
  return most;
}

Outcome outcome_of(const Ran& ran, const std::map<int, double>& usual) {
  Outcome outcome{};
  outcome.step_time_s = ran.timeline.end;
  outcome.for_rank = -1;
  const std::vector<WaitRow> rows = who_waits(ran.graph, ran.timeline);
  for (const auto& [rank, kind] : waiting_of(rows)) {
    const auto before = usual.find(kind.stage);
    if (kind.wait_s > (before == usual.end() ? 0 : before->second) + kNoise * ran.timeline.end) outcome.waiting_ranks += kind.count;
  }
  if (outcome.waiting_ranks == 0) return outcome;
  // A slow rank behind those that come late, where there is one: it is what the scenario did; else who comes late.
  const bool slow = std::any_of(rows.begin(), rows.end(), [](const WaitRow& row) { return row.slow_rank >= 0; });
  std::map<int, double> blamed;
  for (const WaitRow& row : rows) {
    if (!slow || row.slow_rank >= 0) blamed[slow ? row.slow_rank : row.for_rank] += row.wait_s * row.count;
  }
  double most = 0;
  for (const auto& [rank, seconds] : blamed) {
    if (seconds > most) {
      most = seconds;
      outcome.for_rank = rank;
    }
  }
  return outcome;
}

Outcome stuck(const std::string& why) {
  Outcome outcome{};
  outcome.stuck = true;
  outcome.for_rank = -1;
  std::strncpy(outcome.failure, why.c_str(), sizeof outcome.failure - 1);
  return outcome;
}

}  // namespace

StressResult stress(const Inputs& given, const Options& options, const std::vector<Draw>& draws) {
  Inputs inputs = given;
  inputs.cluster = inputs.planned_on;
  inputs = settle(inputs, options);
  StressResult result;
  result.experiment = inputs.name;

  SharedArray<Outcome> outcomes(draws.size());
  const Ran nominal = run(inputs, options);
  const std::map<int, double> usual = waits_by_stage(nominal);
  result.nominal_s = nominal.timeline.end;
  result.tokens_per_s_per_gpu = inputs.plan.batch.tokens() / result.nominal_s / inputs.cluster.ranks();
  std::vector<std::function<void()>> works;
  for (std::size_t i = 0; i < draws.size(); ++i) {
    works.push_back([&, i] {
      simulate_here_next();
      try {
        outcomes[i] = outcome_of(run(under(inputs, draws[i]), options), usual);
      } catch (const StuckError& e) {
        outcomes[i] = stuck(e.what());
      }
    });
  }
  run_in_children(works, options.jobs);
  for (std::size_t i = 0; i < draws.size(); ++i) {
    const Outcome& o = outcomes[i];
    result.runs.push_back({draws[i], !o.stuck, o.failure, o.step_time_s, o.waiting_ranks, o.for_rank});
  }
  return result;
}

double StressResult::percentile(double p) const {
  std::vector<double> times;
  for (const Stressed& run : runs) times.push_back(run.ends ? run.step_time_s : std::numeric_limits<double>::infinity());
  std::sort(times.begin(), times.end());
  const double at = p * static_cast<double>(times.size() - 1);
  const auto below = static_cast<std::size_t>(std::floor(at));
  const double part = at - std::floor(at);
  return part == 0 || std::isinf(times[below]) ? times[below] : times[below] + part * (times[below + 1] - times[below]);
}

double StressResult::mean_s() const {
  double sum = 0;
  for (const Stressed& run : runs) sum += run.ends ? run.step_time_s : 0;
  const auto ended = static_cast<double>(runs.size()) - never_end();
  return ended > 0 ? sum / ended : std::numeric_limits<double>::infinity();
}

int StressResult::never_end() const {
  return static_cast<int>(std::count_if(runs.begin(), runs.end(), [](const Stressed& run) { return !run.ends; }));
}

const Stressed* StressResult::worst() const {
  const Stressed* worst = nullptr;
  for (const Stressed& run : runs) {
    const bool longer = worst == nullptr || (worst->ends && (!run.ends || run.step_time_s > worst->step_time_s));
    if (longer) worst = &run;
  }
  return worst;
}

}  // namespace stepsim
