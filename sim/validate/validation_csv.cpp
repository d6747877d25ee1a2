// A row a run, with the keys of the JSON as titles.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <iterator>

#include "sim/base/csv.hpp"
#include "sim/validate/validation.hpp"

namespace stepsim {
namespace {

std::string number(double value) { return fmt::format("{:.6g}", value); }

}  // namespace

std::string to_csv(const Validation& v) {
  std::string text =
      "id,line,family,model,gpu,cluster,gpus,simulated,measured_step_s,predicted_step_s,error,compute_s,"
      "exposed_communication_s,wait_s,bubble_s,measured_memory_gb,predicted_memory_gb,cause,assumptions,problems\n";
  for (const RunResult& r : v.results) {
    std::vector<std::string> cells = {r.run.id, fmt::format("{}", r.run.line), r.family, r.run.model, r.gpu, r.cluster,
                                      fmt::format("{}", r.run.gpus), r.simulated() ? "1" : "0", number(r.run.step_s)};
    if (r.simulated()) {
      for (const double x : {r.predicted_s, r.error, r.parts.compute_s, r.parts.exposed_s, r.parts.wait_s, r.parts.bubble_s}) cells.push_back(number(x));
    } else {
      cells.resize(cells.size() + 6);
    }
    cells.push_back(r.run.memory_gb ? number(*r.run.memory_gb) : "");
    cells.push_back(r.predicted_memory_gb ? number(*r.predicted_memory_gb) : "");
    cells.push_back(r.cause);
    cells.push_back(fmt::format("{}", fmt::join(r.assumptions, " ")));
    cells.push_back(fmt::format("{}", fmt::join(r.problems, "; ")));
    for (std::string& cell : cells) cell = csv_cell(cell);
    text += fmt::format("{}\n", fmt::join(cells, ","));
  }
  return text;
}

}  // namespace stepsim
