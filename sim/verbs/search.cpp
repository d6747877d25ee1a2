// stepsim search: the best plan for an experiment's model on its cluster.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <spdlog/spdlog.h>

#include <cmath>

#include "sim/explore/evaluator.hpp"
#include "sim/explore/search_text.hpp"
#include "sim/explore/workers.hpp"
#include "sim/verbs/arguments.hpp"
#include "sim/verbs/store_arguments.hpp"
#include "sim/verbs/verb.hpp"

namespace stepsim {
namespace verb_search {

struct Arguments {
  InputArguments inputs;
  EngineArguments engine;
  std::vector<std::string> vary;
  std::string store, front = "off", prune = "on";
  double minutes = 10;
  SearchOptions options;
  OutputArguments outputs;
};

void require_objective(const Objective& objective, const SearchSpace& space) {
  for (const SearchBase& base : space.bases()) {
    if (!objective.allowed(base.inputs)) throw InputError({{"--objective", 0, std::string(objective.name), std::string(objective.needs)}});
  }
}

// Rows of these requests, simulated where the store does not know them.
std::vector<Row> rows_of(const std::vector<Request>& requests, const Options& options, Store& store, int workers) {
  std::vector<Row> rows(requests.size());
  Evaluator evaluator(options, store.known(true), nullptr);
  std::size_t next = 0;
  for (const Request& r : requests) evaluator.warm(r);
  run_tasks(workers, {.next = [&]() -> std::optional<std::size_t> { return next < requests.size() ? std::optional(next++) : std::nullopt; },
                      .work = [&](std::size_t i) { return pack(evaluator.evaluate(requests[i])); },
                      .done = [&](const Answer& answer) {
                        if (answer.crashed) throw std::runtime_error(answer.text);
                        const Evaluated e = unpack(answer.text);
                        if (!e.known) store.put(e.key, e.row);
                        rows[answer.task] = e.known ? store.get(e.key) : e.row;
                        if (rows[answer.task].ending != Ending::done) throw std::runtime_error(rows[answer.task].error);
                      }});
  return rows;
}

std::vector<Request> requests_of(const SearchSpace& space, const SearchResult& result, const Request& own) {
  std::vector<Request> requests;
  for (const SearchFind& f : result.best) requests.push_back(space.request(f.id));
  for (std::size_t i = 0; i < result.own.size(); ++i) requests.push_back(own);
  return requests;
}

std::string shell_word(const std::string& word) {
  return word.find_first_of(" []{}*?'\"$") == std::string::npos ? word : "'" + word + "'";
}

std::string command_of(const Request& request) {
  std::string text = "stepsim run";
  if (!request.experiment.empty()) text += " " + shell_word(request.experiment);
  for (const auto& [option, value] : {std::pair("model", request.model), std::pair("cluster", request.cluster),
                                      std::pair("plan", request.plan), std::pair("scenario", request.scenario)}) {
    if (!value.empty()) text += fmt::format(" --{} {}", option, shell_word(value));
  }
  for (const std::string& set : request.overrides) text += fmt::format(" \\\n  --set {}", shell_word(set));
  return text;
}

int run(const Arguments& args, const std::string& program) {
  args.outputs.require_writable();
  if (!std::isfinite(args.minutes)) throw InputError({{"", 0, "--minutes", "is no number"}});
  const Request own = args.inputs.complete(program);
  InputCache cache;
  const SearchSpace space(own, args.vary, cache);
  SearchOptions options = args.options;
  options.simulate = args.engine.options();
  options.simulate.elasticities = false;
  options.front = args.front == "on";
  options.prune = args.prune == "on";
  options.progress = true;
  options.seconds = 60 * args.minutes;
  const Objective& objective = *find_objective(options.objective);
  require_objective(objective, space);
  return with_store(args.store.empty() ? ":memory:" : args.store, Store::Use::write, [&](Store& store) {
    const SearchResult result = search(space, own, store, options);
    if (result.best.empty() && result.left > 0) {
      throw InputError({{"", 0, "--minutes", fmt::format("time was over before a plan was found that runs and fits: {:.0f} of {:.0f} combinations were left "
                                                         "({:.0f} cannot run, {:.0f} do not fit in memory, {:.0f} failed); give it more",
                                                         static_cast<double>(result.left), result.combinations, result.illegal, result.too_large, result.failed)}});
    }
    if (result.best.empty()) {
      throw InputError({{"", 0, "search", fmt::format("no plan of {:.0f} combinations can run and fits: {:.0f} cannot run, {:.0f} "
                                                      "do not fit in memory, {:.0f} failed",
                                                      result.combinations, result.illegal, result.too_large, result.failed)}});
    }
    std::vector<Request> requests = requests_of(space, result, own);
    Options measured = options.simulate;
    measured.elasticities = true;
    measured.jobs = 1;
    std::vector<Report> reports;
    for (const Row& row : rows_of(requests, measured, store, options.workers)) reports.push_back(report_from_json(row.report));
    std::vector<double> healthy;
    if (objective.name == "resilience") {
      for (Request& r : requests) r.scenario = "none";
      for (const Row& row : rows_of(requests, options.simulate, store, options.workers)) healthy.push_back(number_in(row, "step_time_s"));
    }
    args.outputs.write("--json", [&] { return search_json(space, result, objective, reports); });
    const std::string command = command_of(own_is_best(result, reports) ? own : space.request(result.best.front().id));
    if (!args.outputs.wants_standard_output()) {
      write_output("-", search_text(space, result, objective, reports, healthy, options.front, command));
    }
    return 0;
  });
}

std::function<int()> declare(CLI::App& verb, const std::string& program) {
  const auto args = std::make_shared<Arguments>();
  args->options.workers = usable_cores();
  std::vector<std::string> names;
  for (const Objective& o : objectives()) names.emplace_back(o.name);
  args->inputs.declare(verb);
  verb.add_option("--vary", args->vary,
                  "values to try of a key, instead of all that may run: plan.schedule=1f1b,zb-h1; any key may be named")
      ->allow_extra_args(false);
  verb.add_option("--objective", args->options.objective, fmt::format("{}", fmt::join(names, ", ")))
      ->check(CLI::IsMember(names))
      ->capture_default_str();
  verb.add_option("--top", args->options.top, "how many plans to report")->check(CLI::Range(1, 1000))->capture_default_str();
  verb.add_option("--front", args->front, "on: the front of step time against memory is that of all plans; simulates more")
      ->check(CLI::IsMember({"on", "off"}))
      ->capture_default_str();
  verb.add_option("--prune", args->prune, "off: simulates every plan that fits, to check what pruning drops")
      ->check(CLI::IsMember({"on", "off"}))
      ->capture_default_str();
  verb.add_option("--minutes", args->minutes, "no more plans are looked at after so long; the result says what was left (0: no limit)")
      ->check(CLI::Range(0.0, 1e6))
      ->capture_default_str();
  verb.add_option("--store", args->store, "keep what is simulated in this file, and take from it what is known");
  verb.add_option("--jobs", args->options.workers, "plans at the same time")->check(CLI::PositiveNumber)->capture_default_str();
  args->engine.declare(verb, false);
  args->outputs.declare(verb, "--json", "write what was found as JSON to this file (-: standard output)");
  return [args, program] { return run(*args, program); };
}

}  // namespace verb_search

Verb search_verb() { return {"search", "the best plan for a model on a cluster, and why the others lose", verb_search::declare}; }

}  // namespace stepsim
