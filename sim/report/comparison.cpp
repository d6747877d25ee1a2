#include "sim/report/comparison.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "sim/report/derived.hpp"
#include "sim/report/words.hpp"

namespace stepsim {
namespace {

std::string name_of(const Report& report) {
  return report.inputs.experiment.empty() ? report.inputs.plan : report.inputs.experiment;
}

// Cuts the words ("deepseek-v3-") that all names begin with, as long as something is left of each.
std::vector<std::string> shortened(const std::vector<std::string>& names) {
  if (names.size() < 2) return names;
  std::size_t common = names.front().size();
  for (const std::string& name : names) {
    const auto [a, b] = std::mismatch(name.begin(), name.end(), names.front().begin(), names.front().end());
    common = std::min(common, static_cast<std::size_t>(a - name.begin()));
  }
  std::size_t dash = common == 0 ? std::string::npos : names.front().rfind(' ', common - 1);  // "experiment values"
  if (dash == std::string::npos && common > 0) dash = names.front().rfind('-', common - 1);
  if (dash == std::string::npos) return names;
  std::vector<std::string> result;
  for (const std::string& name : names) {
    if (name.size() <= dash + 1) return names;
    result.push_back(name.substr(dash + 1));
  }
  return result;
}

double gpu_seconds_per_token(const Report& report) {
  const double rate = tokens_per_second_per_gpu(report);
  return rate > 0 ? 1 / rate : 0;
}

int winner_of(const std::vector<Report>& reports) {
  int best = -1;
  for (std::size_t i = 0; i < reports.size(); ++i) {
    const double cost = gpu_seconds_per_token(reports[i]);
    if (cost <= 0) continue;
    const bool fits = fits_in_memory(reports[i]);
    const Report* leader = best < 0 ? nullptr : &reports[static_cast<std::size_t>(best)];
    if (leader == nullptr || (fits && !fits_in_memory(*leader)) ||
        (fits == fits_in_memory(*leader) && cost < gpu_seconds_per_token(*leader))) {
      best = static_cast<int>(i);
    }
  }
  return best;
}

// Why a plan loses: the part of the split whose GPU time per token grew most against the winner's.
std::string reason(const Report& loser, const Report& winner) {
  const Shares mine = mean_shares(loser), best = mean_shares(winner);
  const double a = gpu_seconds_per_token(loser), b = gpu_seconds_per_token(winner);
  const std::array<double, 4> excess{mine.compute * a - best.compute * b, mine.exposed * a - best.exposed * b,
                                     mine.wait * a - best.wait * b, mine.bubble * a - best.bubble * b};
  // A wire that needs longer than compute keeps the step longer than compute, whatever hides behind what.
  const WireNeed wire = largest_wire(loser);
  if (wire.seconds > loser.roofline.compute_s) {
    return fmt::format("needs {} on {} for {} of compute", seconds_text(wire.seconds), wire.wire,
                       seconds_text(loser.roofline.compute_s));
  }
  const auto part = std::max_element(excess.begin(), excess.end()) - excess.begin();
  const auto against = [](std::string_view does, double share, double other, std::string_view tail) {
    return fmt::format("{} {} of the step{} (the winner {})", does, percent_text(share), tail, percent_text(other));
  };
  if (part == 1) return against("leaves", mine.exposed, best.exposed, " to communication that nothing hides");
  if (part == 2) return against("waits in collectives for", mine.wait, best.wait, "");
  if (part == 3) return against("idles in the pipeline's bubble for", mine.bubble, best.bubble, "");
  const double per_token = best.compute * b > 0 ? mine.compute * a / (best.compute * b) : 0;
  if (per_token < 1.2) return fmt::format("computes {} longer for a token", percent_text(per_token - 1));
  return fmt::format("computes {} times as long for a token", factor_text(per_token));
}

std::string sentence_of(const Comparison& comparison, const std::vector<Report>& reports) {
  if (comparison.winner < 0) return "No plan trains any token: there is no winner.";
  const auto w = static_cast<std::size_t>(comparison.winner);
  const Report& winner = reports[w];
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < reports.size(); ++i) {
    if (i != w && comparison.slower[i] > 0) order.push_back(i);
  }
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return comparison.slower[a] < comparison.slower[b]; });
  const auto& names = comparison.short_names;
  std::string text =
      fmt::format("Winner: {}, {} tokens/s/GPU", names[w], number_text(tokens_per_second_per_gpu(winner)));
  if (!fits_in_memory(winner)) text += " (no plan fits in memory, this one neither)";
  for (const std::size_t i : order) {
    const double factor = comparison.slower[i];
    if (factor < 1) {
      text +=
          fmt::format("; {} would be {} times as fast but does not fit in memory", names[i], factor_text(1 / factor));
    } else if (factor < 1.005) {
      text += fmt::format("; {} is as fast", names[i]);
    } else {
      const std::string slower = factor < 2 ? fmt::format("{:.0f} % slower", 100 * (factor - 1))
                                            : fmt::format("{} times slower", factor_text(factor));
      text += fmt::format("; {} is {}: it {}{}", names[i], slower, reason(reports[i], winner),
                          fits_in_memory(reports[i]) ? "" : ", and does not fit in memory");
    }
  }
  return text + ".";
}

}  // namespace

Comparison compare(const std::vector<Report>& reports) {
  Comparison comparison;
  for (const Report& report : reports) comparison.names.push_back(name_of(report));
  comparison.short_names = shortened(comparison.names);
  comparison.winner = winner_of(reports);
  const double best =
      comparison.winner < 0 ? 0 : gpu_seconds_per_token(reports[static_cast<std::size_t>(comparison.winner)]);
  for (const Report& report : reports) {
    comparison.slower.push_back(best > 0 ? gpu_seconds_per_token(report) / best : 0);
  }
  comparison.sentence = sentence_of(comparison, reports);
  return comparison;
}

}  // namespace stepsim
