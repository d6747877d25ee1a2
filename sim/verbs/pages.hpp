// HTML reports of what a verb simulated.
#pragma once

#include "sim/report/html.hpp"
#include "sim/simulate.hpp"
#include "sim/verbs/arguments.hpp"

namespace stepsim {

// Throws InputError when a page is wanted and this stepsim was built without them.
void require_pages(const OutputArguments& outputs);

// Of a simulation whose timeline may take `most_items` events of the page.
PagePlan page_plan(const Simulation& done, const Inputs& inputs, std::size_t most_items);

}  // namespace stepsim
