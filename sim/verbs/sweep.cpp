// stepsim sweep: simulates every point of a sweep's file into a store.
#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <filesystem>

#include "sim/explore/selection_text.hpp"
#include "sim/explore/slurm.hpp"
#include "sim/explore/sweep.hpp"
#include "sim/explore/workers.hpp"
#include "sim/verbs/arguments.hpp"
#include "sim/verbs/store_arguments.hpp"
#include "sim/verbs/verb.hpp"

namespace stepsim {
namespace verb_sweep {

struct Arguments {
  std::string spec, store, shard;
  InputArguments inputs;
  EngineArguments engine;
  SweepOptions options;
  bool list = false;
  std::string executor = "local", submit = "on", expect;
  std::vector<std::string> collect;
  SlurmJob slurm;
  OutputArguments outputs;
};

std::string listed(const Sweep& sweep, const Shard& shard) {
  std::string text;
  std::size_t points = 0;
  for (auto i = static_cast<std::size_t>(shard.index); i < sweep.size; i += static_cast<std::size_t>(shard.of), ++points) {
    text += sweep.point(i).entry.label + "\n";
  }
  text += shard.of > 1 ? fmt::format("{} of {} points", points, sweep.size) : fmt::format("{} point{}", points, points == 1 ? "" : "s");
  if (sweep.filtered > 0) text += fmt::format("; the filter drops {}", sweep.filtered);
  return text + "\n";
}

void tell(const SweepCounts& counts) {
  spdlog::info("{} points: {} simulated now, {} known, {} refused, {} failed", counts.points, counts.simulated, counts.known,
               counts.refused, counts.failed);
  if (counts.refused > 0) spdlog::info("the first that was refused: {}", counts.first_refusal);
}

std::string store_path(const Arguments& args, const Sweep& sweep) {
  return args.store.empty() ? sweep.name + ".sqlite" : args.store;
}

int show(const Arguments& args, const Sweep& sweep, Store& store) {
  args.outputs.write("--csv", [&] { return to_csv(store.select({sweep.name, "", "", {}, -1})); });
  args.outputs.write("--json", [&] { return to_json(store.select({sweep.name, "", "", {}, -1})); });
  if (!args.outputs.wants_standard_output()) write_output("-", sweep_summary(store, sweep.name));
  return 0;
}

// A job array that runs the same command, a shard a task.
int run_slurm(const Arguments& args, const Sweep& sweep, const std::string& home) {
  namespace fs = std::filesystem;
  SlurmJob job = args.slurm;
  job.name = sweep.name;
  job.program = fs::read_symlink("/proc/self/exe").string();
  job.home = fs::absolute(home).lexically_normal().string();
  job.folder = fs::absolute(job.folder.empty() ? sweep.name + ".slurm" : job.folder).lexically_normal().string();
  job.arguments = {"sweep", fs::absolute(args.spec).lexically_normal().string(), "--expect", points_key(sweep)};
  for (const auto& [option, value] : {std::pair("--engine", args.engine.engine), std::pair("--detail", args.engine.detail),
                                      std::pair("--fold", args.engine.fold), std::pair("--elasticities", args.engine.elasticities)}) {
    job.arguments.insert(job.arguments.end(), {option, value});
  }
  for (const std::string& set : args.inputs.request.overrides) job.arguments.insert(job.arguments.end(), {"--set", set});
  if (args.options.retry_failed) job.arguments.emplace_back("--retry-failed");
  std::error_code failed;
  fs::create_directories(job.folder, failed);
  if (failed) throw InputError({{job.folder, 0, "--folder", failed.message()}});
  const std::string script = job.folder + "/job.sh";
  write_output(script, script_of(job));
  std::string text = fmt::format("{} points in {} shards: {}\n", sweep.size, job.shards, script);
  if (args.submit == "on") text += fmt::format("submitted as job {}\n", submit(script));
  text += fmt::format("when it has ended: {} sweep {} --collect {}\n", shell_word(job.program), shell_word(args.spec), shell_word(job.folder));
  write_output("-", text);
  return 0;
}

// Files, and all files of folders.
std::vector<std::string> shard_files(const std::vector<std::string>& paths) {
  namespace fs = std::filesystem;
  std::vector<std::string> files;
  for (const std::string& path : paths) {
    std::error_code none;
    if (!fs::exists(path, none)) throw InputError({{path, 0, "--collect", "there is no such file or folder"}});
    if (!fs::is_directory(path, none)) {
      files.push_back(path);
      continue;
    }
    std::vector<std::string> inside;
    for (const auto& entry : fs::directory_iterator(path)) {
      if (entry.path().extension() == ".sqlite") inside.push_back(entry.path().string());
    }
    std::sort(inside.begin(), inside.end());
    if (inside.empty()) throw InputError({{path, 0, "--collect", "has no shards (*.sqlite)"}});
    files.insert(files.end(), inside.begin(), inside.end());
  }
  return files;
}

int collect(const Arguments& args, const Sweep& sweep) {
  const std::vector<std::string> files = shard_files(args.collect);
  return with_store(store_path(args, sweep), Store::Use::write, [&](Store& store) {
    store.begin(sweep.name, sweep.size, [&](std::size_t i) { return sweep.point(i).entry; }, true);
    for (const std::string& file : files) {
      std::error_code none;
      if (std::filesystem::equivalent(file, store_path(args, sweep), none)) {
        throw InputError({{file, 0, "--collect", "is the store itself; name another with --store"}});
      }
      with_store(file, Store::Use::write_shared, [](Store&) { return 0; });
      store.merge(file);
    }
    const auto pending = store.select({sweep.name, "ending = 'pending'", "", {"position"}, -1}).rows.size();
    if (pending > 0) spdlog::warn("{} of {} points have no result yet", pending, sweep.size);
    return show(args, sweep, store);
  });
}

int run(const Arguments& args, const std::string& program) {
  args.outputs.require_writable();
  const std::string home = find_home(program, args.spec);
  const Sweep sweep = read_sweep(args.spec, home, args.inputs.request.overrides);
  if (!args.expect.empty() && args.expect != points_key(sweep)) {
    throw InputError({{args.spec, 0, "--expect", "the points are not those that were submitted: was the file changed since?"}});
  }
  const bool sharded = !args.shard.empty();
  const Shard shard = sharded ? shard_from(args.shard) : Shard{};
  if (args.list) {
    PlanSource source;
    (void)read_inputs(sweep.point(0).request, source);  // what no point can be read with is said now
    write_output("-", listed(sweep, shard));
    return 0;
  }
  if (!args.collect.empty()) return collect(args, sweep);
  if (args.executor == "slurm") return run_slurm(args, sweep, home);
  SweepOptions options = args.options;
  options.simulate = args.engine.options();
  options.progress = true;
  options.shard = shard;
  std::string path = store_path(args, sweep);
  if (sharded && args.store.empty()) path = fmt::format("{}.{}-of-{}.sqlite", sweep.name, options.shard.index + 1, options.shard.of);
  return with_store(path, sharded ? Store::Use::write_shared : Store::Use::write, [&](Store& store) {
    const SweepCounts counts = run_sweep(sweep, store, options);
    tell(counts);
    if (counts.points > 0 && counts.refused == counts.points && !sharded) {
      throw InputError({{args.spec, 0, "", "every point is refused; the first: " + counts.first_refusal}});
    }
    const int shown = show(args, sweep, store);
    if (counts.failed == 0) return shown;
    spdlog::error("{} point{} failed; the first: {}", counts.failed, counts.failed == 1 ? "" : "s", counts.first_failure);
    return 3;
  });
}

void declare_slurm(CLI::App& verb, Arguments& args) {
  args.slurm.shards = 8;
  const std::string group = "Slurm";
  verb.add_option("--shards", args.slurm.shards, "tasks of the job array")->check(CLI::Range(1, 100'000))->capture_default_str()->group(group);
  verb.add_option("--cpus", args.slurm.cpus, "cores of a task")->check(CLI::PositiveNumber)->capture_default_str()->group(group);
  verb.add_option("--time", args.slurm.time, "limit of a task: 01:00:00 (default: the cluster's)")->group(group);
  verb.add_option("--memory", args.slurm.memory, "of a task: 4G (default: the cluster's)")->group(group);
  verb.add_option("--sbatch", args.slurm.options, "one more option of sbatch, --sbatch=--partition=long (may be repeated)")
      ->allow_extra_args(false)
      ->group(group);
  verb.add_option("--retries", args.slurm.retries, "how often a failed task is queued again")->check(CLI::Range(0, 1'000'000'000))->capture_default_str()->group(group);
  verb.add_option("--folder", args.slurm.folder, "for script, logs and shards (default: NAME.slurm)")->group(group);
  verb.add_option("--submit", args.submit, "off: only write the script")->check(CLI::IsMember({"on", "off"}))->capture_default_str()->group(group);
  verb.add_option("--expect", args.expect, "refuse other points than those with this key, as a submitted script does")->group(group);
}

std::function<int()> declare(CLI::App& verb, const std::string& program) {
  const auto args = std::make_shared<Arguments>();
  args->options.workers = usable_cores();
  args->engine.elasticities = "off";
  verb.add_option("spec", args->spec, "the sweep's YAML: an experiment, and the keys to vary")->required();
  verb.add_option("--store", args->store, "the file of results, made or continued (default: NAME.sqlite)");
  verb.add_option("--jobs", args->options.workers, "points at the same time")->check(CLI::PositiveNumber)->capture_default_str();
  verb.add_option("--shard", args->shard, "I/N: only the I-th of N parts, into a store of its own");
  verb.add_option("--executor", args->executor, "local: in this process; slurm: write and submit a job array")
      ->check(CLI::IsMember({"local", "slurm"}))
      ->capture_default_str();
  verb.add_option("--collect", args->collect, "simulate nothing: take over the results of these shards, files or folders");
  declare_slurm(verb, *args);
  verb.add_flag("--retry-failed", args->options.retry_failed, "simulate points again that have failed");
  verb.add_flag("--list", args->list, "print the points, simulate nothing");
  args->inputs.declare_set(verb);
  args->engine.declare(verb);
  args->outputs.declare(verb, "--csv", "write a row a point as CSV to this file (-: standard output)");
  args->outputs.declare(verb, "--json", "write a row a point as JSON");
  return [args, program] { return run(*args, program); };
}

}  // namespace verb_sweep

Verb sweep_verb() { return {"sweep", "vary keys of an experiment: a stored row a point", verb_sweep::declare}; }

}  // namespace stepsim
