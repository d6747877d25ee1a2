// Conditions over columns, as users write them: plan.parallel.pipeline * plan.parallel.tensor <= 64 and
// plan.schedule in ("1f1b", "zb-h1") and cluster.nic >= 50GBps. The language is SQLite's; three things are added: names
// may have dots, texts may stand in double quotes, and numbers may have a unit (then they are in bytes, seconds, bytes/s
// or FLOP/s).
#pragma once

#include <string>

#include "sim/explore/row.hpp"

namespace stepsim {

// The same in SQLite's own words. What is wrong with it shows when it is prepared.
std::string to_sql(const std::string& expression);

// A value as expressions see it: numbers and quantities as numbers (50GBps is 5e10), true and false as 1 and 0, anything
// else as text.
Cell cell_from(const std::string& value);

}  // namespace stepsim
