// stepsim sweep: simulates every point of a sweep's file into a store.
#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include "sim/explore/selection_text.hpp"
#include "sim/explore/sweep.hpp"
#include "sim/explore/workers.hpp"
#include "sim/verbs/arguments.hpp"
#include "sim/verbs/store_arguments.hpp"
#include "sim/verbs/verb.hpp"

namespace stepsim {
namespace {

struct Arguments {
  std::string spec, store, shard;
  InputArguments inputs;
  EngineArguments engine;
  SweepOptions options;
  bool list = false;
  OutputArguments outputs;
};

std::string listed(const Sweep& sweep) {
  std::string text;
  for (const SweepPoint& point : sweep.points) text += point.entry.label + "\n";
  text += fmt::format("{} points", sweep.points.size());
  if (sweep.filtered > 0) text += fmt::format("; the filter drops {}", sweep.filtered);
  return text + "\n";
}

void tell(const SweepCounts& counts) {
  spdlog::info("{} points: {} simulated now, {} known, {} refused, {} failed", counts.points, counts.simulated, counts.known,
               counts.refused, counts.failed);
}

int run(const Arguments& args, const std::string& program) {
  args.outputs.require_writable();
  const Sweep sweep = read_sweep(args.spec, find_home(program, args.spec), args.inputs.request.overrides);
  if (args.list) {
    write_output("-", listed(sweep));
    return 0;
  }
  SweepOptions options = args.options;
  options.simulate = args.engine.options();
  options.progress = true;
  const bool sharded = !args.shard.empty();
  if (sharded) options.shard = shard_from(args.shard);
  std::string path = args.store.empty() ? sweep.name + ".sqlite" : args.store;
  if (sharded && args.store.empty()) path = fmt::format("{}.{}-of-{}.sqlite", sweep.name, options.shard.index + 1, options.shard.of);
  return with_store(path, sharded ? Store::Use::write_shared : Store::Use::write, [&](Store& store) {
    const SweepCounts counts = run_sweep(sweep, store, options);
    tell(counts);
    if (counts.points > 0 && counts.refused == counts.points) {
      throw InputError({{args.spec, 0, "", "every point is refused; the first: " + counts.first_refusal}});
    }
    args.outputs.write("--csv", [&] { return to_csv(store.select({sweep.name, "", "", {}, -1})); });
    args.outputs.write("--json", [&] { return to_json(store.select({sweep.name, "", "", {}, -1})); });
    if (!args.outputs.wants_standard_output()) write_output("-", sweep_summary(store, sweep.name));
    return 0;
  });
}

std::function<int()> declare(CLI::App& verb, const std::string& program) {
  const auto args = std::make_shared<Arguments>();
  args->options.workers = usable_cores();
  args->engine.elasticities = "off";
  verb.add_option("spec", args->spec, "the sweep's YAML: an experiment, and the keys to vary")->required();
  verb.add_option("--store", args->store, "the file of results, made or continued (default: NAME.sqlite)");
  verb.add_option("--jobs", args->options.workers, "points at the same time")->check(CLI::PositiveNumber)->capture_default_str();
  verb.add_option("--shard", args->shard, "I/N: only the I-th of N parts, into a store of its own");
  verb.add_flag("--retry-failed", args->options.retry_failed, "simulate points again that have failed");
  verb.add_flag("--list", args->list, "print the points, simulate nothing");
  args->inputs.declare_set(verb);
  args->engine.declare(verb);
  args->outputs.declare(verb, "--csv", "write a row a point as CSV to this file (-: standard output)");
  args->outputs.declare(verb, "--json", "write a row a point as JSON");
  return [args, program] { return run(*args, program); };
}

}  // namespace

Verb sweep_verb() { return {"sweep", "vary keys of an experiment: a stored row a point", declare}; }

}  // namespace stepsim
