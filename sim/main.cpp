// Arguments, logging, exit codes: 0 simulated, 2 the input is wrong, 3 stepsim is wrong.
#include <CLI/CLI.hpp>
#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/spdlog.h>

#include <cstdio>

#include "sim/base/errors.hpp"
#include "sim/verbs/verb.hpp"

int main(int argc, char** argv) {
  spdlog::set_default_logger(spdlog::stderr_color_st("stepsim"));
  spdlog::set_pattern("stepsim: %v");
  CLI::App app{"How long one training step of a language model takes on a cluster under a plan, and why.", "stepsim"};
  app.require_subcommand(1);
  std::function<int()> run;
  for (const stepsim::Verb& verb : stepsim::verbs()) {
    CLI::App* declared = app.add_subcommand(std::string(verb.name), std::string(verb.about));
    declared->callback([&run, of_verb = verb.declare(*declared, argv[0])] { run = of_verb; });
  }
  try {
    app.parse(argc, argv);
    return run();
  } catch (const CLI::ParseError& e) {
    return app.exit(e) == 0 ? 0 : 2;
  } catch (const stepsim::InputError& e) {
    std::fprintf(stderr, "%s\n", e.what());
    spdlog::error("{} problem{}", e.problems().size(), e.problems().size() == 1 ? "" : "s");
    return 2;
  } catch (const std::bad_alloc&) {
    spdlog::error("there is not enough memory for a step of this size: fewer microbatches, layers or GPUs, or --fold auto");
    return 2;
  } catch (const std::exception& e) {
    spdlog::critical("{}", e.what());
    return 3;
  }
}
