// The report as a JSON document, for writers that embed it.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "sim/report/report.hpp"

namespace stepsim {

inline constexpr const char* report_schema = "stepsim.report/1";

// A number that is not finite becomes null, so that the document is always valid.
nlohmann::ordered_json json_of(const Report& report);

// As text: a row (a rank, a collective, a link) on a line, everything else on lines of its own.
std::string lines_of(const nlohmann::ordered_json& json);

}  // namespace stepsim
