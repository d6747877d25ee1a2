// Arguments, logging, exit codes: 0 simulated, 2 the input is wrong, 3 stepsim is wrong.
#include <CLI/CLI.hpp>
#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/spdlog.h>

#include <cstdio>

#include "sim/commands.hpp"

int main(int argc, char** argv) {
  spdlog::set_default_logger(spdlog::stderr_color_st("stepsim"));
  spdlog::set_pattern("stepsim: %v");
  CLI::App app{"How long one training step of a language model takes on a cluster under a plan, and why.", "stepsim"};
  stepsim::Commands commands(argv[0]);
  commands.add_to(app);
  try {
    app.parse(argc, argv);
    return commands.run();
  } catch (const CLI::ParseError& e) {
    return app.exit(e) == 0 ? 0 : 2;
  } catch (const stepsim::InputError& e) {
    std::fprintf(stderr, "%s\n", e.what());
    spdlog::error("{} problem{}", e.problems().size(), e.problems().size() == 1 ? "" : "s");
    return 2;
  } catch (const std::exception& e) {
    spdlog::critical("{}", e.what());
    return 3;
  }
}
