// Several plans side by side: a row each, and the sentence that a manager takes away.
#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <numeric>

#include "sim/report/comparison.hpp"
#include "sim/base/csv.hpp"
#include "sim/report/derived.hpp"
#include "sim/report/json.hpp"
#include "sim/report/table.hpp"
#include "sim/report/words.hpp"

namespace stepsim {
namespace {

std::string whole_percent(double share) {
  return fmt::format("{:.0f}", 100 * share + 0.0);
}

std::string footnotes(const std::vector<Report>& reports, bool measured) {
  std::string text =
      "compute, exposed communication, wait, bubble: percent of the step, mean of all GPUs. memory: the peak of the "
      "fullest GPU; ! does not fit.";
  if (!measured) text += " *: by roofline, elasticities were not measured.";
  const bool same_tokens = std::all_of(reports.begin(), reports.end(), [&](const Report& r) {
    return r.facts.tokens_per_step == reports.front().facts.tokens_per_step;
  });
  const bool same_gpus = std::all_of(reports.begin(), reports.end(),
                                     [&](const Report& r) { return gpus_of(r) == gpus_of(reports.front()); });
  if (!same_tokens || !same_gpus) {
    text += fmt::format(" The plans differ in {}: they are compared by GPU time per token, not by step time.",
                        !same_tokens && !same_gpus ? "tokens per step and GPUs"
                        : same_tokens              ? "GPUs"
                                                   : "tokens per step");
  }
  return wrap(text, page_width) + "\n";
}

}  // namespace

std::string compare_text(const std::vector<Report>& reports) {
  const Comparison comparison = compare(reports);
  Table table({{"plan", true, true},
               {"step"},
               {"tok/s/GPU"},
               {"MFU"},
               {"compute"},
               {"exposed"},
               {"wait"},
               {"bubble"},
               {"memory"},
               {"bound by", true, true}});
  bool measured = true;
  for (std::size_t i = 0; i < reports.size(); ++i) {
    const Report& r = reports[i];
    const Shares mean = mean_shares(r);
    const bool judged = r.verdict.bound == "compute" || r.verdict.bound == "communication";
    measured = measured && judged;
    const RankRow* fullest = fullest_rank(r);
    table.row({comparison.short_names[i], seconds_text(r.step_time_s), number_text(tokens_per_second_per_gpu(r)),
               percent_text(model_utilisation(r)), whole_percent(mean.compute), whole_percent(mean.exposed),
               whole_percent(mean.wait), whole_percent(mean.bubble),
               fullest == nullptr ? "-" : bytes_text(fullest->peak_memory_bytes) + (fits_in_memory(r) ? "" : " !"),
               resource_text(bound_by(r)) + (judged ? "" : "*")});
  }
  std::string text = table.text() + "\n" + footnotes(reports, measured) + "\n";
  for (std::size_t i = 0; i < reports.size(); ++i) {
    text += wrap(fmt::format("{}: {}", comparison.short_names[i], reports[i].verdict.text), page_width, 2) + "\n";
  }
  return text + "\n" + wrap(comparison.sentence, page_width) + "\n";
}

std::string compare_json(const std::vector<Report>& reports) {
  const Comparison comparison = compare(reports);
  nlohmann::ordered_json json{{"schema", "stepsim.compare/1"},
                              {"winner", nullptr},
                              {"text", comparison.sentence},
                              {"plans", nlohmann::ordered_json::array()},
                              {"reports", nlohmann::ordered_json::array()}};
  if (comparison.winner >= 0) json["winner"] = comparison.names[static_cast<std::size_t>(comparison.winner)];
  for (std::size_t i = 0; i < reports.size(); ++i) {
    const Report& r = reports[i];
    const Shares mean = mean_shares(r);
    json["plans"].push_back({{"name", comparison.names[i]},
                             {"step_time_s", r.step_time_s},
                             {"tokens_per_s_per_gpu", tokens_per_second_per_gpu(r)},
                             {"mfu", model_utilisation(r)},
                             {"compute_share", mean.compute},
                             {"exposed_communication_share", mean.exposed},
                             {"wait_share", mean.wait},
                             {"bubble_share", mean.bubble},
                             {"fits", fits_in_memory(r)},
                             {"bound_by", bound_by(r)},
                             {"slower_than_winner", comparison.slower[i]}});
    json["reports"].push_back(json_of(r));
  }
  return lines_of(json);
}

std::string compare_csv(const std::vector<Report>& reports) {
  const Comparison comparison = compare(reports);
  std::string text =
      "plan,step_time_s,tokens_per_step,tokens_per_s_per_gpu,mfu,compute_share,exposed_communication_share,wait_share,"
      "bubble_share,peak_memory_bytes,fits,bound,bound_by,slower_than_winner\n";
  for (std::size_t i = 0; i < reports.size(); ++i) {
    const Report& r = reports[i];
    const Shares mean = mean_shares(r);
    const RankRow* fullest = fullest_rank(r);
    fmt::format_to(std::back_inserter(text), "{},{},{},{},{},{},{},{},{},{},{},{},{},{}\n",
                   csv_cell(comparison.names[i]), r.step_time_s, r.facts.tokens_per_step, tokens_per_second_per_gpu(r),
                   model_utilisation(r), mean.compute, mean.exposed, mean.wait, mean.bubble,
                   fullest == nullptr ? 0 : fullest->peak_memory_bytes, fits_in_memory(r), csv_cell(r.verdict.bound),
                   csv_cell(bound_by(r)), comparison.slower[i]);
  }
  return text;
}

}  // namespace stepsim
