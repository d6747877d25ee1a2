// stepsim validate: published runs, rebuilt and simulated, against what was measured.
#include <spdlog/spdlog.h>

#include "sim/validate/validation.hpp"
#include "sim/verbs/arguments.hpp"
#include "sim/verbs/pages.hpp"
#include "sim/verbs/verb.hpp"

namespace stepsim {
namespace verb_validate {

struct Arguments {
  ValidationRequest request;
  std::string usability = "high";
  int worst = 10;
  bool ablation = false, scoreboard = false;
  InputArguments inputs;
  OutputArguments outputs;
};

int run(const Arguments& args, const std::string& program) {
  args.outputs.require_writable();
  require_pages(args.outputs);
  ValidationRequest request = args.request;
  request.home = args.inputs.complete(program).home;
  request.overrides = args.inputs.request.overrides;
  request.only_high = args.usability == "high";
  Validation done = validate(request);
  request.write.clear();
  if (args.ablation) ablate(request, done);
  args.outputs.write("--json", [&] { return to_json(done); });
  args.outputs.write("--csv", [&] { return to_csv(done); });
  args.outputs.write("--html", [&] { return to_html(done); });
  if (!args.outputs.wants_standard_output()) write_output("-", args.scoreboard ? scoreboard(done) : to_text(done, args.worst));
  if (done.rows_alike.simulated > 0) return 0;
  spdlog::error("{}: no row was simulated", request.file);
  return 2;
}

std::function<int()> declare(CLI::App& verb, const std::string& program) {
  const auto args = std::make_shared<Arguments>();
  verb.add_option("runs", args->request.file, "a CSV table of runs, with the columns of workloads/runs/published.csv")->required();
  verb.add_option("--usability", args->usability, "high: only rows that are fully specified; all")
      ->check(CLI::IsMember({"high", "all"}))
      ->capture_default_str();
  verb.add_option("--filter", args->request.filters, "only rows that fit: family=Big*, gpu=*H100*, model=..., id=..., cluster=...")
      ->allow_extra_args(false);
  args->inputs.declare_set(verb);
  verb.add_option("--write", args->request.write, "write the model, plan and experiment that each row became into this folder");
  verb.add_flag("--ablation", args->ablation, "simulate again without each modelling element and assumption: what it is worth");
  verb.add_flag("--scoreboard", args->scoreboard, "print the errors of families and of all, nothing else");
  verb.add_option("--worst", args->worst, "rows to list")->check(CLI::Range(0, 1'000'000'000))->capture_default_str();
  verb.add_option("--jobs", args->request.jobs, "simulations at a time (0: a core each)")->check(CLI::Range(0, 1'000'000'000))->capture_default_str();
  args->outputs.declare(verb, "--json", "write everything as JSON to this file (-: standard output)");
  args->outputs.declare(verb, "--csv", "write a row a run as CSV");
  args->outputs.declare(verb, "--html", "write a page with simulated against measured, errors and every run");
  return [args, program] { return run(*args, program); };
}

}  // namespace verb_validate

Verb validate_verb() { return {"validate", "published runs, rebuilt and simulated, against what was measured", verb_validate::declare}; }

}  // namespace stepsim
