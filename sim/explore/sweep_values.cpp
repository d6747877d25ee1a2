#include "sim/explore/sweep_values.hpp"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <optional>

#include "sim/base/fields_text.hpp"
#include "sim/base/text_units.hpp"

namespace stepsim {
namespace {

constexpr int kMostValues = 100'000;

// "2.5GBps": the number, its unit, and its size in SI units.
struct Amount {
  double number = 0;
  std::string unit;
  double size = 0;
  char dimension = 'n';  // n a bare number, b bandwidth, t time, s size, r rate
};

std::optional<Amount> amount_from(const std::string& text) {
  Amount amount;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), amount.number);
  if (error != std::errc() || !std::isfinite(amount.number)) return std::nullopt;
  amount.unit = std::string(end, text.data() + text.size());
  amount.size = amount.number;
  if (amount.unit.empty()) return amount;
  const auto take = [&](char dimension, const auto& parsed) {
    if (!parsed) return false;
    amount.dimension = dimension;
    amount.size = parsed->value;
    return true;
  };
  if (take('b', bandwidth_from(text)) || take('t', time_from(text)) || take('s', size_from(text)) || take('r', rate_from(text))) {
    return amount;
  }
  return std::nullopt;
}

std::string flow(const YAML::Node& node) {
  if (node.IsScalar()) return node.Scalar();
  YAML::Emitter out;
  out.SetSeqFormat(YAML::Flow);
  out.SetMapFormat(YAML::Flow);
  out << node;
  return out.c_str();
}

class Range {
 public:
  Range(Reading& reading, const std::string& file, const std::string& key, const YAML::Node& node, int line)
      : f_(reading, file, node, key, line) {}

  std::vector<std::string> values() {
    const std::size_t before = f_.problems();
    const std::optional<Amount> from = amount("from", true), to = amount("to", true);
    const std::optional<Amount> step = amount("step", false), factor = amount("factor", false);
    int points = 0;
    std::string scale = "linear";
    f_.integer("points", points, or_default("not given"), 2, kMostValues);
    f_.choice("scale", scale, {"linear", "log"}, or_default("equally far apart"));
    const bool has_scale = f_.has("scale"), has_points = f_.has("points");
    const bool has_step = f_.has("step"), has_factor = f_.has("factor");
    f_.finish();
    if (f_.problems() > before) return {};
    if (has_step + has_factor + has_points != 1) return wrong("from", "one of step, factor and points is due with from and to");
    if (has_scale && !has_points) return wrong("scale", "goes with points only");
    if (from->dimension != to->dimension) return wrong("to", "has another dimension than from");
    from_ = *from;
    whole_ = from->unit.empty() && std::floor(from->number) == from->number;
    last_ = to->size / (from->unit.empty() || from->number == 0 ? 1 : from->size / from->number);  // in the unit of from
    if (from->number == 0 && !from->unit.empty()) return wrong("from", "is zero; write the unit with another number");
    if (has_step) return by_step(*step);
    if (has_factor) return by_factor(*factor);
    return by_points(points, scale == "log");
  }

 private:
  std::optional<Amount> amount(std::string_view key, bool due) {
    if (!due && !f_.has(key)) {
      f_.node(key, or_default("not given"));
      return std::nullopt;
    }
    std::string text;
    const std::size_t before = f_.problems();
    f_.text(key, text, due ? required() : or_default("not given"));
    if (f_.problems() > before) return std::nullopt;
    const std::optional<Amount> parsed = amount_from(text);
    if (!parsed) f_.problem(key, fmt::format("{} is neither a number nor a quantity such as 50GBps", in_quotes(text)));
    return parsed;
  }

  std::vector<std::string> wrong(std::string_view key, const std::string& reason) {
    f_.problem(key, reason);
    return {};
  }

  std::vector<std::string> by_step(const Amount& step) {
    if (step.dimension != from_.dimension) return wrong("step", "has another dimension than from");
    const double width = step.unit.empty() ? step.number : step.size / (from_.size / from_.number);
    whole_ = whole_ && std::floor(width) == width;
    const double count = std::floor((last_ - from_.number) / width * (1 + 1e-12)) + 1;
    if (width == 0 || !(count >= 1)) return wrong("step", "does not lead from `from` to `to`");
    if (count > kMostValues) return wrong("step", fmt::format("makes more than {} values", kMostValues));
    std::vector<std::string> list;
    for (int i = 0; i < static_cast<int>(count); ++i) list.push_back(text(from_.number + i * width));
    return list;
  }

  std::vector<std::string> by_factor(const Amount& factor) {
    const bool up = last_ >= from_.number;
    if (!factor.unit.empty() || factor.number <= 0 || factor.number == 1 || (factor.number > 1) != up || from_.number <= 0) {
      return wrong("factor", "must be a number that leads from `from`, which is positive, to `to`");
    }
    whole_ = whole_ && std::floor(factor.number) == factor.number;
    std::vector<std::string> list;
    const double slack = last_ * (up ? 1 + 1e-12 : 1 - 1e-12);
    for (int i = 0;; ++i) {
      const double value = from_.number * std::pow(factor.number, i);
      if (up ? value > slack : value < slack) return list;
      if (i == kMostValues) return wrong("factor", fmt::format("makes more than {} values", kMostValues));
      list.push_back(text(value));
    }
  }

  std::vector<std::string> by_points(int points, bool log) {
    if (log && (from_.number <= 0 || last_ <= 0)) return wrong("scale", "log needs positive numbers");
    std::vector<std::string> list;
    whole_ = false;
    for (int i = 0; i < points; ++i) {
      const double part = static_cast<double>(i) / (points - 1);
      const double value = log ? from_.number * std::pow(last_ / from_.number, part) : from_.number + part * (last_ - from_.number);
      list.push_back(text(i + 1 == points ? last_ : value));
    }
    return list;
  }

  // Twelve digits: so that 0.1 + 0.2 is 0.3.
  std::string text(double value) const {
    return whole_ ? fmt::format("{:.0f}{}", value, from_.unit) : fmt::format("{:.12g}{}", value, from_.unit);
  }

  Fields f_;
  Amount from_;
  double last_ = 0;
  bool whole_ = false;
};

}  // namespace

std::vector<std::string> sweep_values(Reading& reading, const std::string& file, const std::string& key,
                                      const YAML::Node& node, int line) {
  const auto wrong = [&](const std::string& reason) {
    reading.problems.push_back({file, line, key, reason});
    return std::vector<std::string>{};
  };
  if (node.IsMap()) return Range(reading, file, key, node, line).values();
  if (!node.IsSequence()) return wrong("write a list of values, or a range {from: A, to: B, step: S}");
  if (node.size() == 0) return wrong("the list is empty");
  std::vector<std::string> list;
  for (const YAML::Node& item : node) {
    if (item.IsNull()) return wrong("a value of the list is missing");
    list.push_back(flow(item));
  }
  return list;
}

}  // namespace stepsim
