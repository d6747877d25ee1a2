// Crossovers in words and as JSON.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "sim/crossover.hpp"
#include "sim/report/table.hpp"
#include "sim/report/words.hpp"

namespace stepsim {
namespace {

std::string value_text(double value, const std::string& unit) {
  if (unit == "B/s") return bandwidth_text(value);
  if (unit == "s") return seconds_text(value);
  if (unit == "tokens") return number_text(value) + " tokens a GPU and microbatch";
  return quantity_text(value) + " " + unit;
}

std::string sentence(const Crossover& c) {
  std::string text = fmt::format("{}: {} now, {}-bound by {}. ", resource_text(c.what), value_text(c.value_now, c.unit), c.bound_now,
                                 resource_text(c.resource_now));
  if (c.factor == 0) {
    return text + fmt::format("It stays {}-bound from {:g} to {:g} times that.", c.bound_now, c.searched_low, c.searched_high);
  }
  return text + fmt::format("{} {} ({:.4g} times that) the step is {}-bound.", c.factor < 1 ? "Below" : "Above",
                            value_text(c.value, c.unit), c.factor, c.bound_now == "compute" ? "communication" : "compute");
}

std::string choices(const Crossover& c) {
  std::string text = fmt::format("precision: {}-bound by {} now.\n", c.bound_now, resource_text(c.resource_now));
  Table table({{"choice", true}, {"verdict", true, true}, {"step"}});
  std::string refused;
  for (const Judged& j : c.choices) {
    if (!j.refused.empty()) {
      refused += wrap(fmt::format("  {} cannot run: {}", j.text, j.refused), page_width, 4) + "\n";
      continue;
    }
    const std::string flips = j.bound == c.bound_now ? "" : " (flips)";
    table.row({j.text, fmt::format("{}-bound by {}{}", j.bound, resource_text(j.resource), flips), seconds_text(j.step_time_s)});
  }
  return text + table.text() + refused;
}

}  // namespace

std::string to_text(const std::vector<Crossover>& crossovers, const Inputs& inputs) {
  std::string text = inputs.name + "\n\n";
  for (const Crossover& c : crossovers) text += c.what == "precision" ? choices(c) : wrap(sentence(c), page_width, 2) + "\n";
  return text;
}

std::string to_json(const std::vector<Crossover>& crossovers, const Inputs& inputs) {
  nlohmann::ordered_json json = {{"schema", "stepsim.crossover/1"}, {"experiment", inputs.name}};
  json["crossovers"] = nlohmann::ordered_json::array();
  for (const Crossover& c : crossovers) {
    nlohmann::ordered_json row = {{"what", c.what}, {"bound_now", c.bound_now}, {"resource_now", c.resource_now}};
    if (c.what == "precision") {
      for (const Judged& j : c.choices) {
        if (j.refused.empty()) {
          row["choices"].push_back({{"choice", j.text}, {"bound", j.bound}, {"resource", j.resource}, {"step_time_s", j.step_time_s}});
        } else {
          row["choices"].push_back({{"choice", j.text}, {"refused", j.refused}});
        }
      }
    } else {
      row["unit"] = c.unit;
      row["value_now"] = c.value_now;
      row["factor"] = c.factor == 0 ? nlohmann::ordered_json() : nlohmann::ordered_json(c.factor);
      row["value"] = c.factor == 0 ? nlohmann::ordered_json() : nlohmann::ordered_json(c.value);
      row["searched_factors"] = {c.searched_low, c.searched_high};
    }
    json["crossovers"].push_back(std::move(row));
  }
  return json.dump(2) + "\n";
}

}  // namespace stepsim
