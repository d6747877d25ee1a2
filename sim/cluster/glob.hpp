// Names by pattern: "nic17_up", "leaf*", "nic?_down".
#pragma once

#include <string_view>

namespace stepsim {

// `*` stands for any characters, also none; `?` for any one; all others for themselves.
bool glob_matches(std::string_view pattern, std::string_view name);

}  // namespace stepsim
