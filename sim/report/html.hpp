// The HTML report of one plan, or of several side by side.
#pragma once

#include <string>
#include <vector>

#include "sim/base/fields.hpp"
#include "sim/report/report.hpp"

namespace stepsim {

struct PagePlan {
  Report report;
  std::string timeline;           // timeline_json
  std::vector<Explained> inputs;  // every key with its value and origin
};

std::string to_html(const PagePlan& plan);
// Events that the timelines of `plans` pages may hold together.
inline constexpr std::size_t most_page_items = 150'000;
std::string compare_html(const std::vector<PagePlan>& plans);

}  // namespace stepsim
