// stepsim run: simulates one training step and reports.
#include <fmt/format.h>

#include <cstdio>

#include "sim/graph/dump.hpp"
#include "sim/report/derived.hpp"
#include "sim/report/trace.hpp"
#include "sim/report/trace_ranks.hpp"
#include "sim/verbs/arguments.hpp"
#include "sim/verbs/pages.hpp"
#include "sim/verbs/verb.hpp"

namespace stepsim {
namespace verb_run {

struct Arguments {
  InputArguments inputs;
  EngineArguments engine;
  OutputArguments outputs;
  bool explain_folding = false;
  std::optional<std::string> trace_ranks;
};

TraceOptions trace_options(const RankChoice& choice, const Simulation& done) {
  TraceOptions options;
  for (const MemoryTimeline& line : done.report.memory_timeline) options.memory.push_back({line.rank, line.points});
  if (choice.text.empty()) return options;
  options.ranks = chosen_ranks(choice, done.graph, done.rank_kind);
  options.note = "--trace-ranks " + choice.text;
  if (!done.rank_kind.empty()) options.note += "; a rank stands for all that are alike, so that each kind is shown once";
  return options;
}

// Of a calibrated run. The passes are those that the plan names: `automatic` chooses anew, for the other rates.
void add_speed_of_light(Report& report, Request request, Options options) {
  request.overrides.emplace_back("plan.rates=speed_of_light");
  options.elasticities = options.explain_folding = options.fitting_changes = false;
  try {
    const Report other = simulate(load(request), options).report;
    const RankRow* fullest = fullest_rank(other);
    report.speed_of_light = {other.step_time_s, other.passes, other.phases, fullest == nullptr ? 0 : fullest->peak_memory_bytes};
  } catch (const InputError& error) {
    report.warnings.push_back(fmt::format("not compared with rates: speed_of_light, which this plan refuses: {}", error.problems().front().reason));
  }
}

int run(const Arguments& args, const std::string& program) {
  args.outputs.require_writable();
  require_pages(args.outputs);
  const RankChoice trace_ranks = args.trace_ranks ? parse_rank_choice(*args.trace_ranks) : RankChoice{};
  if (args.trace_ranks && !args.outputs.wants("--trace")) {
    throw InputError({{"", 0, "--trace-ranks", "chooses what --trace shows, which is not given"}});
  }
  const Request request = args.inputs.complete(program);
  const Inputs inputs = load(request);
  require_ranks(trace_ranks, inputs.cluster.ranks(), inputs.plan.parallel.pipeline);
  Options options = args.engine.options();
  options.explain_folding = args.explain_folding;
  options.fitting_changes = true;
  Simulation done = simulate(inputs, options);
  if (inputs.plan.rates == Rates::calibrated) add_speed_of_light(done.report, request, options);
  args.outputs.write("--json", [&] { return to_json(done.report); });
  args.outputs.write("--csv", [&] { return to_csv(done.report); });
  args.outputs.write("--trace", [&] { return to_trace(done.graph, done.timeline, trace_options(trace_ranks, done)); });
  args.outputs.write("--html", [&] { return to_html(page_plan(done, inputs, most_page_items)); });
  args.outputs.write("--dump-graph", [&] {
    return args.outputs.path("--dump-graph").ends_with(".json") ? dump_json(done.graph) : dump_text(done.graph);
  });
  // Beside a document on standard output the explanation goes where people's text goes then.
  if (args.outputs.wants_standard_output()) {
    std::fputs(done.folding.c_str(), stderr);
  } else {
    write_output("-", to_text(done.report) + (done.folding.empty() ? "" : "\n" + done.folding));
  }
  return 0;
}

std::function<int()> declare(CLI::App& verb, const std::string& program) {
  const auto args = std::make_shared<Arguments>();
  args->inputs.declare(verb);
  args->engine.declare(verb);
  args->outputs.declare(verb, "--json", "write the report as JSON to this file (-: standard output)");
  args->outputs.declare(verb, "--csv", "write a row a rank as CSV");
  args->outputs.declare(verb, "--trace", "write a Chrome trace (JSON) that Perfetto opens");
  verb.add_option("--trace-ranks", args->trace_ranks, "ranks that --trace shows: 0-15,stage:3 or all (default: all kinds of rank)");
  args->outputs.declare(verb, "--html", "write the report as one HTML file that works offline");
  args->outputs.declare(verb, "--dump-graph", "write the step graph, as JSON if the name ends in .json, else as text");
  verb.add_flag("--explain-folding", args->explain_folding, "say how many kinds of rank, link and group there are, and why ranks differ");
  return [args, program] { return run(*args, program); };
}

}  // namespace verb_run

Verb run_verb() { return {"run", "simulate one training step and report", verb_run::declare}; }

}  // namespace stepsim
