// What the verbs that keep results in a store share.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <string>

#include "sim/explore/store.hpp"

namespace stepsim {

// Runs `work` on the store; what SQLite refuses is an InputError about the file.
int with_store(const std::string& path, Store::Use use, const std::function<int(Store&)>& work);

// The sweep's best ten points, its refusals and failures, for the terminal.
std::string sweep_summary(Store& store, const std::string& sweep);

}  // namespace stepsim
