// The verbs of the command line.
#pragma once

#include <string>
#include <vector>

#include "sim/inputs.hpp"
#include "sim/simulate.hpp"

namespace CLI {
class App;
}

namespace stepsim {

class Commands {
 public:
  explicit Commands(std::string program) : program_(std::move(program)) {}
  void add_to(CLI::App& app);
  int run();  // the verb that was parsed; its exit code. Throws InputError.

 private:
  struct Arguments {
    Request request;
    std::vector<std::string> experiments;  // of compare
    std::vector<std::string> vary;
    Options options;
    std::string detail = "aggregate", fold = "auto", elasticities = "on";
    std::string json, csv, trace, dump_graph;
    bool explain = false;
    std::string what;  // of list
    std::string svg, times = "unit";  // of schedule
  };

  void add_inputs(CLI::App& verb);
  void add_engine(CLI::App& verb);
  void complete();

  int run_run();
  int run_compare();
  int run_check();
  int run_list();
  int run_schedule();  // command_schedule.cpp

  std::string program_;
  Arguments args_;
  int (Commands::*verb_)() = nullptr;
};

}  // namespace stepsim
