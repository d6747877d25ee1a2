// Published runs, each rebuilt and simulated, against what was measured.
#pragma once

#include <array>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "sim/graph/step_graph.hpp"
#include "workloads/published/translation.hpp"

namespace stepsim {

// How the mean GPU of a step spends it, as simulated: compute + exposed + wait + bubble = the step.
struct StepParts {
  double compute_s = 0, exposed_s = 0, wait_s = 0, bubble_s = 0;
  // [Dimension] of the collectives that most of it is spent in
  std::array<double, static_cast<std::size_t>(Dimension::reduce) + 1> exposed_by_dimension{};

  bool operator==(const StepParts&) const = default;
};

struct RunResult {
  PublishedRun run;
  std::string family, gpu, cluster;  // gpu: of the cluster's file
  std::vector<std::string> assumptions, not_understood;
  std::vector<std::string> problems;  // why it was not simulated; empty when it was
  double predicted_s = 0;
  double error = 0;  // predicted / measured - 1
  std::optional<double> predicted_memory_gb;
  StepParts parts;
  std::string cause;  // of the error, likely; filled in by judge_causes()

  bool simulated() const { return problems.empty(); }
};

// Errors of some rows, as fractions.
struct ErrorSummary {
  std::string name;
  int rows = 0, simulated = 0;
  double signed_median = 0, mean_absolute = 0, percentile_90 = 0;  // of |error|
  int memory_rows = 0;
  double memory_signed_median = 0, memory_mean_absolute = 0;

  bool operator==(const ErrorSummary&) const = default;
};

// The errors with one modelling element or assumption taken out or decided otherwise.
struct Ablation {
  std::string id, about;
  std::vector<std::string> instead;  // --set; empty: there is no key to decide otherwise
  int rows = 0;                      // that need it and were simulated again
  int refused = 0;                   // of them, those that cannot be decided otherwise; they keep their error
  ErrorSummary families_alike;

  bool operator==(const Ablation&) const = default;
};

struct Validation {
  std::string file;
  std::vector<std::string> settings;        // what was changed and chosen: --set, --usability, --filter
  std::vector<std::string> unread_columns;  // of the file
  std::vector<RunResult> results;           // in the file's order, those that were asked for
  std::vector<ErrorSummary> families, gpus, models;
  ErrorSummary rows_alike;
  // Families weigh equally: the mean of their mean absolute errors, and the median of rows weighted by 1 / rows of their
  // family.
  ErrorSummary families_alike;
  std::vector<Ablation> ablations;  // filled in by ablate()
};

struct ValidationRequest {
  std::string file, home;
  bool only_high = true;                   // rows of usability high
  std::vector<std::string> ids;            // only these rows; empty: all
  std::vector<std::string> filters;        // "family=BigScience*", "gpu=*H100*", "id=...": all must fit
  std::vector<std::string> overrides;      // "plan.rates=speed_of_light", of model, plan and cluster
  int jobs = 0;                            // 0: as many as there are cores
  std::string write;                       // a folder for the inputs that rows became (write_inputs.hpp); empty: none
};

// Throws InputError for a file that is no table of runs, filters that name no column or fit no row, and overrides that
// fit no row.
Validation validate(const ValidationRequest& request);

// Simulates again without each modelling element and assumption that rows of the validation needed, one at a time.
void ablate(const ValidationRequest& request, Validation& validation);

// The family of a row: its source without the version of its release ("NVIDIA DGXC benchmarking recipes").
std::string family_of(const PublishedRun& run);

// Fills in the summaries from the results.
void summarise(Validation& validation);
ErrorSummary summary_of(const std::string& name, const std::vector<const RunResult*>& rows);
// The likely cause of each row's error, from its parts and from how errors go with parts over its family.
void judge_causes(Validation& validation);

// Writers.
std::string to_text(const Validation& validation, int worst);  // fits 100 columns
std::string scoreboard(const Validation& validation);          // families and all, nothing else
std::string to_json(const Validation& validation);             // schema stepsim.validation/1
std::string to_csv(const Validation& validation);              // a row a run
std::string to_html(const Validation& validation);             // a page, where pages are built (sim/report/page.hpp)

}  // namespace stepsim
