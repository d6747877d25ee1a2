// One HTML file that works offline: its data as JSON, and the script and style that draw it (sim/report/page/, bundled
// by npm when stepsim is built).
#pragma once

#include <string>
#include <string_view>

namespace stepsim {

// False when stepsim was built without npm: there is no script, and so no page.
bool pages_are_built();

// `view` names the script's way to show the data: a file of sim/report/page/views/. `data` is JSON.
std::string page_of(std::string_view title, std::string_view view, std::string_view data);

}  // namespace stepsim
