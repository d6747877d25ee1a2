#include "sim/base/text_units.hpp"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <cmath>
#include <span>

namespace stepsim {
namespace {

struct Suffix {
  std::string_view text;
  double factor;
};

constexpr double kKibi = 1024;
constexpr std::array<Suffix, 13> kPrefixes{{{"", 1},
                                            {"k", 1e3},
                                            {"M", 1e6},
                                            {"G", 1e9},
                                            {"T", 1e12},
                                            {"P", 1e15},
                                            {"E", 1e18},
                                            {"Ki", kKibi},
                                            {"Mi", kKibi* kKibi},
                                            {"Gi", kKibi* kKibi* kKibi},
                                            {"Ti", kKibi* kKibi* kKibi* kKibi},
                                            {"Pi", kKibi* kKibi* kKibi* kKibi* kKibi},
                                            {"Ei", kKibi* kKibi* kKibi* kKibi* kKibi* kKibi}}};

// Small times are divisions, not factors: 2 / 1e6 is the double nearest to 2 us, 2 * 1e-6 need not be.
struct TimeUnit {
  std::string_view text;
  double multiply;
  double divide;
};
constexpr std::array<TimeUnit, 9> kTimes{{{"s", 1, 1},
                                          {"ms", 1, 1e3},
                                          {"us", 1, 1e6},
                                          {"ns", 1, 1e9},
                                          {"ps", 1, 1e12},
                                          {"m", 60, 1},
                                          {"h", 3600, 1},
                                          {"d", 86400, 1},
                                          {"w", 604800, 1}}};

struct Split {
  double number;
  std::string_view unit;
};

// "50GBps" -> 50 and "GBps". Only finite numbers that start with a digit (a sign before): no "inf", no ".5".
std::optional<Split> split(std::string_view text) {
  const std::size_t first = text.starts_with('-') ? 1 : 0;
  if (text.size() <= first || text[first] < '0' || text[first] > '9') return std::nullopt;
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || !std::isfinite(number)) return std::nullopt;
  return Split{number, text.substr(static_cast<std::size_t>(end - text.data()))};
}

std::optional<double> prefixed(std::string_view text, std::span<const Suffix> units) {
  const std::optional<Split> parts = split(text);
  if (!parts) return std::nullopt;
  for (const Suffix& unit : units) {
    if (!parts->unit.ends_with(unit.text)) continue;
    const std::string_view prefix = parts->unit.substr(0, parts->unit.size() - unit.text.size());
    for (const Suffix& p : kPrefixes) {
      if (p.text == prefix && std::isfinite(parts->number * p.factor)) return parts->number * p.factor * unit.factor;
    }
  }
  return std::nullopt;
}

// Three significant digits, then the largest unit that leaves a number of at least 1: 999.7 ms is "1 s".
std::string rounded(double value, std::span<const Suffix> units) {
  if (!std::isfinite(value) || value == 0) return fmt::format("{:.3g} {}", value, units.back().text);
  const double step = std::pow(10, std::floor(std::log10(std::abs(value))) - 2);
  const double three = std::round(value / step) * step;
  const Suffix* chosen = &units.front();
  for (const Suffix& unit : units) {
    if (std::abs(three) >= unit.factor * (1 - 1e-12)) chosen = &unit;
  }
  const double scaled = three / chosen->factor;
  if (std::abs(scaled) >= 1000 && std::abs(scaled) < 1e6) return fmt::format("{:.0f} {}", scaled, chosen->text);
  return fmt::format("{:.3g} {}", scaled, chosen->text);
}

// Powers of 1000 from 1 up, of a unit whose zero is written without prefix.
std::string rounded_up(double value, std::string_view unit) {
  std::array<std::string, 7> names;
  std::array<Suffix, 7> units;
  for (std::size_t i = 0; i < units.size(); ++i) {
    names[i] = fmt::format("{}{}", kPrefixes[i].text, unit);
    units[i] = {names[i], kPrefixes[i].factor};
  }
  if (value == 0) return fmt::format("0 {}", unit);
  return rounded(value, units);
}

}  // namespace

std::optional<BytesPerSecond> bandwidth_from(std::string_view text) {
  constexpr std::array<Suffix, 2> units{{{"Bps", 1}, {"bps", 0.125}}};
  if (const auto value = prefixed(text, units)) return BytesPerSecond(*value);
  return std::nullopt;
}

std::optional<Seconds> time_from(std::string_view text) {
  const std::optional<Split> parts = split(text);
  if (!parts) return std::nullopt;
  for (const TimeUnit& unit : kTimes) {
    const double value = parts->number * unit.multiply / unit.divide;
    if (unit.text == parts->unit && std::isfinite(value)) return Seconds(value);
  }
  return std::nullopt;
}

std::optional<Bytes> size_from(std::string_view text) {
  constexpr std::array<Suffix, 2> units{{{"B", 1}, {"b", 0.125}}};
  if (const auto value = prefixed(text, units)) return Bytes(*value);
  return std::nullopt;
}

std::optional<FlopsPerSecond> rate_from(std::string_view text) {
  constexpr std::array<Suffix, 1> units{{{"f", 1}}};
  if (const auto value = prefixed(text, units)) return FlopsPerSecond(*value);
  return std::nullopt;
}

std::optional<Watts> power_from(std::string_view text) {
  constexpr std::array<Suffix, 1> units{{{"W", 1}}};
  if (const auto value = prefixed(text, units)) return Watts(*value);
  return std::nullopt;
}

std::string to_text(Seconds time) {
  constexpr std::array<Suffix, 5> units{{{"ps", 1e-12}, {"ns", 1e-9}, {"us", 1e-6}, {"ms", 1e-3}, {"s", 1}}};
  return rounded(time.value, units);
}

std::string to_text(Bytes size) {
  return rounded_up(size.value, "B");
}
std::string to_text(BytesPerSecond bandwidth) {
  return rounded_up(bandwidth.value, "B/s");
}
std::string to_text(FlopsPerSecond rate) {
  return rounded_up(rate.value, "FLOP/s");
}
std::string to_text(Flops work) {
  return rounded_up(work.value, "FLOP");
}
std::string to_text(Watts power) {
  return fmt::format("{:.4g} W", power.value);
}

}  // namespace stepsim
