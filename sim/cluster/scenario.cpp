// Reads a scenario's YAML.
#include "sim/cluster/scenario.hpp"

#include <fmt/format.h>

#include "sim/base/text_units.hpp"

namespace stepsim {
namespace {

constexpr double kLeast = 1e-6;         // slower than this is not slow but broken

// Marks the key as known, so that misspelt ones can be told what was meant.
bool given(Fields& fields, std::string_view key) {
  return fields.node(key, or_default("")).has_value();
}

// `first` and `last` are the keys that say from when and until when.
Window read_window(Fields& fields, std::string_view first, std::string_view last) {
  Window window;
  if (given(fields, first)) fields.time(first, window.from, required());
  if (!given(fields, last)) return window;
  const std::size_t before = fields.problems();
  fields.time(last, window.until.emplace(), required());
  if (fields.problems() == before && !(window.from < *window.until)) {
    fields.problem(last, fmt::format("{} is not after {} ({})", to_text(*window.until), first, to_text(window.from)));
  }
  return window;
}

Straggler read_straggler(Fields fields) {
  Straggler straggler;
  straggler.origin = fields.origin("");
  fields.integers("ranks", straggler.ranks, required());
  const auto ranks = fields.has("ranks") ? fields.node("ranks", required()) : std::nullopt;
  if (ranks && ranks->IsSequence() && ranks->size() == 0) fields.problem("ranks", "names no rank");
  fields.number("speed", straggler.speed, required(), kLeast, 1e6);
  straggler.when = read_window(fields, "from", "until");
  fields.finish();
  return straggler;
}

void read_flap(Fields& fields, LinkFault& fault) {
  Fields flap = fields.mapping("flap", required());
  LinkFault::Flap& values = fault.flap.emplace();
  const std::size_t before = fields.problems();
  flap.time("period", values.period, required());
  flap.number("duty", values.duty, required(), 0, 1);
  flap.finish();
  fault.when = read_window(fields, "from", "until");
  if (!fault.when.until) {
    fields.problem("flap", "needs an until: the time at which it ends, which may be later than the step's end");
  }
  if (fields.problems() == before && !(values.period.value > 0)) fields.problem("flap", "its period must be more than zero");
  const double flaps = fields.problems() == before ? (*fault.when.until - fault.when.from) / values.period : 0;
  if (flaps > kMostFlaps) {
    fields.problem("flap", fmt::format("{:.4g} periods until {}; at most {:.0f} are simulated", flaps, to_text(*fault.when.until), kMostFlaps));
  }
  if (fields.problems() != before) fault.flap.reset();  // nothing may walk through its periods
}

void read_failover(Fields& fields, LinkFault& fault) {
  std::string failover = "none";
  if (given(fields, "failover")) fields.choice("failover", failover, {"none", "nvlink"}, required());
  fault.failover = failover == "nvlink";
  if (given(fields, "failover_delay")) fields.time("failover_delay", fault.failover_delay, required());
  if (fault.failover && !fault.down) fields.problem("failover", "there is no failure: it goes with down_at or flap");
  if (fields.has("failover_delay") && !fault.failover) fields.problem("failover_delay", "goes with failover: nvlink");
}

LinkFault read_link_fault(Fields fields) {
  LinkFault fault;
  fault.origin = fields.origin("");
  fields.text("match", fault.match, required());
  if (given(fields, "bandwidth")) fields.bandwidth("bandwidth", fault.bandwidth.emplace(), required());
  if (given(fields, "scale")) fields.number("scale", fault.scale.emplace(1), required(), kLeast, 1e6);
  if (given(fields, "latency")) fields.time("latency", fault.latency.emplace(), required());
  const bool down_at = given(fields, "down_at"), flaps = given(fields, "flap"), up_at = given(fields, "up_at");
  fault.down = down_at || flaps;
  if (flaps) {
    read_flap(fields, fault);
  } else if (down_at) {
    fault.when = read_window(fields, "down_at", "up_at");
  } else {
    fault.when = read_window(fields, "from", "until");
  }
  for (const std::string_view key : {"from", "until"}) {
    if (given(fields, key) && down_at && !flaps) fields.problem(key, "down_at and up_at say when the link is down");
  }
  if (up_at && !down_at) fields.problem("up_at", "goes with down_at");
  read_failover(fields, fault);
  const int kinds = fault.bandwidth.has_value() + fault.scale.has_value() + fault.latency.has_value() + down_at + flaps;
  if (kinds != 1) {
    fields.problem("", fmt::format("{} of bandwidth (the link's new one), scale (a factor on it), latency, down_at and "
                                   "flap; write one, and an entry each where there are more",
                                   kinds == 0 ? "has none" : "has several"));
  }
  fields.finish();
  return fault;
}

Jitter read_jitter(Fields fields) {
  constexpr double kMost = 2;  // log-standard deviation; more is no variation but another model
  Jitter jitter;
  const bool any = fields.has("compute_sigma") || fields.has("communication_sigma");
  fields.number("compute_sigma", jitter.compute_sigma, or_default("compute ops do not vary"), 0, kMost);
  fields.number("communication_sigma", jitter.communication_sigma, or_default("transfers do not vary"), 0, kMost);
  std::int64_t seed = 0;
  fields.integer64("seed", seed, required());
  jitter.seed = static_cast<std::uint64_t>(seed);
  fields.finish();
  if (!any) fields.problem("", "has neither compute_sigma nor communication_sigma");
  return jitter;
}

}  // namespace

Scenario read_scenario(Reading& reading, const std::string& path, const std::vector<Override>& overrides) {
  Scenario scenario;
  std::optional<Fields> document = open_document(reading, path, overrides, "scenario");
  if (!document) return scenario;
  document->text("name", scenario.name, or_default("a scenario needs no name"));
  for (const Fields& fields : document->mappings("stragglers", or_default("all GPUs run at full speed"))) {
    scenario.stragglers.push_back(read_straggler(fields));
  }
  for (const Fields& fields : document->mappings("links", or_default("all links are as the platform says"))) {
    scenario.links.push_back(read_link_fault(fields));
  }
  if (given(*document, "jitter")) scenario.jitter = read_jitter(document->mapping("jitter", required()));
  document->finish();
  return scenario;
}

}  // namespace stepsim
