// Reads what a stress test draws from.
#include "sim/stress_spec.hpp"

#include <fmt/format.h>

#include <cmath>

#include "sim/base/text_units.hpp"

namespace stepsim {
namespace {

// A number or [low, high].
void read_range(Fields& fields, std::string_view key, Range& into, Need need, const Range& limits) {
  const std::optional<YAML::Node> node = fields.node(key, need);
  if (!node) return;
  std::vector<double> values;
  try {
    if (node->IsScalar()) values = {node->as<double>()};
    if (node->IsSequence() && node->size() == 2) values = {(*node)[0].as<double>(), (*node)[1].as<double>()};
  } catch (const YAML::Exception&) {
    values.clear();
  }
  if (values.empty()) return fields.problem(key, "must be a number, or [low, high]");
  for (const double value : values) {
    if (value >= limits.low && value <= limits.high) continue;
    return fields.problem(key, fmt::format("{:g} is not from {:g} to {:g}", value, limits.low, limits.high));
  }
  if (values.front() > values.back()) return fields.problem(key, fmt::format("{:g} is more than {:g}", values.front(), values.back()));
  into = {values.front(), values.back()};
}

void read_times(Fields& fields, std::string_view key, Range& into, Need need) {
  const std::optional<YAML::Node> node = fields.node(key, need);
  if (!node) return;
  std::vector<std::string> texts;
  if (node->IsScalar()) texts = {node->Scalar()};
  if (node->IsSequence() && node->size() == 2 && (*node)[0].IsScalar() && (*node)[1].IsScalar()) {
    texts = {(*node)[0].Scalar(), (*node)[1].Scalar()};
  }
  std::vector<double> values;
  for (const std::string& text : texts) {
    if (const auto time = time_from(text); time && time->value >= 0) values.push_back(time->value);
  }
  if (texts.empty() || values.size() != texts.size()) return fields.problem(key, "must be a time (\"2s\"), or [low, high]");
  if (values.front() > values.back()) return fields.problem(key, fmt::format("{} is more than {}", texts.front(), texts.back()));
  into = {values.front(), values.back()};
}

void read_down(Fields& fields, StressLinks& links) {
  Fields down = fields.mapping("down", required());
  links.down = true;
  read_times(down, "from", links.from, or_default("from the start"));
  if (down.has("period")) {
    read_times(down, "lasts", links.lasts, required());
    Seconds period;
    down.time("period", period, required());
    links.period = period.value;
    if (!(period.value > 0)) {
      down.problem("period", "must be more than zero");
    } else if (links.lasts.high / period.value > kMostFlaps) {
      down.problem("period", fmt::format("{:.4g} periods while it lasts; at most {:.0f} are simulated", links.lasts.high / period.value, kMostFlaps));
    }
    read_range(down, "duty", links.duty, required(), Range{0, 1});
  } else {
    read_times(down, "lasts", links.lasts, or_default("to the end of the step"));
  }
  down.finish();
}

StressLinks read_links(Fields fields) {
  StressLinks links;
  fields.text("match", links.match, required());
  fields.boolean("all", links.all, or_default("each link is drawn by itself"));
  if (links.all && fields.has("count")) fields.problem("count", "all links that match suffer alike; leave out count, or all");
  read_range(fields, "count", links.count, or_default("one link a run"), StressSpec::kCounts);
  if (fields.has("down") == fields.has("scale")) fields.problem("", "must have one of scale and down");
  if (fields.has("scale")) read_range(fields, "scale", links.scale, required(), StressSpec::kScales);
  if (fields.has("down")) read_down(fields, links);
  std::string failover = "none";
  fields.choice("failover", failover, {"none", "nvlink"}, or_default("no other way"));
  links.failover = failover == "nvlink";
  Seconds delay;
  fields.time("failover_delay", delay, or_default("at once"));
  links.failover_delay = delay.value;
  if (links.failover && !links.down) fields.problem("failover", "there is no failure: it goes with down");
  fields.finish();
  return links;
}

void read_grid(Fields& document, StressSpec& spec) {
  const std::optional<YAML::Node> grid = document.node("grid", or_default("only draws"));
  if (!grid) return;
  if (!grid->IsMap()) return document.problem("grid", "must be a mapping of names of ranges to lists of values");
  for (const auto& axis : *grid) {
    const std::string name = axis.first.Scalar();
    std::vector<double> values;
    try {
      for (const YAML::Node& value : axis.second) values.push_back(value.as<double>());
    } catch (const YAML::Exception&) {
      values.clear();
    }
    if (values.empty()) document.problem("grid", fmt::format("{} must be a list of numbers", name));
    spec.grid.emplace_back(name, values);
  }
}

}  // namespace

StressSpec read_stress_spec(Reading& reading, const std::string& path) {
  StressSpec spec;
  spec.file = path;
  std::optional<Fields> document = open_document(reading, path, {});
  if (!document) return spec;
  document->text("name", spec.name, or_default("a spec needs no name"));
  document->integer("runs", spec.runs, required(), 1, 1'000'000);
  std::int64_t seed = 0;
  document->integer64("seed", seed, required());
  spec.seed = static_cast<std::uint64_t>(seed);
  if (document->has("stragglers")) {
    Fields f = document->mapping("stragglers", required());
    read_range(f, "count", spec.stragglers, required(), StressSpec::kCounts);
    read_range(f, "speed", spec.speed, required(), StressSpec::kSpeeds);
    f.finish();
  } else {
    document->mapping("stragglers", or_default("all GPUs run at full speed")).finish();
  }
  for (const Fields& f : document->mappings("links", or_default("all links are as the platform says"))) spec.links.push_back(read_links(f));
  Fields experts = document->mapping("experts", or_default("routing as the plan says"));
  read_range(experts, "zipf", spec.zipf, or_default("as the plan says"), StressSpec::kExponents);
  experts.finish();
  Fields jitter = document->mapping("jitter", or_default("nothing varies by itself"));
  read_range(jitter, "compute_sigma", spec.compute_sigma, or_default("0"), StressSpec::kSigmas);
  read_range(jitter, "communication_sigma", spec.communication_sigma, or_default("0"), StressSpec::kSigmas);
  jitter.finish();
  read_grid(*document, spec);
  document->finish();
  return spec;
}

}  // namespace stepsim
