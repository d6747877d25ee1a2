// Rows of a store for people and for other programs.
#pragma once

#include <string>

#include "sim/explore/store.hpp"

namespace stepsim {

std::string to_csv(const Selection& selection);   // a title line; RFC 4180
std::string to_json(const Selection& selection);  // {"schema": "stepsim.results/1", "rows": [{column: value}]}

// A table that fits the page: how each point's step is spent. The selection must have the columns of table_columns().
std::string points_table(const Selection& selection);
std::vector<std::string> table_columns();
std::string table_notes(const std::vector<std::string>& varied_keys);  // what its columns mean

// A page with a plot; the selection must have table_columns().
std::string to_html(const Selection& selection, const std::string& title);

// Any columns as they stand.
std::string plain_table(const Selection& selection);

}  // namespace stepsim
