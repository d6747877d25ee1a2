#include "sim/report/guardrails.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "sim/report/calls.hpp"
#include "sim/report/derived.hpp"
#include "sim/report/words.hpp"

namespace stepsim {
namespace {

using Warnings = std::vector<std::string>;

// A plan whose own allocations fit may still leave no room for what the driver and the communication library take.
void little_room(Warnings& warnings, const Report& report) {
  double room = report.facts.gpu_memory_bytes, needed = 0;
  if (room <= 0) return;
  for (std::size_t r = 0; r < std::min(report.ranks.size(), report.facts.reserved.size()); ++r) {
    double reserved = 0;
    for (const auto& [kind, bytes] : report.facts.reserved[r]) reserved += bytes;
    const double left = report.facts.gpu_memory_bytes - report.ranks[r].peak_memory_bytes;
    if (left - reserved < room - needed) {
      room = left;
      needed = reserved;
    }
  }
  if (room >= needed) return;
  warnings.push_back(fmt::format("fits in memory with {} to spare, but CUDA context, communicators and fragmentation need about {} "
                                 "beside (assumption: plan.memory)",
                                 bytes_text(room), bytes_text(needed)));
}

void memory(Warnings& warnings, const Report& report) {
  if (fits_in_memory(report)) return little_room(warnings, report);
  int over = 0;
  for (const RankRow& row : report.ranks) {
    if (row.peak_memory_bytes > report.facts.gpu_memory_bytes) over += row.count;
  }
  const RankRow& fullest = *fullest_rank(report);
  warnings.push_back(fmt::format(
      "does not fit in memory: rank {} (stage {}) needs {} of {}, {} too much; {} of {} GPUs overflow", fullest.rank,
      fullest.stage, bytes_text(fullest.peak_memory_bytes), bytes_text(report.facts.gpu_memory_bytes),
      bytes_text(fullest.peak_memory_bytes - report.facts.gpu_memory_bytes), number_text(over),
      number_text(gpus_of(report))));
}

// Payload bytes of all calls, and of those that are closed forms without any link.
struct Payloads {
  double all = 0, closed = 0, unseen = 0;  // unseen: of `closed`, those whose bytes are not counted on links either
};

Payloads payloads_of(const StepGraph& graph, const CallIndex& calls) {
  Payloads sums;
  for (const Group& group : graph.groups) {
    const std::vector<double> payloads = payload_of(graph, calls, group);
    for (std::size_t p = 0; p < group.patterns.size(); ++p) {
      const auto& parts = group.patterns[p].parts;
      const bool closed = std::any_of(parts.begin(), parts.end(), [](const Part& part) { return part.loads.empty() && part.beta > 0; });
      const bool counted = std::any_of(parts.begin(), parts.end(), [](const Part& part) { return !part.loads.empty(); });
      const double bytes = group.count * payloads[p];
      sums.all += bytes;
      if (closed) sums.closed += bytes;
      if (closed && !counted) sums.unseen += bytes;
    }
  }
  return sums;
}

// A wire that carries nothing cannot matter, however the cluster's file describes it. What closed forms move without
// counting it on links may be anywhere, but for what is negligible (the gradients' norm: four bytes).
void silent_wires(Warnings& warnings, const StepGraph& graph, const CallIndex& calls, const Report& report) {
  constexpr double kNegligible = 1e-6;
  const Payloads payloads = payloads_of(graph, calls);
  const bool transfers = !graph.groups.empty();
  if (payloads.closed > kNegligible * payloads.all) {
    warnings.emplace_back("transfers are closed forms: they do not contend with each other");
  }
  if (payloads.unseen > kNegligible * payloads.all) return;
  for (const std::string& tier : report.tiers) {
    const bool carries = std::any_of(report.links.begin(), report.links.end(),
                                     [&](const LinkRow& link) { return link.tier == tier && link.bytes > 0; });
    if (carries) continue;
    warnings.push_back(fmt::format("no {} crosses {}, so this result cannot depend on {}",
                                   transfers ? "group" : "transfer", tier, tier));
  }
}

void latency(Warnings& warnings, const Report& report) {
  const auto found = report.critical_path.by_wire.find("latency");
  if (found == report.critical_path.by_wire.end() || found->second < 0.1 * report.step_time_s) return;
  warnings.push_back(fmt::format(
      "{} of the critical path are transfers so small that latency is most of their time: they depend on the "
      "platform's latencies, and a real library may do better or worse",
      percent_text(found->second / report.step_time_s)));
}

// No schedule can beat the roofline of a single rank; an engine that does is one without contention.
void impossible(Warnings& warnings, const Report& report) {
  const WireNeed wire = largest_wire(report);
  const double room = report.step_time_s * (1 + 1e-6);
  if (wire.seconds > room) {
    warnings.push_back(
        fmt::format("the step ({}) is shorter than {} needs for the bytes of rank {} or of a shared link ({}): the "
                    "engine let transfers share a wire without slowing each other down",
                    seconds_text(report.step_time_s), wire.wire, report.roofline.rank, seconds_text(wire.seconds)));
  } else if (!report.links.empty() && report.links.front().utilisation > 1 + 1e-6) {
    const LinkRow& link = report.links.front();
    warnings.push_back(
        fmt::format("link {} would carry {} of its capacity: the engine let transfers share it without "
                    "slowing each other down",
                    link.name, percent_text(link.utilisation)));
  }
  if (model_utilisation(report) > 1) {
    warnings.emplace_back("MFU is above 100 %: the peak that it is measured against is below what the GPU achieves");
  }
}

void nothing_to_compute(Warnings& warnings, const Report& report) {
  const bool computes =
      std::any_of(report.ranks.begin(), report.ranks.end(), [](const RankRow& row) { return row.compute_s > 0; });
  if (!computes) warnings.emplace_back("no rank computes anything: this is the time of communication alone");
}

}  // namespace

Warnings memory_guardrails(const Report& report) {
  Warnings warnings;
  if (fits_in_memory(report)) little_room(warnings, report);
  return warnings;
}

Warnings guardrails(const StepGraph& graph, const CallIndex& calls, const Report& report) {
  Warnings warnings;
  memory(warnings, report);
  silent_wires(warnings, graph, calls, report);
  latency(warnings, report);
  impossible(warnings, report);
  nothing_to_compute(warnings, report);
  return warnings;
}

Warnings verdict_guardrails(const Report& report) {
  Warnings warnings;
  for (const Elasticity& e : report.verdict.elasticities) {
    if (e.value > -0.005) continue;
    warnings.push_back(
        fmt::format("a faster {} makes the step longer (elasticity {:.3f}): events change their order, so "
                    "that elasticities hold for small changes only",
                    resource_text(e.resource), e.value));
  }
  const std::string& roofline = report.roofline.bound;
  const bool compute_roofline = roofline == "compute" || roofline == "hbm";
  if (roofline.empty() || compute_roofline == (report.verdict.bound == "compute")) return warnings;
  if (compute_roofline) {
    warnings.push_back(
        fmt::format("the roofline says bound by {}, the simulation says by communication ({}): the wires would be "
                    "fast enough if their transfers hid behind compute, and they do not",
                    resource_text(roofline), report.verdict.resource));
  } else {
    warnings.push_back(
        fmt::format("the roofline says bound by {}, the simulation says by {}: that wire's busiest port is not on the "
                    "critical path for most of the step",
                    resource_text(roofline), resource_text(report.verdict.resource)));
  }
  return warnings;
}

}  // namespace stepsim
