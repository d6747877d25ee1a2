// What a search has found, for people.
#pragma once

#include <string>
#include <vector>

#include "sim/explore/search.hpp"
#include "sim/report/report.hpp"

namespace stepsim {

// Whether the experiment's own plan fits and is better than all that was found. `reports` as below.
bool own_is_best(const SearchResult& result, const std::vector<Report>& reports);

// `reports`: of result.best and then of result.own, with elasticities. `healthy`: step times without the scenario, for the
// same; empty unless asked for.
std::string search_text(const SearchSpace& space, const SearchResult& result, const Objective& objective,
                        const std::vector<Report>& reports, const std::vector<double>& healthy, bool whole_front,
                        const std::string& command);
std::string search_json(const SearchSpace& space, const SearchResult& result, const Objective& objective,
                        const std::vector<Report>& reports);

}  // namespace stepsim
