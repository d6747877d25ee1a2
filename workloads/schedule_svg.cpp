#include <fmt/format.h>

#include <algorithm>

#include "sim/base/text_units.hpp"
#include "workloads/pass_index.hpp"
#include "workloads/schedule_drawing.hpp"

namespace stepsim {

namespace {

constexpr double row_height = 22, row_gap = 4, left = 64, top = 34, shortest = 18, digit = 6.2;  // pixels

struct Look {
  std::string_view name;
  PassKind kind;
  std::string_view colour;
};
constexpr Look looks[] = {{"forward", PassKind::forward, "#5b8def"},
                          {"backward", PassKind::backward, "#3fa66b"},
                          {"input gradient", PassKind::input_gradient, "#7cc79a"},
                          {"weight gradient", PassKind::weight_gradient, "#e0a83c"}};

const Look& look_of(PassKind kind) {
  return *std::find_if(std::begin(looks), std::end(looks), [&](const Look& look) { return look.kind == kind; });
}

struct Box {
  double x, y, width, height;
};

// Later chunks are paler, so that the legs of a V and the rounds of a loop can be told apart.
std::string pass_box(const Schedule& schedule, int rank, const Pass& pass, const PassSpan& span, const Box& box) {
  const Look& look = look_of(pass.kind);
  const double opacity = std::max(0.4, 1.0 - 0.3 * pass.chunk);
  std::string svg = fmt::format(
      "<g><title>rank {}: {}, {} to {}</title>"
      "<rect x=\"{:.2f}\" y=\"{:.2f}\" width=\"{:.2f}\" height=\"{:.2f}\" fill=\"{}\" fill-opacity=\"{:.2f}\"/>",
      rank, name_of(schedule, rank, pass), to_text(span.start), to_text(span.end), box.x, box.y, box.width, box.height,
      look.colour, opacity);
  const std::string number = fmt::format("{}", pass.microbatch);
  if (box.width > digit * static_cast<double>(number.size()) + 2) {
    svg += fmt::format("<text x=\"{:.2f}\" y=\"{:.2f}\" text-anchor=\"middle\">{}</text>", box.x + box.width / 2,
                       box.y + box.height / 2 + 3.5, number);
  }
  return svg + "</g>\n";
}

std::string legend() {
  std::string svg;
  double x = left;
  for (const Look& look : looks) {
    svg += fmt::format(
        "<rect x=\"{:.0f}\" y=\"8\" width=\"12\" height=\"12\" fill=\"{}\"/><text x=\"{:.0f}\" y=\"18\">{}</text>\n", x,
        look.colour, x + 16, look.name);
    x += 36 + digit * static_cast<double>(look.name.size());
  }
  return svg;
}

// Pixels a second: the shortest pass can still carry its number.
double scale_of(const ScheduleTimes& times) {
  double least = times.makespan.value;
  for (const auto& spans : times.spans) {
    for (const PassSpan& span : spans) {
      const double length = (span.end - span.start).value;
      if (length > 0) least = std::min(least, length);
    }
  }
  return least > 0 ? shortest / least : 1;
}

}  // namespace

std::string schedule_to_svg(const Schedule& schedule, const PassTimes& pass_times) {
  const ScheduleTimes times = times_of(schedule, pass_times);
  const double scale = scale_of(times);
  const double width = left + times.makespan.value * scale + 12;
  const double height = top + schedule.ranks() * (row_height + row_gap) + 8;
  std::string svg = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0:.0f}\" height=\"{1:.0f}\" viewBox=\"0 0 {0:.0f} {1:.0f}\" "
      "font-family=\"sans-serif\" font-size=\"11\">\n<rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n",
      width, height);
  svg += legend();
  for (int rank = 0; rank < schedule.ranks(); ++rank) {
    const double y = top + rank * (row_height + row_gap);
    svg += fmt::format("<text x=\"6\" y=\"{:.2f}\">rank {}</text>\n", y + row_height / 2 + 4, rank);
    svg += fmt::format("<rect x=\"{:.2f}\" y=\"{:.2f}\" width=\"{:.2f}\" height=\"{:.2f}\" fill=\"#eeeeee\"/>\n", left,
                       y, times.makespan.value * scale, row_height);
    const std::vector<Pass>& order = schedule.order[rank];
    for (std::size_t i = 0; i < order.size(); ++i) {
      const PassSpan& span = times.spans[rank][i];
      const bool upper = order[i].paired_with_next, lower = i > 0 && order[i - 1].paired_with_next;
      const double part = upper || lower ? row_height / 2 : row_height;
      const Box box{left + span.start.value * scale, lower ? y + part : y, (span.end - span.start).value * scale - 0.5,
                    part};
      svg += pass_box(schedule, rank, order[i], span, box);
    }
  }
  return svg + "</svg>\n";
}

}  // namespace stepsim
