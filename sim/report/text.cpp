// The terminal report.
#include <fmt/format.h>

#include <algorithm>

#include "sim/report/derived.hpp"
#include "sim/report/report.hpp"
#include "sim/report/table.hpp"
#include "sim/report/text_sections.hpp"
#include "sim/report/words.hpp"

namespace stepsim {
namespace {

// "  step time      26.7 s": a fact on a line, continued under its value; nothing when there is no value.
std::string fact(std::string_view name, std::string_view value) {
  if (value.empty()) return "";
  return wrap(fmt::format("  {:<16} {}", name, value), page_width, 19) + "\n";
}

std::string what_does_not_fit(const Report& report) {
  if (fits_in_memory(report)) return "";
  const RankRow& fullest = *fullest_rank(report);
  return wrap(fmt::format("DOES NOT FIT: stage {} (rank {}) needs {} of memory, a GPU has {}.", fullest.stage,
                          fullest.rank, bytes_text(fullest.peak_memory_bytes),
                          bytes_text(report.facts.gpu_memory_bytes)),
              page_width) +
         "\n" + fitting_section(report.fitting_changes) + "\n";
}

std::string title(const Report& report) {
  const InputNames& in = report.inputs;
  const std::string& name = !in.experiment.empty() ? in.experiment : in.plan;
  std::string text = fmt::format("{}: {} on {}, {} GPUs", name, in.model, in.cluster, number_text(gpus_of(report)));
  if (!in.parallelism.empty()) text += ", " + in.parallelism;
  return wrap(text, page_width, 2) + "\n\n";
}

std::string headline(const Report& report) {
  std::string text = fact("step time", seconds_text(report.step_time_s));
  if (report.steady_period_s > 0) {
    text += fact("steady period", seconds_text(report.steady_period_s) +
                                      " of steps in a row: without a norm of all gradients to wait for, a rank begins the next step "
                                      "when it has ended its own");
  }
  if (report.facts.tokens_per_step > 0) {
    text += fact("tokens/s/GPU", fmt::format("{} ({} tokens a step)", number_text(tokens_per_second_per_gpu(report)),
                                             number_text(report.facts.tokens_per_step)));
  }
  if (report.facts.peak_flops_per_gpu > 0) {
    text += fact("MFU, HFU", fmt::format("{}, {}", percent_text(model_utilisation(report)),
                                         percent_text(hardware_utilisation(report))));
    text += fact("TFLOP/s/GPU", fmt::format("{:.4g} of the model, {:.4g} of the hardware", model_utilisation(report) * report.facts.peak_flops_per_gpu / 1e12,
                                            hardware_utilisation(report) * report.facts.peak_flops_per_gpu / 1e12));
    text += fact("  counted as", report.facts.flops_convention);
  }
  return text + "\n";
}

// In the order in which a step runs through them.
std::string phases(const Report& report) {
  std::string list;
  for (int p = 0; p <= static_cast<int>(Phase::other); ++p) {
    const auto found = report.phases.find(std::string(to_text(static_cast<Phase>(p))));
    if (found == report.phases.end()) continue;
    list += fmt::format("{}{} {}", list.empty() ? "" : ", ", found->first, seconds_text(found->second));
  }
  return list.empty() ? "" : "Compute by phase (mean of all GPUs)\n" + wrap("  " + list, page_width, 2) + "\n\n";
}

std::string warnings(const Report& report) {
  if (report.warnings.empty()) return "";
  std::string text = "Warnings\n";
  for (const std::string& warning : report.warnings) text += wrap("  - " + warning, page_width, 4) + "\n";
  return text + "\n";
}

std::string engine_facts(const EngineFacts& engine) {
  std::string text = fmt::format("{}, detail {}, ", engine.name, engine.detail);
  text += engine.folded
              ? fmt::format("folded to {} representative{}", number_text(static_cast<double>(engine.representatives)),
                            engine.representatives == 1 ? "" : "s")
              : fmt::format("{} ranks unfolded", number_text(static_cast<double>(engine.representatives)));
  text += fmt::format(", {} events", number_text(static_cast<double>(engine.events)));
  if (engine.wall_s > 0) text += fmt::format(", {} wall", seconds_text(engine.wall_s));
  if (engine.peak_rss_bytes > 0) text += fmt::format(", {} of memory", bytes_text(engine.peak_rss_bytes));
  return text;
}

std::string inputs(const Report& report) {
  const InputNames& in = report.inputs;
  std::string text = "What was simulated\n";
  text += fact("model", in.model) + fact("cluster", in.cluster) + fact("plan", in.plan);
  text += fact("schedule", in.schedule);
  text += fact("rates", in.rates);
  if (!in.scenario.empty() && in.scenario != "none") text += fact("scenario", in.scenario);
  std::string overrides;
  for (const std::string& override : in.overrides) overrides += (overrides.empty() ? "" : " ") + override;
  text += fact("overrides", overrides);
  return text + fact("engine", engine_facts(report.engine));
}

std::string spaced(std::string section) {
  return section.empty() ? section : section + "\n";
}

}  // namespace

std::string to_text(const Report& report) {
  return what_does_not_fit(report) + wrap(report.verdict.text, page_width) + "\n\n" + title(report) + headline(report) +
         spaced(ranks_section(report)) + spaced(passes_section(report)) + phases(report) + spaced(resources_section(report)) +
         spaced(collectives_section(report)) + spaced(overlap_section(report)) + spaced(waits_section(report)) +
         spaced(path_section(report)) + spaced(chains_section(report)) + spaced(links_section(report)) +
         spaced(memory_section(report)) + warnings(report) + inputs(report);
}

}  // namespace stepsim
