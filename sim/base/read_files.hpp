// Which files this process has read, so that no output is written over one of them.
#pragma once

#include <string>

namespace stepsim {

void note_read(const std::string& path);
bool was_read(const std::string& path);  // under whatever name

}  // namespace stepsim
