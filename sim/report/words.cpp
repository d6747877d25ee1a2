#include "sim/report/words.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "sim/base/text_units.hpp"

namespace stepsim {

std::string seconds_text(double seconds) {
  return to_text(Seconds(seconds + 0.0));  // "0 s", never "-0 s"
}
std::string bytes_text(double bytes) {
  return to_text(Bytes(bytes));
}
std::string bandwidth_text(double bytes_per_second) {
  return to_text(BytesPerSecond(bytes_per_second));
}
std::string percent_text(double share) {
  return fmt::format("{:.1f} %", 100 * share + 0.0);
}
std::string factor_text(double factor) {
  return factor < 9.95 ? fmt::format("{:.2g}", factor) : fmt::format("{:.0f}", factor);
}
std::string quantity_text(double number) {
  return fmt::format("{:.3g}", number);
}

std::string number_text(double number) {
  if (std::abs(number) < 999.5 || !std::isfinite(number)) return fmt::format("{:.3g}", number);
  std::string digits = fmt::format("{:.0f}", number);
  for (std::size_t i = digits.size(); i > (number < 0 ? 4U : 3U); i -= 3) digits.insert(i - 3, ",");
  return digits;
}

std::string resource_text(std::string_view resource) {
  return std::string(resource == "hbm" ? "HBM" : resource == "starts" ? "kernel starts" : resource);
}

std::string wrap(std::string_view text, std::size_t width, std::size_t indent) {
  std::string result;
  std::size_t room = width;
  while (text.size() > room) {
    // A word longer than a line (a path, say) is cut: nothing may be wider than the page.
    std::size_t at = text.rfind(' ', room);
    if (at == std::string_view::npos || text.find_first_not_of(' ') > at) at = room;
    const std::string_view line = text.substr(0, at);
    result.append(line.substr(0, line.find_last_not_of(' ') + 1)).append("\n").append(indent, ' ');
    text.remove_prefix(std::min(text.find_first_not_of(' ', at), text.size()));
    room = width - indent;
  }
  return result.append(text);
}

}  // namespace stepsim
